from collections.abc import Container
from typing import Any

from .header import Header

def put_numbers(
    header: Header,
    dtypes: list[Any],
    data: Any,
    share: bool,
    out: dict[str, Any],
    keys: Container[str] | None,
) -> list[str]: ...
