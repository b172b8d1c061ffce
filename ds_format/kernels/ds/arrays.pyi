from collections.abc import Callable, Collection, Container
from typing import Any, Self, final

from ..header.header import Header
from ..header.parser import Parser

@final
class Rest:
    @property
    def data(self) -> bytearray | memoryview: ...
    @property
    def parsed(self) -> tuple[Header, dict[str, Any]] | None: ...
    @property
    def keys(self) -> list[str] | None: ...
    @property
    def marked(self) -> list[str]: ...
    def __new__(
        cls,
        data: bytearray | memoryview,
        parsed: tuple[Header, dict[str, Any]] | None,
        keys: list[str] | None,
        marked: list[str],
    ) -> Self: ...

def put_arrays(
    header: Header,
    kinds: list[Any],
    data: Any,
    body: int,
    share: bool,
    out: dict[str, Any],
    keys: Container[str] | None,
) -> tuple[list[str], list[str]]: ...

@final
class Reader:
    def __init__(
        self,
        parser: Parser,
        typed: Callable[[dict[str, Any]], dict[str, Any]],
        kinds: list[Any],
        read_or_open: Callable[[Any, int, int], bytearray | tuple[int, int, bytearray, int]],
        limit: int,
        first: int,
    ) -> None: ...
    def read(
        self, path: Any, out: dict[str, Any], keys: Collection[str] | None, full: bool
    ) -> Rest | tuple[int, int, bytearray, int] | None: ...
    def fill(
        self,
        data: bytearray | memoryview,
        out: dict[str, Any],
        keys: Collection[str] | None,
        full: bool,
        share: bool,
    ) -> Rest | None: ...
