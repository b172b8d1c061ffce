from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def measure(data: _Buffer, start: int) -> tuple[int, int]: ...
def find_messages(data: _Buffer, start: int, ends: NDArray[Any], keys: NDArray[Any]) -> int: ...
