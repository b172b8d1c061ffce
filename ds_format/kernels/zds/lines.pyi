from typing import Any, Final

from numpy.typing import NDArray
from typing_extensions import Buffer

from ..json.check import FAULTS as FAULTS
from .zdx import Table

_Buffer = Buffer | NDArray[Any]

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
