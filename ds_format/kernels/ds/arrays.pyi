from collections.abc import Callable, Collection
from typing import Any

from ..header.header import Header
from ..header.parser import Parser

def put_arrays(
    header: Header,
    kinds: list[Any],
    data: Any,
    body: int,
    share: bool,
    out: dict[str, Any],
    numbers: list[int] | None,
) -> tuple[list[str], list[str]]: ...
def append_arrays(
    header: Header,
    kinds: list[Any],
    data: Any,
    body: int,
    columns: list[tuple[bytearray | None, bytearray, list[Any] | None] | None],
) -> list[int]: ...
def put_file(
    parser: Parser,
    typed: Callable[[dict[str, Any]], dict[str, Any]],
    kinds: list[Any],
    data: bytearray | memoryview,
    out: dict[str, Any],
    keys: Collection[str] | None,
    full: bool,
    share: bool,
) -> tuple[tuple[Header, dict[str, Any]] | None, list[str] | None, list[str]] | None: ...
