from collections.abc import Container
from typing import Any, Final

from ..header.header import Header

__pyx_capi__: Final[dict[str, object]]

def put_numbers(
    header: Header,
    dtypes: list[Any],
    data: Any,
    body: int,
    share: bool,
    out: dict[str, Any],
    keys: Container[str] | None,
) -> list[str]: ...
