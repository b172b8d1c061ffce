from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def decode_szip(source: _Buffer, target: _Buffer, options: int, block: int, width: int, scanline: int) -> bool: ...
