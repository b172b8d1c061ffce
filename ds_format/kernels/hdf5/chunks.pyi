from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def unshuffle(source: _Buffer, target: _Buffer, size: int) -> None: ...
def decode_lzf(source: _Buffer, target: _Buffer) -> int: ...
def round_floats(
    values: _Buffer, target: _Buffer, starts: _Buffer, below: _Buffer, above: _Buffer, kept: _Buffer
) -> None: ...
