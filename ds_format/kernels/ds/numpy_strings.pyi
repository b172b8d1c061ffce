from typing import Any

from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def decode_numpy_strings(lengths: _Buffer, big: bool, data: _Buffer, out: NDArray[Any]) -> None: ...
def measure_numpy_strings(values: NDArray[Any], lengths: _Buffer) -> int: ...
def encode_numpy_strings(values: NDArray[Any], data: _Buffer) -> None: ...
