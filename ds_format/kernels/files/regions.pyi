from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def reserve(fd: int, offset: int, size: int) -> None: ...
def extend(fd: int, size: int) -> None: ...
def write_ranges(fd: int, offsets: _Buffer, size: int, buffer: _Buffer) -> int: ...
