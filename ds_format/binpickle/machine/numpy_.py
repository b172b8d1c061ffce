"""NumPy arrays and scalars, made of checked parts: never by `__setstate__`, which believes its argument.

Sources: `__reduce_ex__` of arrays, masked arrays and scalars in NumPy 1.17 to 2.4.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ...errors import DriverError, FormatError
from ...kernels.pickle.machine import Pending
from . import dtypes
from .known import Known, check, check_buffer, check_ints, wrong
from .postponed import Postponed, PostponedArray, PostponedMasked

SUBCLASSES: set[type[np.ndarray[Any, Any]]] = {np.ndarray, np.matrix, np.recarray, np.memmap}
"""Of arrays, that a pickle may name; `characters` adds the one that NumPy will not have for ever."""
MAX_EMPTY_ITEMS = 1 << 16
"""Items of no bytes each, of which the bytes of an array cannot say how many there may be."""
ROOM, ROOM_PER_ITEM = 1 << 26, 1 << 10
"""Bytes of an array of structures with objects, at least and for each, whose other fields the pickle need not fill."""
SCALARS = (int, float, complex, bool, str, bytes, type(None), np.generic)
"""What may stand for a value of NumPy that is no object, in a list."""


def from_buffer(
    buffer: Any, dtype: Any, shape: Any, order: Any, axes: Any = None
) -> np.ndarray[Any, Any] | PostponedArray:
    """Stand for `numpy._core.numeric._frombuffer`: an array over the bytes of a buffer, which may come later."""
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
    """Stand for `numpy._core.multiarray._reconstruct(type, (0,), b"b")`, which a state follows."""
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
    """Return an array of a copy of its values, which are in the pickle.

    Parameters
    ----------
    shape : tuple of int
        Of any array.
    dtype : numpy.dtype
        Byte order included; it is kept, where NumPy would change it to the native one.
    is_fortran : bool
        The order of the bytes, and of the array.
    values : bytes or list
        All bytes of the array; or its items, in C order, if they are objects or texts.
    """
    if not isinstance(dtype, np.dtype) or dtype.subdtype is not None:
        raise wrong("array", dtype, "a dtype that is no subarray")
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
    """Return the array of N dimensions whose items these are, without a look into those that are objects."""
    if dtype.type is np.object_:
        return np.fromiter(items, object, len(items))
    if isinstance(dtype, np.dtypes.StringDType):
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
    """Refuse what NumPy would have to walk over, or convert, to make a value of this dtype."""
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
    """Stand for `numpy._core.multiarray.scalar`."""
    if not isinstance(dtype, np.dtype) or dtype.hasobject:
        raise wrong("scalar", dtype, "a dtype without objects")
    return in_band((), dtype, False, raw)[()]


def masked_reconstruct(kind: Any, base: Any, shape: Any, typecode: Any) -> Pending:
    """Stand for `numpy.ma.core._mareconstruct`, which a state follows."""
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
    """Stand for `numpy.ma.MaskedArray(data, mask)`, by which a pickle can have both out of band."""
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
    """Stand for `numpy.ma.core.MaskedConstant`."""
    return np.ma.masked


def characters() -> Any:
    """Return NumPy's class of arrays of characters, which NumPy 2.5 warns of when somebody asks for it.

    Raises
    ------
    DriverError
        If NumPy does not have it any more.
    """
    kind = getattr(np.char, "chararray", None)
    if kind is None:
        raise DriverError(f"an array of characters needs numpy.char.chararray, which NumPy {np.__version__} has not")
    SUBCLASSES.add(kind)
    return kind


def both(name: str) -> list[str]:
    """Return the names that something has had in NumPy 2 and in NumPy 1."""
    return [f"numpy._core.{name}", f"numpy.core.{name}"]


TABLE: dict[str, Known] = {
    **dict.fromkeys(both("numeric:_frombuffer"), Known(from_buffer)),
    **dict.fromkeys(both("multiarray:_reconstruct"), Known(reconstruct)),
    **dict.fromkeys(both("multiarray:scalar"), Known(scalar)),
    **dict.fromkeys(both("_internal:_convert_to_stringdtype_kwargs"), Known(dtypes.string_dtype)),
    "numpy:dtype": Known(dtypes.dtype, np.dtype),
    "numpy:ndarray": Known(value=np.ndarray),
    "numpy:matrix": Known(value=np.matrix),
    "numpy:memmap": Known(value=np.memmap),
    "numpy:record": Known(value=np.record),
    **dict.fromkeys(["numpy.rec:recarray", "numpy:recarray"], Known(value=np.recarray)),
    **dict.fromkeys(["numpy.char:chararray", "numpy:chararray"], Known(fetch=characters)),
    "numpy.ma.core:_mareconstruct": Known(masked_reconstruct),
    **dict.fromkeys(["numpy.ma:MaskedArray", "numpy.ma.core:MaskedArray"], Known(masked_array, np.ma.MaskedArray)),
    "numpy.ma.core:MaskedConstant": Known(masked),
    **{f"numpy:{kind.__name__}": Known(value=kind) for kind in np.sctypeDict.values()},
    "numpy:bool_": Known(value=np.bool),
}
"""What pickles of arrays name."""
