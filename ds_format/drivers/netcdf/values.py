"""Blocks of values as a dataset has them → as a file has them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

from ...errors import UnsupportedError
from .. import strings
from ..library import missing
from ..library.encoding import encoded
from . import text
from .calls import Variable
from .definition import DefinedVariable
from .kinds import file_dtype


def file_values(defined: DefinedVariable, block: Any) -> NDArray[Any]:
    """Return values in the form of the file.

    Parameters
    ----------
    defined : DefinedVariable
    block : ndarray, MaskedArray or scalar

    Returns
    -------
    (N,) array of numbers, (N, L) array of S1, or (N,) array of objects
        In C order.

    Raises
    ------
    UnsupportedError
        If a value is not possible in the variable.
    """
    if defined.kind in ("char", "string"):
        return _strings(defined, block)
    return _numbers(defined, block)


def _strings(defined: DefinedVariable, block: Any) -> NDArray[Any]:
    values, mask = strings.as_objects(block)
    if mask is not None and defined.mark is None:
        raise UnsupportedError('found missing strings, expected none (property ".missing")')
    strings.check_kind(values, mask, defined.type)
    is_char = defined.kind == "char"
    encoding = "utf-8" if is_char else str(defined.plan.attributes.get(text.ENCODING_ATTRIBUTE, "utf-8"))
    storable = functools.partial(text.storable, encoding=encoding, inner_nul=is_char)
    raw = encoded(values, mask, defined.mark or b"", storable).ravel()
    if not is_char:
        return raw
    if defined.length is None:
        return text.characters(raw, 1)[:, 0]
    return text.characters(raw, defined.length)


def _numbers(defined: DefinedVariable, block: Any) -> NDArray[Any]:
    values = np.asarray(np.ma.getdata(block)).ravel()
    mask = np.ma.getmask(block)
    is_missing = np.asarray(mask).ravel() if mask is not np.ma.nomask and np.any(mask) else None
    values = _cast(values, is_missing, defined)
    for position, sentinel in enumerate(defined.sentinels):
        hits = missing.is_value(values, sentinel)
        n = int(np.count_nonzero(hits if is_missing is None else hits & ~is_missing))
        if n and defined.is_own_fill and position == 0:
            raise UnsupportedError(
                f"{n} present values equal {sentinel}, which was to mark missing ones; "
                f'the attribute "{missing.FILL_ATTRIBUTE}" can name another'
            )
        if n:
            defined.clashes[position] = defined.clashes.get(position, 0) + n
    if is_missing is None:
        return values
    if not defined.sentinels:
        raise UnsupportedError('found missing values, expected none (property ".missing")')
    return missing.filled(values, is_missing, defined.sentinels)


def _cast(values: NDArray[Any], is_missing: NDArray[np.bool_] | None, defined: DefinedVariable) -> NDArray[Any]:
    """Return numbers in the dtype of the file, if that keeps them as they are."""
    dtype = file_dtype(defined.type)
    if values.dtype == dtype and defined.kind == "number":
        return values.astype(dtype.newbyteorder("="), copy=False)
    if values.dtype.kind not in "fiub":
        raise UnsupportedError(f"found values of type {values.dtype}, expected {defined.type}")
    if values.dtype.kind != "b" or defined.kind != "bool":
        present = values if is_missing is None else values[~is_missing]
        expected = np.dtype(bool) if defined.kind == "bool" else dtype
        with np.errstate(invalid="ignore", over="ignore"):
            back = present.astype(expected).astype(values.dtype)
        if not np.array_equal(back, present, equal_nan=values.dtype.kind == "f"):
            raise UnsupportedError(f"found values of type {values.dtype} that do not fit {defined.type}")
    with np.errstate(invalid="ignore", over="ignore"):
        return values.astype(dtype)


@contextmanager
def any_enum_value(variable: Variable, values: NDArray[Any]) -> Iterator[None]:
    """Let the library write what files may hold: values of an enum type that have no name."""
    enum = variable.datatype
    if not isinstance(enum, netCDF4.EnumType):
        yield
        return
    members = enum.enum_dict
    enum.enum_dict = {str(value): value for value in np.unique(values).tolist()}
    try:
        yield
    finally:
        enum.enum_dict = members
