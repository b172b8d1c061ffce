from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

__pyx_capi__: Final[dict[str, object]]

_Buffer = Buffer | NDArray[Any]

def total_length(lengths: _Buffer, big: bool, available: int) -> int: ...
def decode_strings(lengths: _Buffer, big: bool, data: _Buffer, text: bool, out: _Buffer) -> None: ...
def has_none(values: NDArray[Any]) -> bool: ...
def encode_strings(values: NDArray[Any], text: bool) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]: ...
