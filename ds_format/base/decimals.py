"""Numbers of half and single precision as doubles that print with their own digits.

This is a file of its own, because the other modules of this folder do without NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NARROW = ("float16", "float32")
"""Types whose numbers have fewer digits than a float of Python."""


def shortest(data: NDArray[Any]) -> NDArray[Any]:
    """Return doubles with the shortest decimals that give back the same numbers.

    Parameters
    ----------
    data : ndarray
        Those of other types than float16 and float32 are returned as they are.

    Examples
    --------
    >>> shortest(np.float32([0.1])).tolist(), shortest(np.float16([0.1])).tolist()
    ([0.1], [0.1])
    """
    if data.dtype.name not in NARROW:
        return data
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        found: NDArray[np.float64] = data.astype("U32").astype(np.float64)
        return np.where(found.astype(data.dtype) == data, found, data.astype(np.float64))
