from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

@final
class SmallArray:
    @property
    def shape(self) -> tuple[int, ...]: ...
    def __init__(
        self,
        shape: tuple[int, ...],
        chunk: tuple[int, ...] | None,
        dtype: np.dtype[Any],
        is_big: bool,
        is_shuffled: bool,
        is_deflated: bool,
        fill: bytes | None,
    ) -> None: ...
    def read(self, data: Any, address: int, wanted: NDArray[Any] | None) -> tuple[NDArray[Any], bool] | None: ...
    def read_listed(
        self,
        data: Buffer | NDArray[Any],
        numbers: NDArray[np.int64],
        sizes: NDArray[np.int64],
        masks: NDArray[np.uint32],
        wanted: NDArray[Any] | None,
    ) -> tuple[NDArray[Any], bool] | None: ...

def read_small(
    data: Any,
    forms: list[Any],
    addresses: list[Any],
    requests: list[Any],
    masked: bool,
) -> tuple[list[Any], list[int]]: ...
def read_strings(
    segments: list[tuple[int, Any]],
    file_size: int,
    references: Buffer | NDArray[Any],
    as_text: bool,
    unusual: Callable[[str], Exception],
) -> tuple[str, ...] | tuple[bytes, ...] | list[tuple[int, int]]: ...
