"""Reading: a NetCDF file as a Source."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DsError, FormatError, TruncatedError
from ..base import BLOCK_SIZE
from ..chunked import Reading
from ..library.source import LibrarySource
from ..slabs import Slices
from . import extents
from .caches import fit, release
from .calls import library, read_slab
from .catalog import NetCDFVariable, cast, read_catalog
from .chunks import NetCDFChunks
from .classic.ends import variable_ends
from .library_file import describe, read_scalar, warn_of_types
from .losses import NetCDFWarning
from .shared import Lease

SMALL_CACHE = 64 * 1024
"""Bytes of chunks that are not worth the two calls which give them back before the file is closed."""


class NetCDFSource(LibrarySource[NetCDFVariable]):
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

    category = NetCDFWarning

    def __init__(self, path: Any, *, skip_unsupported: bool = False):
        self._path = os.fsdecode(path)
        self._cached: NetCDFVariable | None = None
        self._extents: dict[str, extents.Extent] = {}
        self._size = os.path.getsize(self._path)
        self._lease = Lease(self._path)
        self._ends: dict[str, int] = {}
        self._chunks = NetCDFChunks(self._path, self._lease.key[1], self._lease.file)
        try:
            if self._lease.file.data_model.startswith("NETCDF3"):
                self._ends = variable_ends(self._path)
            with library(FormatError, self._path):
                described = describe(self._lease.file, self._path, self._lease.skipped, skip_unsupported)
                self._take(read_catalog(described, self._path, skip_unsupported, read_scalar))
                warn_of_types(self._lease.file, self._path)
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        for each in (getattr(self, "_chunks", None), getattr(self, "_lease", None)):
            if each is not None:
                each.drop()

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Yield one variable in blocks, with room for the chunks that these cross; see `Source.blocks`."""
        variable = self._variable(name)
        with library(FormatError, self._path, variable.name):
            fit(variable.place)
        yield from super().blocks(name, budget)
        # not in a finally: a generator may be dropped in any thread, also in one that must not wait for the library
        self._release()

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        if self._lease.is_open:
            with library(DsError, self._path):
                self._chunks.close()
                self._lease.close()

    def _prepare(self, variable: NetCDFVariable, slices: Slices) -> Reading | None:
        """Return what reads a slab without the library; see `LibrarySource`."""
        with library(FormatError, self._path, variable.name):
            return self._chunks.prepare(variable, slices, lambda part: _raw(variable, part))

    def _fetch(self, variable: NetCDFVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab; see `LibrarySource`."""
        self._check_end(variable)
        if self._cached is not variable:
            self._release()
            self._cached = variable
        with library(FormatError, self._path, variable.name):
            array = self._fetch_growing(variable, slices) if variable.growing else _raw(variable, slices)
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _check_end(self, variable: NetCDFVariable) -> None:
        end = self._ends.get(variable.name, 0)
        if end > self._size:
            message = f"found {self._size} bytes in the file, expected at least {end}"
            raise TruncatedError(message, path=self._path, variable=variable.name)

    def _fetch_growing(self, variable: NetCDFVariable, slices: Slices) -> NDArray[Any]:
        """Return a slab of a variable that may be shorter than its dimensions."""

        def fetch(slices: Slices) -> NDArray[Any]:
            return _raw(variable, slices)

        name, axes = variable.name, variable.growing
        if name not in self._extents:
            self._extents[name] = extents.find(self._path, name, variable.place, axes, fetch)
        return extents.read(fetch, slices, self._extents[name], axes)

    def _cast(self, variable: NetCDFVariable, raw: NDArray[Any], mask: NDArray[np.bool_] | None) -> NDArray[Any]:
        """Return numbers as they are, booleans checked; see `LibrarySource`."""
        return cast(variable, raw, mask, self._path)

    def _release(self) -> None:
        """Let the library keep a cache for one variable at a time."""
        variable, self._cached = self._cached, None
        if variable is not None and _cached_size(variable) > SMALL_CACHE and self._lease.is_open:
            with library(FormatError, self._path, variable.name):
                release(variable.place)


def _raw(variable: NetCDFVariable, slices: Slices) -> NDArray[Any]:
    """Return a slab as the library does, of full rank."""
    raw = read_slab(variable.place, slices)
    array = np.asarray(raw, dtype=object) if variable.kind == "string" else np.asarray(raw)
    return array.reshape([s.stop - s.start for s in slices])


def _cached_size(variable: NetCDFVariable) -> int:
    """Return the bytes that all chunks of a variable take in memory."""
    if variable.chunk is None:
        return 0
    axes = zip(variable.shape or (), variable.chunk, strict=True)
    return math.prod(-(-n // step) * step for n, step in axes) * variable.size
