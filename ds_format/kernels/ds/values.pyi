from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def swap(source: _Buffer, target: _Buffer, size: int) -> None: ...
def scatter(mask: _Buffer, present: _Buffer, flags: _Buffer, values: _Buffer, size: int, swapped: bool) -> None: ...
def gather(flags: _Buffer, values: _Buffer, present: _Buffer, size: int, swapped: bool) -> None: ...
