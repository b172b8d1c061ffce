from typing import Any

import numpy as np
from numpy.typing import NDArray

def read(
    fd: int,
    begin: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    sentinels: NDArray[Any] | None,
    is_big: bool = True,
) -> tuple[NDArray[Any], bool]: ...
