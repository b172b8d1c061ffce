from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def decode_numpy_strings(lengths: _Buffer, big: bool, data: _Buffer, out: NDArray[Any]) -> None: ...
def encode_numpy_strings(values: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]: ...
