from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

from .entry import Header

def parse(
    data: Buffer | NDArray[Any], start: int, end: int, types: dict[str, int]
) -> tuple[Header, dict[str, dict[str, Any]]] | None: ...
