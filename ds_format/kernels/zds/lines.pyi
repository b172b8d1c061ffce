from collections.abc import Callable, Iterable
from typing import Any, Final, Self, final

from numpy.typing import NDArray
from typing_extensions import Buffer

from ..json.values import FAULTS as FAULTS
from .zdx import Table

_Buffer = Buffer | NDArray[Any]

@final
class Encoder:
    def __new__(cls, fallback: Callable[[Any], object] | None = ...) -> Self: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...
    @property
    def size(self) -> int: ...
    def add(self, id: str | None, document: dict[str, Any]) -> tuple[int, int]: ...
    def put_all(self, documents: Iterable[Any], table: Table, base: int, limit: int) -> tuple[int, bool]: ...
    def view(self, start: int, stop: int) -> bytes: ...
    def take(self) -> bytes: ...
    def clear(self) -> None: ...

BLANK: Final[int]
BOM: Final[int]
CRLF: Final[int]
NO_NEWLINE: Final[int]
SUPERSEDED: Final[int]
UNUSUAL_ID: Final[int]
ESCAPED_ID: Final[int]
NUMBER_RANGE: Final[int]
ID_TWICE: Final[int]
NO_ID: Final[int]
ID_NOT_STRING: Final[int]
ID_EMPTY: Final[int]
ID_TOO_LONG: Final[int]
LINE_TOO_LONG: Final[int]
REMARKS: Final[frozenset[int]]
KINDS: Final[dict[int, str]]

def add_lines(
    table: Table, data: _Buffer, base: int, whole: bool, strict: bool = ...
) -> tuple[int, list[tuple[int, int, int, int]]]: ...
