from collections.abc import Mapping
from typing import Any, overload

@overload
def compose(
    version: int,
    dimensions: list[tuple[str, int, bool]],
    attributes: Mapping[str, tuple[Any, ...]],
    variables: list[tuple[Any, ...]],
    codes: dict[Any, int],
    fills: tuple[bytes, ...],
    sizes: tuple[int, ...],
    values: None = None,
) -> tuple[bytes, list[tuple[int, int, int, int, int, int, bytes]], int]: ...
@overload
def compose(
    version: int,
    dimensions: list[tuple[str, int, bool]],
    attributes: Mapping[str, tuple[Any, ...]],
    variables: list[tuple[Any, ...]],
    codes: dict[Any, int],
    fills: tuple[bytes, ...],
    sizes: tuple[int, ...],
    values: list[Any],
) -> bytes: ...
