"""A variable and its bytes → array, whole or in part."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import TruncatedError
from ..kernels.classic import arrays, slabs
from .format import CODES
from .layout import Variable, end_of

DTYPES = {code: np.dtype(code) for code in CODES[1:]}


def decode(data: Any, variable: Variable) -> NDArray[Any]:
    """Return a whole variable of a file that is in memory.

    Parameters
    ----------
    data : C-contiguous buffer
        All bytes of the file.
    variable : Variable

    Returns
    -------
    ndarray
        In native byte order, a copy.

    Raises
    ------
    TruncatedError
        If the file ends before.
    """
    return decode_seeking(data, variable, None)[0]


def decode_seeking(data: Any, variable: Variable, wanted: NDArray[Any] | None) -> tuple[NDArray[Any], bool]:
    """Return a whole variable, and whether one of some values is in it, in one pass; see `decode`.

    Parameters
    ----------
    data, variable
    wanted : (N,) ndarray or None
        Values of the type of the variable. NaN equals NaN.
    """
    _, _, _, code, shape, begin, step = variable
    try:
        return arrays.decode(data, begin, step, shape, DTYPES[code], wanted)
    except EOFError:
        raise _truncated(memoryview(data).nbytes, variable) from None


def read(fd: int, variable: Variable, slices: tuple[slice, ...]) -> NDArray[Any]:
    """Return a part of a variable of an open file. Other threads run meanwhile.

    Parameters
    ----------
    fd : int
        File descriptor; its position is not used.
    variable : Variable
    slices : tuple of slice
        Of step 1, one per dimension, inside of its shape.

    Returns
    -------
    ndarray
        In native byte order, of full rank.

    Raises
    ------
    OSError
        As the system says.
    TruncatedError
        If the file ends before.
    """
    return read_seeking(fd, variable, slices, None)[0]


def read_seeking(
    fd: int, variable: Variable, slices: tuple[slice, ...], wanted: NDArray[Any] | None
) -> tuple[NDArray[Any], bool]:
    """Return a part of a variable, and whether one of some values is in it, in one pass; see `read`.

    Parameters
    ----------
    fd, variable, slices
    wanted : (N,) ndarray or None
        Values of the type of the variable. NaN equals NaN.
    """
    dtype = DTYPES[variable.code]
    strides = _strides(variable)
    shape = tuple([s.stop - s.start for s in slices])
    if 0 in shape:
        return np.empty(shape, dtype), False
    begin, end = variable.begin, variable.begin + dtype.itemsize
    for part, stride in zip(slices, strides, strict=True):
        begin += part.start * stride
        end += (part.stop - 1) * stride
    size = os.fstat(fd).st_size
    if end > size:
        raise _truncated(size, variable)
    try:
        return slabs.read(fd, begin, shape, strides, dtype, wanted)
    except EOFError:
        raise _truncated(os.fstat(fd).st_size, variable) from None


def _strides(variable: Variable) -> tuple[int, ...]:
    """Return the bytes in the file from one value to the next, along each axis."""
    strides = [int(variable.code[1:])] * len(variable.shape)
    for axis in range(len(strides) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * variable.shape[axis]
    if variable.step:
        strides[0] = variable.step
    return tuple(strides)


def _truncated(found: int, variable: Variable) -> TruncatedError:
    message = f"found {found} bytes in the file, expected at least {end_of(variable)}"
    return TruncatedError(message, variable=variable.name)
