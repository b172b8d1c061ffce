from typing import Any

from typing_extensions import Buffer

from .entry import Header

def parse(data: Buffer, types: dict[str, int]) -> tuple[Header, dict[str, dict[str, Any]]] | None: ...
