"""What is known of a dataset of the library, if it is one of those that can be read without it."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .filters import SHUFFLE, Filter, find

CODES = frozenset({"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"})
"""Numbers, as NumPy kind and item size."""

MIN_CHUNK_SIZE = {False: 256 * 1024, True: 48 * 1024}
"""Bytes of a chunk, by whether it went through a filter, from which on threads gain: each takes some steps in Python,
which no two threads take at once."""

MAX_CHUNK_SIZE = 64 * 1024 * 1024
"""Bytes of a chunk, of which there are several in memory at once. Larger ones are left to the library."""


class Layout(NamedTuple):
    """How values lie in the file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    """In the order of the file."""
    chunk: tuple[int, ...] | None
    """None: values lie in one piece."""
    offset: int | None
    """Of that piece, in bytes; None: nobody wrote one."""
    filters: tuple[Filter, ...]
    fill: NDArray[Any] | None
    """Value of what nobody wrote, without a dimension; None: the library knows."""

    @property
    def chunk_size(self) -> int:
        """Bytes of a chunk in memory."""
        n = self.dtype.itemsize
        for each in self.chunk or ():
            n *= each
        return n


def layout_of(dataset: Any) -> Layout | None:
    """Return how the values of a dataset lie in its file; None if the library shall read them.

    Parameters
    ----------
    dataset : h5py.h5d.DatasetID
    """
    h5py: Any = importlib.import_module("h5py")
    shape = dataset.shape
    dtype = _dtype(h5py, dataset)
    if dtype is None or not shape:
        return None
    properties = dataset.get_create_plist()
    if properties.get_external_count():
        return None
    kind = properties.get_layout()
    chunk: tuple[int, ...] | None = None
    offset: int | None = None
    filters: list[Filter] = []
    if kind == h5py.h5d.CHUNKED:
        chunk = tuple(int(n) for n in properties.get_chunk())
        if _may_be_misplaced(h5py, dataset, chunk):
            return None
        for i in range(properties.get_nfilters()):
            number, _, values, _ = properties.get_filter(i)
            found = find(int(number), tuple(values))
            if found is None or (number == SHUFFLE and i == 0 and found.size != dtype.itemsize):
                return None
            filters.append(found)
    elif kind == h5py.h5d.CONTIGUOUS:
        offset = dataset.get_offset()
    else:
        return None
    found_layout = Layout(
        tuple(int(n) for n in shape), dtype, chunk, offset, tuple(filters), _fill(h5py, properties, dtype)
    )
    least = MIN_CHUNK_SIZE[bool(filters)] if chunk is not None else 0
    return found_layout if least <= found_layout.chunk_size <= MAX_CHUNK_SIZE else None


def _dtype(h5py: Any, dataset: Any) -> np.dtype[Any] | None:
    """Return the dtype of numbers that are as NumPy has them, to the last bit."""
    kind = dataset.get_type()
    if kind.get_class() not in (h5py.h5t.INTEGER, h5py.h5t.FLOAT):
        return None
    try:
        dtype = np.dtype(dataset.dtype.str)
    except TypeError:
        return None
    is_plain = dtype.str[1:] in CODES and kind.equal(h5py.h5t.py_create(dtype))
    return dtype if is_plain else None


def _may_be_misplaced(h5py: Any, dataset: Any, chunk: tuple[int, ...]) -> bool:
    """Return whether the library may say of chunks that they lie where others do.

    It does (HDF5 2.0.0) of those in an extensible array, which files in the latest format have for a single unlimited
    axis: that counts chunks as if this axis was the first, and the library goes through it as if that was not so.
    """
    sizes = dataset.get_space().get_simple_extent_dims(True)
    unlimited = [axis for axis, size in enumerate(sizes) if size == h5py.h5s.UNLIMITED]
    return len(unlimited) == 1 and any(size > n for size, n in zip(sizes[: unlimited[0]], chunk, strict=False))


def _fill(h5py: Any, properties: Any, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Return what the library has where nobody wrote; None where it says nothing, or has what was in memory."""
    if properties.get_fill_time() == h5py.h5d.FILL_TIME_NEVER:
        return None
    if properties.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED:
        return None
    fill = np.zeros((), dtype)
    properties.get_fill_value(fill)
    return fill
