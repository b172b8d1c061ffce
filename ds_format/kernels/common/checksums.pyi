from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def adler32(data: _Buffer, value: int = 1) -> int: ...
def fletcher32(data: _Buffer) -> int: ...
