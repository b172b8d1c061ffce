from collections.abc import Callable, Collection
from typing import Any, final

from typing_extensions import Buffer

from .header import Header

@final
class Parser:
    def __init__(self, types: dict[str, int]) -> None: ...
    def parse(
        self,
        data: Buffer,
        keys: Collection[str] | None = None,
        typed: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        known: list[Any] | None = None,
    ) -> tuple[Header, dict[str, dict[str, Any]]] | None: ...

@final
class Model:
    body: int
    def __init__(self, line: bytes, last: int, attributes: dict[str, Any]) -> None: ...
    def match(self, data: Buffer, attributes: dict[str, Any]) -> dict[str, Any] | None: ...
