"""Numbers of Python ↔ arrays, exactly: integers that a dtype can hold, and floats with the digits of their type.

This is a file of its own, because the other modules of this folder do without NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .dtypes import TYPES

WRAPS = np.lib.NumpyVersion(np.__version__) < "2.0.0"
"""Whether NumPy wraps an integer that a dtype cannot hold, and only warns of it."""
NARROW = frozenset(name for name, row in TYPES.items() if row.code[0] == "f" and row.bits < 64)
"""Types whose numbers have fewer digits than a float of Python."""


def exact_array(values: Any, dtype: DTypeLike) -> NDArray[Any]:
    """Return `numpy.array(values, dtype)`.

    Parameters
    ----------
    values : array_like
        Python numbers or texts, in any nesting, or an array of objects.
    dtype : dtype

    Raises
    ------
    OverflowError
        If the dtype cannot hold an integer.
    TypeError, ValueError
        As `numpy.array`.

    Examples
    --------
    >>> from ds_format.base.exact import exact_array
    >>> exact_array([1, 255], "u1")
    array([  1, 255], dtype=uint8)
    """
    made: np.dtype[Any] = np.dtype(dtype)
    if WRAPS and made.kind in "iu":
        limits = np.iinfo(made)
        for value in np.array(values, object).flat:
            if isinstance(value, int) and not limits.min <= value <= limits.max:
                raise OverflowError(f"Python integer {value} out of bounds for {made}")
    return np.array(values, made)


def shortest(data: NDArray[Any]) -> NDArray[Any]:
    """Return doubles with the shortest decimals that give back the same numbers.

    Parameters
    ----------
    data : ndarray
        Those of other types than `NARROW` are returned as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from ds_format.base.exact import shortest
    >>> shortest(np.float32([0.1])).tolist(), shortest(np.float16([0.1])).tolist()
    ([0.1], [0.1])
    """
    if data.dtype.name not in NARROW:
        return data
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        found: NDArray[np.float64] = data.astype("U32").astype(np.float64)
        return np.where(found.astype(data.dtype) == data, found, data.astype(np.float64))
