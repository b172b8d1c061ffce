from typing import Any, final

from typing_extensions import Buffer

from ..header.header import Header

def append_numbers(header: Header, data: Buffer, sizes: list[int], rooms: list[bytearray | None]) -> list[int]: ...

@final
class Model:
    def __init__(self, line: bytes, last: int, header: Header, attributes: dict[str, Any]) -> None: ...
    def take(
        self, data: Buffer, sizes: list[int], rooms: list[bytearray | None], attributes: dict[str, Any]
    ) -> dict[str, Any] | None: ...
