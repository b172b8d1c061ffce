from collections.abc import Callable
from typing import Any, Literal

from .zdx import Table

def fetch_document(
    table: Table, fd: int, start: int, loads: Callable[[bytes], Any], id: str
) -> dict[str, Any] | Literal[False] | None: ...
