from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

def find_chunks(
    segments: list[tuple[int, Any]],
    file_size: int,
    index: str,
    address: int,
    parameters: tuple[int, ...],
    shape: tuple[int, ...],
    max_shape: tuple[int, ...],
    chunk: tuple[int, ...],
    item_size: int,
    is_filtered: bool,
    has_plain_edges: bool,
    unusual: Callable[[str], Exception],
) -> list[tuple[int, int]] | tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint32]]: ...
