from collections.abc import Callable, Mapping
from typing import Any, final

@final
class Piece: ...

def compose(
    arrays: dict[str, Any],
    meta: dict[str, Any],
    types: Mapping[Any, str],
    without: frozenset[str],
    encode: Callable[[str, Any, dict[str, Any]], tuple[dict[str, Any], list[Any], int, int]],
) -> tuple[list[Any], int] | None: ...
