from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

def read_chunked(
    data: Any,
    address: int,
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    dtype: np.dtype[Any],
    is_big: bool,
    is_shuffled: bool,
    inflate: Callable[[Any, int], Any] | None,
    fill: bytes | None,
    wanted: NDArray[Any] | None,
) -> tuple[NDArray[Any], bool] | None: ...
