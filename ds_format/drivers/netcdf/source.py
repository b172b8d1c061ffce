"""Reading: a NetCDF file as a Source."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DsError, FormatError, TruncatedError
from ...opened import Opened
from .. import strings
from ..base import BLOCK_SIZE, Metadata, block_slices, check_faults
from ..library import missing
from ..slabs import Slices, read_part
from . import extents
from .caches import fit, release
from .calls import close_file, drop, library, open_file, read_slab, warn
from .catalog import Entry, read_catalog
from .classic import variable_ends

SMALL_CACHE = 64 * 1024
"""Bytes of chunks that are not worth the two calls which give them back before the file is closed."""


class NetCDFSource(Opened):
    """An open NetCDF file; see `ds_format.drivers.base.Source`.

    Values are as the file has them: `scale_factor`, `add_offset`, `_Unsigned` and `valid_range` are attributes and no
    more. Missing are those equal to `_FillValue`, to a `missing_value`, or, without a `_FillValue`, to the default one
    of a pre-filled variable. Under the mask lies the value of the file.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        Leave out variables and attributes of types that ds does not have, with a `NetCDFWarning`.

    Raises
    ------
    OSError
        As `open` would.
    FormatError
        If it is not a NetCDF file, or a damaged one.
    UnsupportedError
        If an attribute is of a type that ds does not have: compound, ragged, opaque. Variables of such types are
        refused when they are read.
    """

    meta: Metadata
    faults: Mapping[str, DsError]

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self._path = os.fsdecode(path)
        self._cached: Entry | None = None
        self._extents: dict[str, extents.Extent] = {}
        self._ends = variable_ends(self._path)
        self._size = os.path.getsize(self._path)
        self._file, skipped = open_file(self._path)
        try:
            with library(FormatError, self._path):
                self.meta, self._entries, self.faults = read_catalog(self._file, self._path, skipped, skip_unsupported)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None and file.isopen():
            drop(file)

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `Source.read`.

        Raises
        ------
        FormatError
            If the data are damaged, cut, or not what the attributes promise.
        """
        entry = self._entry(name)
        if entry.shape is None:
            return None
        self._check_end(entry)
        if index is None:
            index = tuple(range(n) for n in entry.shape)
        raw = read_part(lambda slices: self._fetch(entry, slices), entry.shape, index, entry.size, entry.chunk)
        counts = [0] * len(entry.sentinels)
        values = self._decode(entry, np.asarray(raw), counts)
        self._warn_of_several(entry, counts)
        if values.ndim == 0 and not isinstance(values, np.ma.MaskedArray):
            return values[()]
        return values

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks; see `Source.blocks`."""
        entry = self._entry(name)
        if entry.shape is None:
            return
        self._check_end(entry)
        size = entry.size + strings.OBJECT_SIZE if entry.kind == "char" else entry.size
        counts = [0] * len(entry.sentinels)
        left = math.prod(entry.shape)
        with library(FormatError, self._path, entry.name):
            fit(entry.variable)
        for slices in block_slices(entry.shape, size, budget, entry.chunk):
            block = self._decode(entry, self._fetch(entry, slices), counts)
            left -= block.size
            if not left:
                # before the last block: who has counted does not come back
                self._warn_of_several(entry, counts)
            yield block
        # not in a finally: a generator may be dropped in any thread, also in one that must not wait for the library
        self._release()

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        if self._file.isopen():
            with library(DsError, self._path):
                close_file(self._file)

    def _entry(self, name: str) -> Entry:
        check_faults(self.faults, [name])
        return self._entries[name]

    def _check_end(self, entry: Entry) -> None:
        end = self._ends.get(entry.name, 0)
        if end > self._size:
            message = f"found {self._size} bytes in the file, expected at least {end}"
            raise TruncatedError(message, path=self._path, variable=entry.name)

    def _fetch(self, entry: Entry, slices: Slices) -> NDArray[Any]:
        """Return a slab as the file has it: numbers in native order, byte strings of fixed size, or objects of str."""
        if self._cached is not entry:
            self._release()
            self._cached = entry
        if entry.kind == "char" and entry.variable.ndim:
            slices = (*slices, slice(0, entry.variable.shape[-1]))
        with library(FormatError, self._path, entry.name):
            array = self._fetch_growing(entry, slices) if entry.growing else _raw(entry, slices)
        if entry.kind == "char" and slices:
            return strings.joined(array)
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _fetch_growing(self, entry: Entry, slices: Slices) -> NDArray[Any]:
        """Return a slab of a variable that may be shorter than its dimensions."""

        def fetch(slices: Slices) -> NDArray[Any]:
            return _raw(entry, slices)

        if entry.name not in self._extents:
            self._extents[entry.name] = extents.find(self._path, entry.name, entry.variable, entry.growing, fetch)
        return extents.read(fetch, slices, self._extents[entry.name], entry.growing)

    def _decode(self, entry: Entry, raw: NDArray[Any], counts: list[int]) -> NDArray[Any]:
        """Return values as ds has them; add to `counts` how many equal each sentinel."""
        if entry.kind in ("char", "string"):
            return self._decode_strings(entry, raw)
        mask, found = missing.count(raw, entry.sentinels)
        counts[:] = [a + b for a, b in zip(counts, found, strict=True)]
        values = raw
        if entry.kind == "bool":
            values = self._decode_bools(entry, raw, mask)
        if mask is None:
            return values
        fill_value = entry.sentinels[0] if entry.kind == "number" else None
        return np.ma.MaskedArray(values, mask=mask, fill_value=fill_value)

    def _decode_strings(self, entry: Entry, raw: NDArray[Any]) -> NDArray[Any]:
        values = raw.astype(object)
        if entry.kind == "char" and entry.type == "unicode":
            try:
                values = strings.decoded(values)
            except FormatError as error:
                raise error.at(path=self._path, variable=entry.name) from error.__cause__
        if entry.mark is None:
            return values
        mark: Any = entry.mark if entry.type == "unicode" else entry.mark.encode("utf-8", "surrogatepass")
        mask = np.asarray(values == mark, dtype=bool)
        return np.ma.MaskedArray(values, mask=mask) if mask.any() else values

    def _decode_bools(self, entry: Entry, raw: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
        present = raw if mask is None else np.where(mask, 0, raw)
        wrong = present[(present != 0) & (present != 1)]
        if wrong.size:
            raise FormatError(
                f'found the value {wrong.flat[0]}, expected 0 or 1 (its attribute "dtype" says that it is boolean)',
                path=self._path,
                variable=entry.name,
            )
        return present.astype(bool)

    def _warn_of_several(self, entry: Entry, counts: list[int]) -> None:
        used = [(n, value) for n, value in zip(counts, entry.sentinels, strict=True) if n]
        if len(used) > 1:
            which = ", ".join(f"{n} are {value}" for n, value in used)
            warn(
                f"missing values are marked in {len(used)} ways ({which}): a mask does not tell them apart",
                self._path,
                entry.name,
            )

    def _release(self) -> None:
        """Let the library keep a cache for one variable at a time."""
        entry, self._cached = self._cached, None
        if entry is not None and _cached_size(entry) > SMALL_CACHE and self._file.isopen():
            with library(FormatError, self._path, entry.name):
                release(entry.variable)


def _raw(entry: Entry, slices: Slices) -> NDArray[Any]:
    """Return a slab as the library does, of full rank."""
    raw = read_slab(entry.variable, slices)
    array = np.asarray(raw, dtype=object) if entry.kind == "string" else np.asarray(raw)
    return array.reshape([s.stop - s.start for s in slices])


def _cached_size(entry: Entry) -> int:
    """Return the bytes that all chunks of a variable take in memory."""
    if entry.chunk is None:
        return 0
    return math.prod(-(-n // step) * step for n, step in zip(entry.shape or (), entry.chunk, strict=True)) * entry.size
