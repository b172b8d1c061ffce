"""Names, types and the mode, under the name that these have in ds-format 5.0.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base.dtypes import TYPES
from .base.modes import with_mode
from .base.text import escape, unescape
from .cli.arguments import UsageError
from .codec.encode import type_of

__all__ = ["TYPE_TO_DTYPE", "UsageError", "dtype_to_type", "escape", "type_to_dtype", "unescape", "with_mode"]

TYPE_TO_DTYPE = {name: np.dtype(ds_type.code) for name, ds_type in TYPES.items()}
"""Name of a type → dtype; object for strings."""


def dtype_to_type(dtype: Any, data: Any = None) -> str:
    """Return the name of the type of an array.

    Parameters
    ----------
    dtype : dtype
    data : ndarray, optional
        The values, which distinguish text from byte strings if `dtype` is object.

    Raises
    ------
    UnsupportedError
        If there is no such type.

    Examples
    --------
    >>> dtype_to_type(np.dtype("f8")), dtype_to_type(np.dtype("O"), np.array(["a"], object))
    ('float64', 'unicode')
    """
    dtype = np.dtype(dtype)
    return type_of(np.empty(0, dtype) if data is None or dtype.kind != "O" else np.asanyarray(data)).name


def type_to_dtype(type_: str) -> np.dtype[Any]:
    """Return the dtype of the arrays of a type.

    Raises
    ------
    KeyError
        If there is no such type.
    """
    return TYPE_TO_DTYPE[type_]
