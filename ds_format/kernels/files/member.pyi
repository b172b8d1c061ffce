import os
from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer, disjoint_base

_Buffer = Buffer | NDArray[Any]

@disjoint_base
class OpenPack:
    def __new__(
        cls,
        path: str | bytes | os.PathLike[str],
        fd: int,
        status: os.stat_result,
        directory: _Buffer,
        rows: _Buffer,
        numbers: dict[str, int],
    ) -> OpenPack: ...
    def is_at(self, status: os.stat_result) -> bool: ...
    def is_deleted(self) -> bool: ...
    def read(self, members: list[str], limit: int, stamps: _Buffer | None = None) -> list[bytearray | None] | None: ...

def is_regular(path: str | bytes | os.PathLike[str]) -> bool: ...
