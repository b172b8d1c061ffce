from typing import Any, final

from typing_extensions import Buffer

@final
class Original:
    def __init__(self, meta: dict[str, Any]) -> None: ...
    def copy(self) -> dict[str, Any]: ...

@final
class Template:
    key: str

@final
class Memory: ...

def are_alike(left: dict[str, dict[str, Any]], right: dict[str, dict[str, Any]], names: frozenset[str]) -> bool: ...
def merge_entries(left: dict[str, dict[str, Any]], right: dict[str, dict[str, Any]]) -> None: ...

@final
class Model:
    body: int
    def __init__(self, line: bytes, last: int, attributes: dict[str, Any]) -> None: ...
    def match(self, data: Buffer, attributes: dict[str, Any]) -> dict[str, Any] | None: ...
