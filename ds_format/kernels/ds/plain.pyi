from collections.abc import Callable, Collection, Container
from typing import Any, final

from ..header.header import Header
from ..header.parser import Parser

def put_numbers(
    header: Header,
    dtypes: list[Any],
    data: Any,
    body: int,
    share: bool,
    out: dict[str, Any],
    keys: Container[str] | None,
) -> list[str]: ...

@final
class Reader:
    def __init__(
        self,
        parser: Parser,
        typed: Callable[[dict[str, Any]], dict[str, Any]],
        dtypes: list[Any],
        read_or_open: Callable[[Any, int, int], bytearray | tuple[int, int, bytearray, int]],
        limit: int,
        first: int,
    ) -> None: ...
    def read(
        self, path: Any, out: dict[str, Any], keys: Collection[str] | None, full: bool
    ) -> tuple[bytearray | None, Any, list[str] | None] | None: ...
    def fill(
        self,
        data: bytearray | memoryview,
        out: dict[str, Any],
        keys: Collection[str] | None,
        full: bool,
        share: bool,
    ) -> tuple[bytearray | memoryview, tuple[Header, dict[str, Any]] | None, list[str] | None] | None: ...

def put_types(attributes: dict[str, Any], specs: dict[str, Any], dtypes: dict[str, Any]) -> list[str]: ...
def plain_arrays(dataset: dict[str, Any]) -> dict[str, Any] | None: ...
