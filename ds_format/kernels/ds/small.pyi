from collections.abc import Callable, Collection
from typing import Any, final

from ..header.header import Header
from ..header.parser import Parser

@final
class Reader:
    def __init__(
        self,
        parser: Parser,
        typed: Callable[[dict[str, Any]], dict[str, Any]],
        dtypes: list[Any],
        read_file: Callable[[Any, int], bytearray | None],
        limit: int,
    ) -> None: ...
    def read(
        self, path: Any, out: dict[str, Any], keys: Collection[str] | None, full: bool
    ) -> tuple[bytearray | None, tuple[Header, dict[str, Any]] | None, list[str] | None] | None: ...
    def fill(
        self, data: bytearray, out: dict[str, Any], keys: Collection[str] | None, full: bool
    ) -> tuple[bytearray, tuple[Header, dict[str, Any]] | None, list[str] | None] | None: ...
