from collections.abc import Callable
from typing import Any, Literal

from .zdx import Table

def fetch_document(
    table: Table, id: str, fd: int, loads: Callable[[bytes], Any]
) -> dict[str, Any] | Literal[False] | None: ...
