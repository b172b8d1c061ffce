from typing import Any

from numpy import int64, uint8
from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Column:
    name: bytes
    format: bytes
    metadata: bytes
    length: int
    nulls: int
    def __init__(
        self, name: bytes, format: bytes, metadata: bytes, length: int, nulls: int, buffers: list[Any]
    ) -> None: ...

@disjoint_base
class Batch:
    columns: list[Column]
    length: int
    metadata: bytes
    def __init__(self, columns: list[Column], length: int, metadata: bytes) -> None: ...
    def stream(self) -> Any: ...

def is_text(offsets: NDArray[int64], data: NDArray[uint8]) -> bool: ...
