"""Two arrays of values, none of them missing: which of them differ, and by how much."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NUMBERS = "biuf"
"""Kinds of dtypes that are compared as numbers."""


class Rule(NamedTuple):
    """When two values are the same."""

    rtol: float = 0.0
    """They may differ by `atol + rtol * |b|`, as of `numpy.isclose`."""
    atol: float = 0.0
    bits: bool = False
    """Whether numbers of one type have to be the same bit by bit, zeros and NaN included."""
    loose: bool = False
    """Whether values of different kinds, as text and numbers, pass for the same."""


EXACT = Rule()


def unequal(left: NDArray[Any], right: NDArray[Any], rule: Rule = EXACT) -> NDArray[np.intp]:
    """Return the positions at which two arrays differ.

    NaN is the same as NaN, and 0.0 as -0.0, but for a rule of bits.

    Parameters
    ----------
    left, right : (N,) ndarray
    rule : Rule

    Returns
    -------
    (M,) ndarray of int
        In ascending order.

    Examples
    --------
    >>> unequal(np.array([1.0, np.nan, 3.0]), np.array([1.0, np.nan, 3.5])).tolist()
    [2]
    """
    if left.dtype.kind not in NUMBERS or right.dtype.kind not in NUMBERS:
        return _unequal_objects(left, right, rule)
    if left.dtype == right.dtype:
        bits = np.dtype(f"u{left.itemsize}")
        places = np.flatnonzero(left.view(bits) != right.view(bits))
        if rule.bits:
            return places
    else:
        places = np.flatnonzero(_differ(left, right))
    if not places.size:
        return places
    a, b = taken(left, places), taken(right, places)
    differ = _differ(a, b)
    if rule.rtol or rule.atol:
        differ &= ~_close(a, b, rule)
    return places[differ] if not differ.all() else places


def taken(array: NDArray[Any], places: NDArray[np.intp]) -> NDArray[Any]:
    """Return the values at some positions; where these are all, the array itself."""
    return array if places.size == array.size else array[places]


def _differ(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Say where two arrays of numbers differ, by value."""
    differ: NDArray[np.bool_] = left != right
    kinds = left.dtype.kind + right.dtype.kind
    if "f" in kinds:
        gone = np.isnan(left)
        if gone.any():
            differ &= ~(gone & np.isnan(right))
        for whole, other in ((left, right), (right, left)):
            if whole.dtype.kind in "iu" and whole.itemsize == 8 and other.dtype.kind == "f":
                # NumPy compares them as floats, which have not as many digits
                with np.errstate(invalid="ignore"):
                    differ |= other.astype(whole.dtype) != whole
                differ |= other >= (2.0**63 if whole.dtype.kind == "i" else 2.0**64)  # some processors cut it there
    return differ


def _close(left: NDArray[Any], right: NDArray[Any], rule: Rule) -> NDArray[np.bool_]:
    """Say where numbers are the same within tolerances; computed in float64."""
    if left.dtype.kind == "b" or right.dtype.kind == "b":
        return np.zeros(left.shape, np.bool_)
    x, y = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = rule.atol + rule.rtol * np.abs(y)
        close: NDArray[np.bool_] = distances(left, right).astype(np.float64) <= allowed
    return close & np.isfinite(x) & np.isfinite(y)


def distances(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the absolute differences of numbers: uint64 and exact of integers, where it holds them, else float64.

    Those of integers and floats are not 0 where the numbers are not the same.
    """
    kinds = left.dtype.kind + right.dtype.kind
    if kinds in ("ii", "uu"):
        low, high = np.minimum(left, right), np.maximum(left, right)
        wide = np.dtype(f"{kinds[0]}8")
        exact: NDArray[np.uint64] = high.astype(wide).view(np.uint64) - low.astype(wide).view(np.uint64)
        return exact
    if kinds in ("iu", "ui"):
        signed, unsigned = (left, right) if kinds == "iu" else (right, left)
        bits, positive = signed.astype(np.int64).view(np.uint64), unsigned.astype(np.uint64)
        apart = np.where((signed < 0) | (positive >= bits), positive - bits, bits - positive)
        if not ((signed < 0) & (apart < positive)).any():
            return apart
    with np.errstate(invalid="ignore", over="ignore"):
        far: NDArray[np.float64] = np.abs(left.astype(np.float64) - right.astype(np.float64))
    if "f" in kinds and kinds != "ff":
        lost = np.flatnonzero(far == 0)  # float64 has not as many digits as integers
        pairs = zip(left[lost].tolist(), right[lost].tolist(), strict=True)
        far[lost] = [abs(int(a) - int(b)) for a, b in pairs]
    return far


def _unequal_objects(left: NDArray[Any], right: NDArray[Any], rule: Rule) -> NDArray[np.intp]:
    """Compare strings, or what is not of one kind."""
    if left.dtype.kind in NUMBERS or right.dtype.kind in NUMBERS:
        return np.zeros(0, np.intp) if rule.loose else np.arange(left.size)
    left, right = left.astype(object, copy=False), right.astype(object, copy=False)
    places = np.flatnonzero(left != right)
    if not places.size:
        return places
    same = _loosely_same if rule.loose else _same_text
    pairs = zip(left[places].tolist(), right[places].tolist(), strict=True)
    return places[np.fromiter((not same(a, b) for a, b in pairs), np.bool_, places.size)]


def _loosely_same(a: Any, b: Any) -> bool:
    return type(a) is not type(b) or str(a) == str(b)


def _same_text(a: Any, b: Any) -> bool:
    """Whether bytes and text are the same, as UTF-8: some formats have only one of them."""
    return type(a) is not type(b) and _text(a) == _text(b)


def _text(value: Any) -> Any:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
