from typing import Any, Self, final

from numpy.typing import NDArray
from typing_extensions import Buffer

from .spans import Spans

_Buffer = Buffer | NDArray[Any]

@final
class Table(Spans):
    @classmethod
    def decode(cls, data: _Buffer, data_size: int) -> Self: ...
    def duplicates(self) -> tuple[int, int] | None: ...
    def relocate(self) -> None: ...
    def encode(self) -> bytes: ...
