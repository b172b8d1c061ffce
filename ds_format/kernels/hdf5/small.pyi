from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

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
def read_listed(
    data: Buffer | NDArray[Any],
    numbers: NDArray[np.int64],
    sizes: NDArray[np.int64],
    masks: NDArray[np.uint32],
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    dtype: np.dtype[Any],
    is_big: bool,
    is_shuffled: bool,
    inflate: Callable[[Any, int], Any] | None,
    fill: bytes | None,
    wanted: NDArray[Any] | None,
) -> tuple[NDArray[Any], bool] | None: ...
