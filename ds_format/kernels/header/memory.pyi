from typing import Any, Final, final

__pyx_capi__: Final[dict[str, object]]

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
