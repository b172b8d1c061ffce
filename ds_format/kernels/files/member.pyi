import os
from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def read_member(
    path: str | bytes | os.PathLike[str], stamp: _Buffer, directory: _Buffer, rows: _Buffer, i: int, limit: int
) -> bytearray | None: ...
def is_regular(path: str | bytes | os.PathLike[str]) -> bool: ...
