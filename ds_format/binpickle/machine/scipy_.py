"""SciPy's sparse matrices and arrays, through their public constructors and checks.

Unpickling believes the indices, and products with wrong ones crash; so every index is checked here.

Sources: `__getstate__` of `scipy.sparse` in SciPy 1.7 to 1.17.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...base.optional import library
from ...errors import FormatError
from ...kernels.pickle.machine import Pending
from .known import Known, check, check_ints, check_state, wrong

COMPRESSED = ("csr", "csc", "bsr")
COMMON = ("_shape", "maxprint", "data", "dtype", "format")
"""Keys that every state may have."""
NEEDED = {
    **dict.fromkeys(COMPRESSED, ("_shape", "data", "indices", "indptr")),
    "coo": ("_shape", "data"),
    "dia": ("_shape", "data", "offsets"),
    "lil": ("_shape", "dtype", "rows", "data"),
}
FLAGS = ("_has_sorted_indices", "_has_canonical_format", "has_canonical_format", "_blocksize")
"""What can be found out from the values, and is."""


def _scipy() -> Any:
    return library("scipy.sparse", "scipy", "a sparse matrix of SciPy")


def make(kind: str, layout: str) -> Pending:
    """Stand for a type of `scipy.sparse`, which a state follows."""
    return Pending(partial(_finish, kind, layout))


def _finish(kind: str, layout: str, state: Any) -> Any:
    known = (*COMMON, *NEEDED[layout], *FLAGS, *(("coords", "row", "col") if layout == "coo" else ()))
    parts = check_state(kind, state, known, NEEDED[layout])
    shape = check_ints(f"{kind}: shape", parts["_shape"])
    if any(n < 0 or n > np.iinfo(np.int64).max for n in shape):
        raise FormatError(f"{kind}: found a shape that no matrix can have")
    new = partial(getattr(_scipy(), kind), shape=shape)
    if layout in COMPRESSED:
        _check_room(kind, parts, shape)
        made = new((_numbers(kind, parts["data"]), _indices(kind, parts["indices"]), _indices(kind, parts["indptr"])))
        made.check_format(full_check=True)
        return made
    if layout == "coo":
        coordinates = parts["coords"] if "coords" in parts else (parts.get("row"), parts.get("col"))
        coordinates = tuple(_indices(kind, axis) for axis in check(f"{kind}: coordinates", coordinates, tuple))
        return new((_numbers(kind, parts["data"]), coordinates))
    if layout == "dia":
        return new((_numbers(kind, parts["data"]), _offsets(kind, parts["offsets"], shape)))
    return _lists(kind, parts, shape)


def _numbers(kind: str, array: Any) -> Any:
    if type(array) is not np.ndarray or array.dtype.kind not in "biufc":
        raise wrong(f"{kind}: data", array, "an array of numbers")
    return array


def _indices(kind: str, array: Any) -> Any:
    if type(array) is not np.ndarray or array.dtype.kind not in "iu" or array.ndim != 1:
        raise wrong(f"{kind}: indices", array, "an array of integers with one dimension")
    return array


def _offsets(kind: str, array: Any, shape: tuple[int, ...]) -> Any:
    """Return which diagonals these are; SciPy adds them to the shape, unchecked, in 32 bits."""
    offsets = _indices(kind, array)
    if len(shape) != 2 or (offsets.size and not -shape[0] < int(offsets.min()) <= int(offsets.max()) < shape[1]):
        raise FormatError(f"{kind}: found a diagonal that the shape {shape} does not have")
    return offsets


def _check_room(kind: str, parts: dict[str, Any], shape: tuple[int, ...]) -> None:
    """Refuse a shape before the constructor could allocate for it; and pointers, which it believes if the last is 0."""
    pointers = _indices(kind, parts["indptr"])
    if len(pointers) - 1 > max(shape, default=0) or len(shape) not in (1, 2):
        raise FormatError(f"{kind}: found {len(pointers)} index pointers for the shape {shape}")
    if (pointers[1:] < pointers[:-1]).any():
        raise FormatError(f"{kind}: found index pointers that do not ascend")


def _lists(kind: str, parts: dict[str, Any], shape: tuple[int, ...]) -> Any:
    """Return a matrix of lists: for each row one of columns, and one of values."""
    dtype, rows, data = parts["dtype"], parts["rows"], parts["data"]
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biufc":
        raise wrong(f"{kind}: dtype", dtype, "a dtype of numbers")
    if len(shape) != 2 or not all(type(part) is np.ndarray and part.shape == shape[:1] for part in (rows, data)):
        raise FormatError(f"{kind}: found other rows than those of the shape {shape}")
    for lists in (rows, data):
        if len({id(one) for one in lists.tolist()}) != len(lists):
            raise FormatError(f"{kind}: found rows that share a list")
    pointers: list[int] = [0]
    columns: list[Any] = []
    values: list[Any] = []
    for row, items in zip(rows.tolist(), data.tolist(), strict=True):
        columns += check(f"{kind}: row", row, list)
        values += check(f"{kind}: row", items, list)
        if len(row) != len(items):
            raise FormatError(f"{kind}: found {len(items)} values for {len(row)} columns")
        pointers.append(len(columns))
    if not all(isinstance(column, (int, np.integer)) for column in columns):
        raise FormatError(f"{kind}: found a column that is no integer")
    if not all(isinstance(value, (bool, int, float, complex, np.number, np.bool)) for value in values):
        raise FormatError(f"{kind}: found a value that is no number")
    scipy = _scipy()
    compressed = getattr(scipy, kind.replace("lil", "csr"))
    made = compressed((np.array(values, dtype), np.array(columns, np.int64), np.array(pointers, np.int64)), shape=shape)
    made.check_format(full_check=True)
    return made.tolil()


def _rows() -> dict[str, Known]:
    """Return the table: since SciPy 1.8 the modules have an underscore."""
    table: dict[str, Known] = {}
    for layout in NEEDED:
        for kind in (f"{layout}_matrix", f"{layout}_array"):
            known = Known(partial(make, kind, layout))
            table |= dict.fromkeys((f"scipy.sparse._{layout}:{kind}", f"scipy.sparse.{layout}:{kind}"), known)
    return table


TABLE: dict[str, Known] = _rows()
"""What pickles of sparse matrices name."""
