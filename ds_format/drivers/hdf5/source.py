"""Reading: an HDF5 file as a Source."""

from __future__ import annotations

import os
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...errors import DsError, FormatError, UnsupportedError
from ..chunked import Chunks, SlabReader
from ..library import missing
from ..library.catalog import FileVariable
from ..library.guard import Guard
from ..library.source import LibrarySource
from ..slabs import Slices, read_filled
from .catalog import USER_DEFINED, read_catalog
from .format import HDF5Warning, Node, open_file


class HDF5Source(LibrarySource):
    """An open HDF5 file; see `ds_format.drivers.base.Source`.

    Values are as the file has them. Missing are those equal to `_FillValue` or to a `missing_value`, in files of the
    netCDF library those which it pre-fills, and what this package marked. Under the mask lies the value of the file.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out variables of types that ds does not have, with an `HDF5Warning`. Attributes of such types always are.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not an HDF5 file, or a damaged one.
    """

    category = HDF5Warning

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self._path = os.fsdecode(path)
        self._file = open_file(self._path)
        self._opened: tuple[FileVariable, Node] | None = None
        self._chunks: Chunks | None = None
        try:
            with Guard(FormatError, self._path):
                self._take(read_catalog(self._file, self._path, skip_unsupported))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._opened = self._chunks = None
        with Guard(DsError, self._path):
            self._file.close()

    def _dataset(self, variable: FileVariable) -> Node:
        """Return an open dataset; one at a time, so that the library keeps chunks of one alone."""
        opened = self._opened
        if opened is not None and opened[0] is variable:
            return opened[1]
        dataset = h5py.Dataset(h5py.h5d.open(self._file.id, variable.place))
        _check_filters(dataset)
        self._opened = (variable, dataset)
        return dataset

    def _prepare(self, variable: FileVariable, slices: Slices) -> SlabReader | None:
        """Return what reads a slab without the library; see `LibrarySource`."""
        if variable.kind != "number" or not slices:
            return None

        def find() -> Any:
            return h5py.h5d.open(self._file.id, variable.place)

        with Guard(FormatError, self._path, variable.name):
            if self._chunks is None:
                self._chunks = Chunks(self._file, self._path)
            return self._chunks.prepare(variable.place, find, slices, lambda: _fill(h5py.Dataset(find())))

    def _fetch(self, variable: FileVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab; see `LibrarySource`."""
        with Guard(FormatError, self._path, variable.name):
            found = _raw(self._dataset(variable), slices, variable.extent)
        shape = [s.stop - s.start for s in slices]
        if variable.kind == "octets":
            # before something takes a sequence for an array of the variable
            return _joined_octets(found if slices else [found], shape)
        array = np.asarray(found).reshape(shape)
        # the library hangs names and encodings on its dtypes
        return array.astype(np.dtype(array.dtype.str).newbyteorder("="), copy=False)


def _raw(dataset: Node, slices: Slices, extent: tuple[int, ...] | None) -> Any:
    """Return a slab as the library does."""
    if any(s.start >= s.stop for s in slices):
        # an empty slab is none to the library
        return np.empty(0, dataset.dtype)
    if extent is not None:
        return read_filled(lambda part: dataset[part], slices, extent, lambda: _fill(dataset))
    return dataset[slices if slices else ()]


def _fill(dataset: Node) -> NDArray[Any]:
    """Return what netCDF-4 has where a variable is shorter than its dimensions."""
    dtype = dataset.dtype
    fill = dataset.fillvalue if dataset.id.get_create_plist().fill_value_defined() == USER_DEFINED else None
    if dtype.kind == "O":
        return np.array([fill if isinstance(fill, bytes) else b""], dtype=object)
    if fill is None:
        fill = missing.DEFAULT_FILLS.get(dtype.str[1:], 0) if dtype.kind in "fiu" else b""
    return np.array([fill], dtype=dtype)


def _joined_octets(sequences: Any, shape: list[int]) -> NDArray[Any]:
    flat = sequences if isinstance(sequences, list) else sequences.reshape(-1).tolist()
    values = np.empty(len(flat), dtype=object)
    values[:] = [np.asarray(item, "u1").tobytes() for item in flat]
    return values.reshape(shape)


def _check_filters(dataset: Node) -> None:
    plist = dataset.id.get_create_plist()
    for i in range(plist.get_nfilters()):
        number, _, _, name = plist.get_filter(i)
        if not h5py.h5z.filter_avail(number):
            label = f' "{name.decode(errors="replace")}"' if name else ""
            raise UnsupportedError(
                f"its values went through the filter {number}{label}, which is not installed (see hdf5plugin)"
            )
