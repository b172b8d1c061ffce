from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

_Buffer = Buffer | NDArray[Any]

def unshuffle(source: _Buffer, target: _Buffer, size: int) -> None: ...
def shuffle(source: _Buffer, size: int) -> bytes: ...
def decode_lzf(source: _Buffer, target: _Buffer) -> int: ...
def round_floats(
    values: _Buffer, target: _Buffer, starts: _Buffer, below: _Buffer, above: _Buffer, kept: _Buffer
) -> None: ...
def put_chunks(
    data: _Buffer,
    sizes: NDArray[np.int64],
    masks: NDArray[np.uint32],
    parts: NDArray[np.int64],
    shape: NDArray[np.int64],
    target: _Buffer,
    target_shape: NDArray[np.int64],
    size: int,
    swapped: bool,
    is_shuffled: bool,
    inflated: _Buffer | None,
    wanted: NDArray[Any] | None,
) -> tuple[int, bool]: ...
