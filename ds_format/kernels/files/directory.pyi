from typing import Any, Final

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

__pyx_capi__: Final[dict[str, object]]

def read_directory(data: _Buffer, rows: _Buffer, names: dict[str, int]) -> int: ...
def find_data(directory: _Buffer, rows: _Buffer, i: int, data: _Buffer) -> int: ...
