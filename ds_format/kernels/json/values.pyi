from collections.abc import Callable
from typing import Any, Final

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

__pyx_capi__: Final[dict[str, object]]

VALID: Final[int]
ID_FOUND: Final[int]
ID_STRING: Final[int]
ID_ESCAPED: Final[int]
ID_TWICE: Final[int]
NUMBER_RANGE: Final[int]
CARRIAGE_RETURN: Final[int]
FAULTS: Final[dict[int, str]]
MAX_DEPTH: Final[int]

def check_line(line: _Buffer) -> tuple[int, int, int, int, int]: ...
def check_text(text: _Buffer) -> tuple[int, int, int, int, int]: ...
def big_number(line: _Buffer) -> bool: ...
def dumps(value: object, fallback: Callable[[Any], object] | None = ..., like_python: bool = ...) -> bytes: ...
