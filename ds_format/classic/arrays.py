"""A variable and the body of its file → array, whole or in part."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..body.body import Body
from ..codec.slab_reading import read_strided, strided_ranges
from ..codec.stored import Stored, StoredChunks
from ..errors import TruncatedError
from ..kernels.classic import arrays
from ..kernels.common.finishing import Finisher
from .format import CODES
from .header import ClassicVariable, end_of

DTYPES = {code: np.dtype(code) for code in CODES[1:]}


def values(
    body: Body,
    variable: ClassicVariable,
    slices: tuple[slice, ...] | None = None,
    sentinels: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], bool]:
    """Return a variable, or a part of it, and whether it may contain one of some values, in one pass.

    This function is thread-safe, and releases the GIL for large variables.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    variable : ClassicVariable
    slices : tuple of slice, optional
        Slices of step 1, one per dimension, within its shape. Default: the whole variable.
    sentinels : (N,) ndarray, optional
        Values to search for, of the dtype of the variable. NaN equals NaN.

    Returns
    -------
    ndarray
        In native byte order, with all dimensions, not a view of the file.
    bool
        False only if no sentinel is in the array. For a part of a file in memory, the whole variable is searched.

    Raises
    ------
    OSError
        If the operating system cannot read the file.
    TruncatedError
        If the file ends before the end of the variable.
    """
    _, _, _, code, shape, begin, step = variable
    dtype = DTYPES[code]
    memory = body.memory
    if memory is not None:
        try:
            whole = arrays.decode(memory, begin, step, shape, dtype, sentinels)
        except EOFError:
            raise _truncated(body.size, variable) from None
        if slices is None:
            return whole
        index: Any = (*slices, ...)  # with `...`, an array of rank 0 stays an array
        return whole[0][index], whole[1]
    if end_of(variable) > body.size:
        raise _truncated(body.size, variable)
    strides = _strides(variable)
    if slices is not None:
        begin, shape = _slab(variable, strides, slices)
    try:
        return read_strided(body, begin, shape, strides, dtype, sentinels, True)
    except EOFError:
        raise _truncated(body.current_size(), variable) from None


def small_values(
    body: Body, variables: list[ClassicVariable], finishers: list[Finisher | None], masked: bool
) -> tuple[list[Any], list[int]]:
    """Read several variables of a file in memory, in one call; see `arrays.decode_each` of the kernels."""
    return arrays.decode_each(body.memory, variables, finishers, DTYPES, masked)


def ranges_of(variable: ClassicVariable, slices: tuple[slice, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return offset and size of each range of bytes that a slab consists of, in the file; as `values`."""
    strides = _strides(variable)
    begin, shape = _slab(variable, strides, slices)
    if 0 in shape:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return strided_ranges(begin, shape, strides, int(variable.code[1:]))


def stored_of(body: Body, variable: ClassicVariable) -> Stored:
    """Return how the values of a variable are stored. Records of several variables are chunks, each a record.

    Raises
    ------
    TruncatedError
        If the file ends before the end of the variable.
    """
    if end_of(variable) > body.size:
        raise _truncated(body.size, variable)
    dtype, shape = DTYPES[variable.code].newbyteorder(">"), variable.shape
    size = dtype.itemsize * math.prod(shape[1:])
    if not variable.step or variable.step == size or 0 in shape:
        return Stored(dtype, shape, variable.begin)
    numbers = np.arange(shape[0], dtype=np.int64)
    offsets = (variable.begin + variable.step * numbers).astype(np.uint64)
    chunks = StoredChunks(numbers, offsets, np.full_like(offsets, size), np.zeros(len(numbers), np.uint32))
    return Stored(dtype, shape, None, (1, *shape[1:]), fill=np.zeros((), dtype), chunks=chunks)


def _slab(
    variable: ClassicVariable, strides: tuple[int, ...], slices: tuple[slice, ...]
) -> tuple[int, tuple[int, ...]]:
    """Return the position of the first value of a slab in the file, in bytes, and the shape of the slab."""
    begin = variable.begin + sum(part.start * stride for part, stride in zip(slices, strides, strict=True))
    return begin, tuple([part.stop - part.start for part in slices])


def _strides(variable: ClassicVariable) -> tuple[int, ...]:
    """Return the distance in bytes, in the file, from one value to the next along each axis."""
    strides = [int(variable.code[1:])] * len(variable.shape)
    for axis in range(len(strides) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * variable.shape[axis]
    if variable.step:
        strides[0] = variable.step
    return tuple(strides)


def _truncated(size: int, variable: ClassicVariable) -> TruncatedError:
    message = f"found {size} bytes in the file, expected at least {end_of(variable)}"
    return TruncatedError(message, variable=variable.name)
