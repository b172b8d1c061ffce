from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

def put_chunks(
    data: Buffer | NDArray[Any],
    sizes: NDArray[np.int64],
    masks: NDArray[np.uint32],
    parts: NDArray[np.int64],
    shape: NDArray[np.int64],
    target: Buffer | NDArray[Any],
    target_shape: NDArray[np.int64],
    size: int,
    swapped: bool,
    is_shuffled: bool,
    inflated: Buffer | NDArray[Any] | None,
    wanted: NDArray[Any] | None,
) -> tuple[int, bool]: ...
