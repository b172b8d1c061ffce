from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def shuffle(source: _Buffer, target: _Buffer, size: int) -> None: ...
def round_floats(
    values: _Buffer, target: _Buffer, starts: _Buffer, below: _Buffer, above: _Buffer, kept: _Buffer
) -> None: ...
