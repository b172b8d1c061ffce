from typing import Any

from typing_extensions import Buffer

from .entry import Header

def take_attributes(data: Buffer, start: int, header: Header) -> tuple[dict[str, Any], int] | None: ...
def are_alike(
    left: dict[str, dict[str, Any]],
    right: dict[str, dict[str, Any]],
    keys: tuple[str, ...],
    names: tuple[str, ...],
) -> bool: ...
def append_numbers(
    header: Header, body: int, data: Buffer, sizes: list[int], rooms: list[bytearray | None]
) -> list[int]: ...
