"""Saying what of a dataset a file does not hold."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import DsError


class LossWarning(UserWarning):
    """Something of a dataset that a file does not hold, or holds differently."""


def warn(message: str, path: str, variable: str | None = None) -> None:
    """Issue a `LossWarning` that says where, in the words of the package's errors."""
    warnings.warn(str(DsError(message, path=path, variable=variable)), LossWarning, stacklevel=3)


def count_payloads(array: Any) -> int:
    """Return how many present values are NaN of other bits than the usual ones, which text cannot tell.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Of any dtype. The sign of a NaN does not count: it has no meaning, and processors make both.
    """
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    if data.dtype.kind != "f":
        return 0
    flags = np.isnan(data)
    found = data[flags if mask is np.ma.nomask else flags & ~mask]
    found = found.astype(found.dtype.newbyteorder("="), copy=False)
    bits = found.view(f"u{found.itemsize}")
    usual = np.array(np.nan, found.dtype).view(bits.dtype)
    return int(np.count_nonzero(bits << 1 != usual << 1))
