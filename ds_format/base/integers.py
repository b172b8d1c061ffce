"""Arrays of Python integers, with the same errors in all supported versions of NumPy.

This is a file of its own, because the other modules of this folder do without NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

WRAPS = np.lib.NumpyVersion(np.__version__) < "2.0.0"
"""Whether NumPy wraps an integer that a dtype cannot hold, and only warns of it."""


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
    >>> from ds_format.base.integers import exact_array
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
