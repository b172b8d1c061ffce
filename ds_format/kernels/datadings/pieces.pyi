from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def cut(data: _Buffer, spans: list[int]) -> list[bytes]: ...
