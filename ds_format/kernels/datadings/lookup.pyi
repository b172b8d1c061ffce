from typing import Any, Self, final

from numpy.typing import NDArray
from typing_extensions import Buffer

from ..msgpack.keys import Keys

_Buffer = Buffer | NDArray[Any]

@final
class Lookup:
    def __new__(cls, hashes: _Buffer, secret: int) -> Self: ...
    def build(self) -> None: ...
    def find(self, string: str, keys: Keys) -> int: ...
    def duplicates(self) -> tuple[int, int] | None: ...
