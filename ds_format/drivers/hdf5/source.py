"""Reading: an HDF5 file as a Source."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ...dtypes import TYPES
from ...errors import DsError, FormatError, UnsupportedError
from ...opened import Opened
from .. import strings
from ..base import BLOCK_SIZE, Metadata, block_slices, check_faults
from ..library import missing
from ..library.extents import read_filled
from ..slabs import Slices, read_part
from .calls import Node, library, open_file, warn
from .catalog import USER_DEFINED, Entry, read_catalog


class HDF5Source(Opened):
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

    meta: Metadata
    faults: Mapping[str, DsError]

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self._path = os.fsdecode(path)
        self._file = open_file(self._path)
        self._opened: tuple[Entry, Node] | None = None
        try:
            with library(FormatError, self._path):
                self.meta, self._entries, self.faults = read_catalog(self._file, self._path, skip_unsupported)
        except BaseException:
            self.close()
            raise

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        FormatError
            If the data are damaged, cut, or not what the marker promises.
        UnsupportedError
            If ds has no such type, or the file needs a filter that is not installed.
        """
        entry = self._entry(name)
        if entry.shape is None:
            return None
        if index is None:
            index = tuple(range(n) for n in entry.shape)
        raw = read_part(lambda slices: self._fetch(entry, slices), entry.shape, index, entry.size, entry.chunk)
        counts = [0] * len(entry.sentinels)
        array = np.asarray(raw) if entry.kind != "octets" else strings.as_objects(raw)[0]
        values = self._decode(entry, array, counts)
        self._warn_of_several(entry, counts)
        if values.ndim == 0 and not isinstance(values, np.ma.MaskedArray):
            return values[()]
        return values

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        entry = self._entry(name)
        if entry.shape is None:
            return
        size = entry.size + strings.OBJECT_SIZE if entry.kind == "fixed" else max(entry.size, _memory_size(entry))
        counts = [0] * len(entry.sentinels)
        left = math.prod(entry.shape)
        for slices in block_slices(entry.shape, size, budget, entry.chunk):
            block = self._decode(entry, self._fetch(entry, slices), counts)
            left -= block.size
            if not left:
                # before the last block: who has counted does not come back
                self._warn_of_several(entry, counts)
            yield block

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._opened = None
        with library(DsError, self._path):
            self._file.close()

    def _entry(self, name: str) -> Entry:
        check_faults(self.faults, [name])
        return self._entries[name]

    def _dataset(self, entry: Entry) -> Node:
        """Return an open dataset; one at a time, so that the library keeps chunks of one alone."""
        opened = self._opened
        if opened is not None and opened[0] is entry:
            return opened[1]
        dataset = h5py.Dataset(h5py.h5d.open(self._file.id, entry.path))
        _check_filters(dataset)
        self._opened = (entry, dataset)
        return dataset

    def _fetch(self, entry: Entry, slices: Slices) -> NDArray[Any]:
        """Return a slab as the file has it: numbers in native order, booleans, byte strings."""
        if entry.length is not None:
            slices = (*slices, slice(0, entry.length))
        with library(FormatError, self._path, entry.name):
            found = _raw(self._dataset(entry), slices, entry.extent)
        if entry.kind == "octets":
            # before something takes a sequence for an array of the variable
            return _joined_octets(found if slices else [found], [s.stop - s.start for s in slices])
        array = np.asarray(found).reshape([s.stop - s.start for s in slices])
        # the library hangs names and encodings on its dtypes
        array = array.astype(np.dtype(array.dtype.str).newbyteorder("="), copy=False)
        return strings.joined(array) if entry.length is not None else array

    def _decode(self, entry: Entry, raw: NDArray[Any], counts: list[int]) -> NDArray[Any]:
        """Return values as ds has them; add to `counts` how many equal each sentinel."""
        if TYPES[entry.type].is_string:
            return self._decode_strings(entry, raw)
        mask, found = missing.count(raw, entry.sentinels)
        counts[:] = [a + b for a, b in zip(counts, found, strict=True)]
        values = self._cast(entry, raw, mask)
        if mask is None:
            return values
        fill_value = entry.sentinels[0] if values.dtype == raw.dtype else None
        return np.ma.MaskedArray(values, mask=mask, fill_value=fill_value)

    def _decode_strings(self, entry: Entry, raw: NDArray[Any]) -> NDArray[Any]:
        values = raw.astype(object)
        if entry.type == "unicode":
            try:
                values = strings.decoded(values)
            except FormatError as error:
                raise error.at(path=self._path, variable=entry.name) from error.__cause__
        if entry.mark is None:
            return values
        mark: Any = entry.mark if entry.type == "unicode" else entry.mark.encode("utf-8", "surrogatepass")
        mask = np.asarray(values == mark, dtype=bool)
        return np.ma.MaskedArray(values, mask=mask) if mask.any() else values

    def _cast(self, entry: Entry, raw: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
        """Return numbers in their ds type, which holds all that are present."""
        dtype = np.dtype(TYPES[entry.type].code)
        if raw.dtype == dtype:
            return raw
        present = raw if mask is None else np.where(mask, 0, raw).astype(raw.dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            values = present.astype(dtype)
            is_same = np.array_equal(values.astype(raw.dtype), present, equal_nan=raw.dtype.kind == "f")
        if not is_same:
            raise FormatError(
                f"found values of type {raw.dtype} that are none of type {entry.type}, which its attributes tell",
                path=self._path,
                variable=entry.name,
            )
        return values

    def _warn_of_several(self, entry: Entry, counts: list[int]) -> None:
        used = [(n, value) for n, value in zip(counts, entry.sentinels, strict=True) if n]
        if len(used) > 1:
            which = ", ".join(f"{n} are {value}" for n, value in used)
            warn(
                f"missing values are marked in {len(used)} ways ({which}): a mask does not tell them apart",
                self._path,
                entry.name,
            )


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


def _memory_size(entry: Entry) -> int:
    return strings.OBJECT_SIZE if TYPES[entry.type].is_string else TYPES[entry.type].size


def _check_filters(dataset: Node) -> None:
    plist = dataset.id.get_create_plist()
    for i in range(plist.get_nfilters()):
        number, _, _, name = plist.get_filter(i)
        if not h5py.h5z.filter_avail(number):
            label = f' "{name.decode(errors="replace")}"' if name else ""
            raise UnsupportedError(
                f"its values went through the filter {number}{label}, which is not installed (see hdf5plugin)"
            )
