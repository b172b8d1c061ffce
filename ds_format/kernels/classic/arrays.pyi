from typing import Any

import numpy as np
from numpy.typing import NDArray

def decode(
    data: Any,
    begin: int,
    step: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    sentinels: NDArray[Any] | None,
    is_big: bool = True,
) -> tuple[NDArray[Any], bool]: ...
def decode_each(
    data: Any, variables: list[Any], finishers: list[Any], dtypes: dict[str, Any], masked: bool
) -> tuple[list[Any], list[int]]: ...
