from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

from .zdx import Table

_Buffer = Buffer | NDArray[Any]

def encode(table: Table) -> bytes | None: ...
def decode(data: _Buffer, data_size: int) -> Table: ...
