"""Masked arrays, made faster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def masked_view(array: NDArray[Any]) -> Any:
    """Return an array as a MaskedArray without a mask, a view.

    NumPy asks each array anew what it could be a part of. To read a variable of a small file takes less than that.

    Parameters
    ----------
    array : ndarray
        Not of a subclass.
    """
    return _maker()(array)


@functools.cache
def _maker() -> Callable[[NDArray[Any]], Any]:
    masked_array: Any = np.ma.MaskedArray

    class Unfinished(masked_array):  # type: ignore[misc]
        __array_finalize__ = np.ndarray.__array_finalize__  # does nothing

    known = vars(np.zeros(1).view(masked_array))
    fields = {name: value for name, value in known.items() if not isinstance(value, dict)}
    dicts = known.keys() - fields.keys()

    def make(array: NDArray[Any]) -> Any:
        made = array.view(Unfinished)
        own, shared = made.__dict__, dict[str, Any]()
        own.update(fields)
        for name in dicts:
            own[name] = shared
        made.__class__ = masked_array
        return made

    try:
        is_known = vars(make(np.zeros(1))) == known
    except (AttributeError, TypeError):
        is_known = False
    return make if is_known else lambda array: array.view(masked_array)
