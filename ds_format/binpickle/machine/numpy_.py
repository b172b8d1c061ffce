"""NumPy arrays, scalars and dtypes, and SciPy's sparse matrices, made from checked parts.

`__setstate__` of a dtype or an array does not check its arguments, such as offsets into other memory, so it is never
called. Each dtype is made by `numpy.dtype` from checked parts, and compared with the state in the pickle. Sparse
matrices are made by their public constructors. Unpickling them does not check the indices, and products with wrong ones
crash, so every index is checked here.

Sources: `__reduce_ex__` of arrays, masked arrays and scalars in NumPy 1.17 to 2.4; `__getstate__` of `scipy.sparse` in
SciPy 1.7 to 1.17.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np

from ...base import optional
from ...base.exact import exact_array
from ...errors import DriverError, FormatError
from ...kernels.pickle.machine import Pending
from .allowed import (
    AllowedName,
    Postponed,
    PostponedArray,
    PostponedMasked,
    check,
    check_buffer,
    check_ints,
    check_state,
    wrong,
)

SIMPLE = re.compile(r"[biufcSUVOMm][0-9]{1,9}")
"""Kind and size in bytes (of U in characters)."""
ORDERS = {"<", ">", "|", "="}
UNIT = re.compile(rb"generic|Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as")
N_VERSIONS = {3: 8, 4: 9}
"""Items of a state, by the version in its first one."""
MAX_PARTS = 1000
"""Limit of dtypes in the fields of a dtype: each could contain another one twice, and NumPy visits all of them."""


def dtype(text: Any, align: Any = False, copy: Any = False) -> Pending:
    """Replace `numpy.dtype(text, False, True)`; a state follows."""
    if text is not np.record and (type(text) is not str or not SIMPLE.fullmatch(text)):
        raise wrong("numpy.dtype", text, "a kind and a size")
    return Pending(partial(rebuild, text))


def rebuild(text: Any, state: Any) -> np.dtype[Any]:
    """Return the dtype of a text and a state.

    Raises
    ------
    FormatError, TypeError, ValueError
        If they do not fit each other, or make no dtype.
    """
    check("numpy.dtype: state", state, tuple)
    if not state or type(state[0]) is not int or N_VERSIONS.get(state[0]) != len(state):
        raise FormatError("numpy.dtype: found a state of an unknown version")
    order, subarray, names, fields, size, align, flags = state[1:8]
    if type(order) is not str or order not in ORDERS:
        raise wrong("numpy.dtype: byte order", order, "<, > or |")
    check_ints("numpy.dtype: size, alignment and flags", (size, align, flags), 3)
    metadata, unit = _metadata(text, state)
    if subarray is not None:
        made = _subarray(subarray)
    elif names is not None:
        made = _structure(names, fields, size, is_aligned=bool(flags & 0x80))
    elif text is np.record or fields is not None:
        raise FormatError("numpy.dtype: has no names of fields")
    elif unit is not None:
        made = np.dtype(f"{order}{text}{unit}")
    else:
        made = np.dtype(text) if order == "|" else np.dtype(order + text)
    if text is np.record:
        made = np.dtype((np.record, made))
    elif (made.kind != text[0] and subarray is None) or (names is not None and text != f"V{size}"):
        raise FormatError(f"numpy.dtype: found {_shown(made)}, expected {text}")
    if size not in (-1, made.itemsize) or (size == -1 and made.names is not None):
        raise FormatError(f"numpy.dtype: found {size} bytes, expected {made.itemsize} of {_shown(made)}")
    if flags & 0xFF != made.flags & 0xFF:
        raise FormatError(f"numpy.dtype: found the flags {flags}, expected {made.flags} of {_shown(made)}")
    return np.dtype(made, metadata=metadata) if metadata else made


def _metadata(text: Any, state: tuple[Any, ...]) -> tuple[dict[Any, Any] | None, str | None]:
    """Return what the writer added, and the unit of a time, in brackets."""
    if type(text) is not str or text[0] not in "mM":
        return (None if len(state) == 8 else check("numpy.dtype: metadata", state[8], dict)), None
    own, unit = check("numpy.dtype: unit", state[8] if len(state) == 9 else None, tuple)
    if type(unit) is not tuple or len(unit) != 4 or type(unit[0]) is not bytes or not UNIT.fullmatch(unit[0]):
        raise wrong("numpy.dtype: unit", unit, "a unit of time")
    n, parts, event = check_ints("numpy.dtype: unit", unit[1:], 3)
    if not 0 < n < 1 << 31 or parts != 1 or event not in (0, 1):
        raise FormatError(f"numpy.dtype: found a unit of {n} / {parts}, expected a positive number")
    metadata = None if own is None else check("numpy.dtype: metadata", own, dict)
    return metadata, "" if unit[0] == b"generic" else f"[{n}{unit[0].decode()}]"


def _subarray(subarray: Any) -> np.dtype[Any]:
    base, shape = check("numpy.dtype: subarray", subarray, tuple)
    base, shape = _part(base), shape if type(shape) is tuple else (shape,)
    _check_parts([base])
    if any(n < 0 for n in check_ints("numpy.dtype: shape of a subarray", shape)):
        raise FormatError("numpy.dtype: has a subarray of negative shape")
    if not base.itemsize and math.prod(shape) > MAX_PARTS:
        raise FormatError(f"numpy.dtype: found a subarray of {math.prod(shape)} values of no bytes")
    return np.dtype((base, shape))


def _part(value: Any) -> np.dtype[Any]:
    if not isinstance(value, np.dtype):
        raise wrong("numpy.dtype: part", value, "a dtype")
    return value


def _check_parts(parts: list[np.dtype[Any]]) -> None:
    todo, n = [part for part in parts if part.names is not None or part.subdtype is not None], 0
    while todo:
        part = todo.pop()
        inner = [part.base] if part.subdtype is not None else [field for field, *_ in (part.fields or {}).values()]
        todo += inner
        n += len(inner)
        if n > MAX_PARTS:
            raise FormatError(f"numpy.dtype: found more than {MAX_PARTS} dtypes inside of fields")


def _structure(names: Any, fields: Any, size: int, *, is_aligned: bool) -> np.dtype[Any]:
    """Return a dtype of fields that are inside of it. NumPy refuses objects that overlap with other fields."""
    check("numpy.dtype: names", names, tuple)
    check("numpy.dtype: fields", fields, dict)
    formats, offsets, titles = [], [], []
    for name in names:
        field = check("numpy.dtype: field", fields.get(check("numpy.dtype: name", name, str)), tuple)
        if len(field) not in (2, 3):
            raise FormatError("numpy.dtype: found a field of another form than dtype, offset and title")
        part, offset = _part(field[0]), check("numpy.dtype: offset", field[1], int)
        if offset < 0 or offset + part.itemsize > size:
            raise FormatError(f"numpy.dtype: found a field at bytes {offset} to {offset + part.itemsize} of {size}")
        formats.append(part)
        offsets.append(offset)
        titles.append(None if len(field) == 2 else check("numpy.dtype: title", field[2], str))
    _check_parts(formats)
    if len(fields) != len(names) + sum(title is not None for title in titles):
        raise FormatError(f"numpy.dtype: found {len(fields)} fields, expected those of {len(names)} names")
    parts: Any = {"names": list(names), "formats": formats, "offsets": offsets, "itemsize": size}
    if any(titles):
        parts["titles"] = titles
    made: np.dtype[Any] = np.dtype(parts, align=is_aligned)
    return made


def _shown(value: np.dtype[Any]) -> str:
    return f"{value!s:.100}"


def string_dtype(coerce: Any = True, *na_object: Any) -> np.dtype[Any]:
    """Replace `numpy._core._internal._convert_to_stringdtype_kwargs`."""
    if type(coerce) not in (bool, int):
        raise wrong("numpy.dtypes.StringDType: coerce", coerce, "a flag")
    if len(na_object) > 1 or (na_object and type(na_object[0]) not in (str, float, type(None))):
        raise wrong("numpy.dtypes.StringDType: na_object", na_object, "None, nan or a text")
    kind = optional.string_dtype("an array of NumPy's StringDType")
    made: np.dtype[Any] = kind(coerce=bool(coerce), na_object=na_object[0]) if na_object else kind(coerce=bool(coerce))
    return made


SUBCLASSES: set[type[np.ndarray[Any, Any]]] = {np.ndarray, np.matrix, np.recarray, np.memmap}
"""Classes of arrays that a pickle may name. `characters` adds one that NumPy will remove."""
MAX_EMPTY_ITEMS = 1 << 16
"""Limit of items of no bytes each, whose number does not follow from the bytes of an array."""
ROOM, ROOM_PER_ITEM = 1 << 26, 1 << 10
"""Limit of the bytes of a structured array with objects, in all and for each item; the pickle may omit other fields."""
SCALARS = (int, float, complex, bool, str, bytes, type(None), np.generic)
"""Types that can be values, other than objects, of NumPy in a list."""


def from_buffer(
    buffer: Any, dtype: Any, shape: Any, order: Any, axes: Any = None
) -> np.ndarray[Any, Any] | PostponedArray:
    """Replace `numpy._core.numeric._frombuffer`: an array over the bytes of a buffer, which may come later."""
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise wrong("array", dtype, "a dtype without objects")
    check_ints("array: shape", shape)
    if order not in ("C", "F", "K") or (axes is None) is (order == "K"):
        raise FormatError("array: found another order than C, F or K")
    if type(buffer) is Postponed:
        return _postponed(buffer, dtype, shape, order, axes)
    array = np.ndarray(shape, dtype, check_buffer("array", buffer), 0, None, "F" if order == "F" else "C")
    size = memoryview(buffer).nbytes
    if array.nbytes != size or array.shape != shape or (array.size > MAX_EMPTY_ITEMS and not dtype.itemsize):
        raise FormatError(f"array: found {size} bytes, expected {array.nbytes} of {array.size} values")
    return array if axes is None else array.transpose(check_ints("array: axes", axes))


def _postponed(
    buffer: Postponed, dtype: np.dtype[Any], shape: tuple[int, ...], order: str, axes: Any
) -> PostponedArray:
    n = _count(shape, dtype)
    if n * dtype.itemsize != buffer.size:
        raise FormatError(f"array: found {buffer.size} bytes, expected {n * dtype.itemsize} of {n} values")
    every = tuple(range(len(shape)))
    if axes is not None and tuple(sorted(check_ints("array: axes", axes))) != every:
        raise FormatError(f"array: found the axes {axes}, expected each of {len(shape)} once")
    if order == "F":
        return PostponedArray(buffer.number, dtype, shape[::-1], every[::-1])
    return PostponedArray(buffer.number, dtype, shape, every if axes is None else axes)


def reconstruct(kind: Any, shape: Any, typecode: Any) -> Pending:
    """Replace `numpy._core.multiarray._reconstruct(type, (0,), b"b")`; a state follows."""
    if not isinstance(kind, type) or kind not in SUBCLASSES or shape != (0,) or typecode not in (b"b", "b"):
        raise FormatError("array: found other arguments than a type of array and the shape (0,)")
    return Pending(partial(_finish, kind))


def _finish(kind: type[np.ndarray[Any, Any]], state: Any) -> np.ndarray[Any, Any]:
    if type(state) is not tuple or len(state) not in (4, 5):
        raise wrong("array: state", state, "version, shape, dtype, order and values")
    array = in_band(*state[-4:])
    if kind is np.ndarray:
        return array
    if kind is np.matrix and array.ndim != 2:
        raise FormatError(f"matrix: found {array.ndim} dimensions, expected 2")
    return array.view(kind)


def in_band(shape: Any, dtype: Any, is_fortran: Any, values: Any) -> np.ndarray[Any, Any]:
    """Return an array with a copy of its values, which are in the pickle.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        Its byte order is kept. NumPy would change it to the native one.
    is_fortran : bool
        The order of the bytes, and of the array.
    values : bytes or list
        All bytes of the array; or its items, in C order, if they are objects or texts.
    """
    if not isinstance(dtype, np.dtype) or dtype.subdtype is not None:
        raise wrong("array", dtype, "a dtype that is not a subarray")
    order: Any = "F" if is_fortran is True or is_fortran == 1 else "C"
    n = _count(shape, dtype)
    if dtype.hasobject:
        if len(check("array: items", values, list)) != n:
            raise FormatError(f"array: found {len(values)} items, expected {n}")
        if n * dtype.itemsize > ROOM + ROOM_PER_ITEM * n:
            raise FormatError(f"array: found {n} items of {dtype.itemsize} bytes, far more than are in the pickle")
        return _of_items(values, dtype).reshape(shape).copy(order)
    if type(values) not in (bytes, bytearray) or len(values) != n * dtype.itemsize:
        raise wrong("array: values", values, f"{n * dtype.itemsize} bytes")
    return np.ndarray(shape, dtype, bytearray(values), order=order)


def _count(shape: Any, dtype: np.dtype[Any]) -> int:
    n = math.prod(check_ints("array: shape", shape))
    if any(size < 0 for size in shape) or len(shape) > 64:
        raise FormatError("array: found a shape that no array can have")
    if n > MAX_EMPTY_ITEMS and not dtype.itemsize:
        raise FormatError(f"array: found {n} values of no bytes each")
    return n


def _of_items(items: list[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the array of N dimensions with these items, without inspecting objects."""
    if dtype.type is np.object_:
        return np.fromiter(items, object, len(items))
    if dtype.kind == "T":
        absent = type(getattr(dtype, "na_object", ""))
        if not all(type(item) in (str, absent) for item in items):
            raise FormatError("array of texts: found an item of another type")
        return np.array(items, dtype)
    array = np.empty(len(items), dtype)
    for i, item in enumerate(items):
        _check_item(item, dtype)
        array[i] = item
    return array


def _check_item(item: Any, dtype: np.dtype[Any]) -> None:
    """Refuse items that NumPy would have to traverse or convert to make a value of this dtype."""
    if dtype.names is not None:
        if type(item) is not tuple or len(item) != len(dtype.names):
            raise wrong("array: item", item, f"a tuple of {len(dtype.names)}")
        for name, part in zip(dtype.names, item, strict=True):
            _check_item(part, dtype[name])
    elif dtype.subdtype is not None:
        if not isinstance(item, np.ndarray) or item.dtype != dtype.base or item.shape != dtype.shape:
            raise wrong("array: item", item, "an array as the dtype has it")
    elif dtype.kind in "mM":
        if not isinstance(item, (np.generic, int, type(None))) and type(item).__module__ != "datetime":
            raise wrong("array: item", item, "a time")
    elif dtype.kind != "O" and not isinstance(item, SCALARS):
        raise wrong("array: item", item, "a value")


def scalar(dtype: Any, raw: Any = None) -> Any:
    """Replace `numpy._core.multiarray.scalar`."""
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise wrong("scalar", dtype, "a dtype without objects")
    return in_band((), dtype, False, raw)[()]


def masked_reconstruct(kind: Any, base: Any, shape: Any, typecode: Any) -> Pending:
    """Replace `numpy.ma.core._mareconstruct`; a state follows."""
    if kind is not np.ma.MaskedArray or base is not np.ndarray or shape != (0,) or typecode not in (b"b", "b"):
        raise FormatError("masked array: found other arguments than its type and the shape (0,)")
    return Pending(_finish_masked)


def _finish_masked(state: Any) -> np.ma.MaskedArray[Any, Any]:
    if type(state) is not tuple or len(state) != 7:
        raise wrong("masked array: state", state, "version, shape, dtype, order, values, mask and fill value")
    _, shape, dtype, is_fortran, values, mask, fill = state
    data = in_band(shape, dtype, is_fortran, values)
    flags = in_band(shape, np.ma.make_mask_descr(dtype), is_fortran, mask)
    given: Any = fill
    is_array = isinstance(fill, np.ndarray) and fill.ndim == 0 and fill.dtype.hasobject <= dtype.hasobject
    if fill is not None and not (is_array or isinstance(fill, SCALARS)):
        raise wrong("masked array: fill value", fill, "a value")
    return np.ma.MaskedArray(data, flags, fill_value=given)


def masked_array(data: Any, mask: Any) -> np.ma.MaskedArray[Any, Any] | PostponedMasked:
    """Replace `numpy.ma.MaskedArray(data, mask)`, by which a pickle can have both out of band."""
    is_postponed = type(data) is PostponedArray and type(mask) is PostponedArray
    for what, part in (("masked array: data", data), ("masked array: mask", mask)):
        if type(part) is not np.ndarray and not is_postponed:
            raise wrong(what, part, "an array")
    if mask.dtype != np.ma.make_mask_descr(data.dtype) or mask.shape != data.shape:
        raise FormatError(f"masked array: found a mask of {mask.shape}, expected booleans of {data.shape}")
    if is_postponed:
        return PostponedMasked(data, mask)
    return np.ma.MaskedArray(data, mask)


def masked() -> Any:
    """Replace `numpy.ma.core.MaskedConstant`."""
    return np.ma.masked


def characters() -> Any:
    """Return NumPy's class of arrays of characters. Importing it is a warning in NumPy 2.5.

    Raises
    ------
    DriverError
        If NumPy does not have it any more.
    """
    kind = getattr(np.char, "chararray", None)
    if kind is None:
        raise DriverError(
            f"an array of characters needs numpy.char.chararray, which NumPy {np.__version__} does not have"
        )
    SUBCLASSES.add(kind)
    return kind


def both(name: str) -> list[str]:
    """Return the names of an object in NumPy 2 and in NumPy 1."""
    return [f"numpy._core.{name}", f"numpy.core.{name}"]


TABLE: dict[str, AllowedName] = {
    **dict.fromkeys(both("numeric:_frombuffer"), AllowedName(from_buffer)),
    **dict.fromkeys(both("multiarray:_reconstruct"), AllowedName(reconstruct)),
    **dict.fromkeys(both("multiarray:scalar"), AllowedName(scalar)),
    **dict.fromkeys(both("_internal:_convert_to_stringdtype_kwargs"), AllowedName(string_dtype)),
    "numpy:dtype": AllowedName(dtype, np.dtype),
    "numpy:ndarray": AllowedName(value=np.ndarray),
    "numpy:matrix": AllowedName(value=np.matrix),
    "numpy:memmap": AllowedName(value=np.memmap),
    "numpy:record": AllowedName(value=np.record),
    **dict.fromkeys(["numpy.rec:recarray", "numpy:recarray"], AllowedName(value=np.recarray)),
    **dict.fromkeys(["numpy.char:chararray", "numpy:chararray"], AllowedName(fetch=characters)),
    "numpy.ma.core:_mareconstruct": AllowedName(masked_reconstruct),
    **dict.fromkeys(
        ["numpy.ma:MaskedArray", "numpy.ma.core:MaskedArray"], AllowedName(masked_array, np.ma.MaskedArray)
    ),
    "numpy.ma.core:MaskedConstant": AllowedName(masked),
    **{f"numpy:{kind.__name__}": AllowedName(value=kind) for kind in np.sctypeDict.values()},
    **dict.fromkeys(["numpy:bool", "numpy:bool_"], AllowedName(value=np.bool_)),
}
"""Names in pickles of arrays."""


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
"""Keys that are ignored, because they follow from the values."""


def _scipy() -> Any:
    return optional.library("scipy.sparse", "scipy", "a sparse matrix of SciPy")


def make(kind: str, layout: str) -> Pending:
    """Replace a type of `scipy.sparse`; a state follows."""
    return Pending(partial(_finish_sparse, kind, layout))


def _finish_sparse(kind: str, layout: str, state: Any) -> Any:
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
    """Return the offsets of diagonals. SciPy adds them to the shape, unchecked, in 32 bits."""
    offsets = _indices(kind, array)
    if len(shape) != 2 or (offsets.size and not -shape[0] < int(offsets.min()) <= int(offsets.max()) < shape[1]):
        raise FormatError(f"{kind}: found a diagonal that the shape {shape} does not have")
    return offsets


def _check_room(kind: str, parts: dict[str, Any], shape: tuple[int, ...]) -> None:
    """Check a shape before the constructor allocates memory, and pointers, which it does not check if the last is 0."""
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
        raise FormatError(f"{kind}: found a column that is not an integer")
    if not all(isinstance(value, (bool, int, float, complex, np.number, np.bool_)) for value in values):
        raise FormatError(f"{kind}: found a value that is not a number")
    scipy = _scipy()
    compressed = getattr(scipy, kind.replace("lil", "csr"))
    made = compressed(
        (exact_array(values, dtype), np.array(columns, np.int64), np.array(pointers, np.int64)), shape=shape
    )
    made.check_format(full_check=True)
    return made.tolil()


def _rows() -> dict[str, AllowedName]:
    """Return the table: since SciPy 1.8 the modules have an underscore."""
    table: dict[str, AllowedName] = {}
    for layout in NEEDED:
        for kind in (f"{layout}_matrix", f"{layout}_array"):
            known = AllowedName(partial(make, kind, layout))
            table |= dict.fromkeys((f"scipy.sparse._{layout}:{kind}", f"scipy.sparse.{layout}:{kind}"), known)
    return table


TABLE.update(_rows())
"""Names in pickles of sparse matrices."""
