from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def pack_bits(flags: _Buffer, packed: _Buffer, first: int = 0) -> int: ...
def unpack_bits(packed: _Buffer, flags: _Buffer) -> None: ...
def count_bits(packed: _Buffer, n: int) -> int: ...
