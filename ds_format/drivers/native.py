"""NetCDF and HDF5 files that this package reads itself: the parts that serve classic, netCDF-4 and other HDF5 files.

A kind of file has its codec, which reads a slab of values by the place of a variable. Everything else is the same for
all: values as a Source gives them (`NativeValues`), a variable that travels (`NativeHandle`), and the open file
(`NativeSource`). Nothing is locked. A library opens an HDF5 file as well only if a slab of it is `hdf5.Unusual`.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import math
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import hdf5
from ..base import signatures, threads
from ..base.once import once
from ..base.text import escape
from ..body import Address
from ..body.body import FIRST_SIZE, Body
from ..body.stamp import Stamp, Watch, watched
from ..errors import DsError, FormatError, UnsupportedError, Unusual
from ..kernels.common.finishing import Finisher
from ..model.missing import default_fill
from .base import Origin, ReadBy, check_faults
from .handle import PositionedHandle
from .library.catalog import FileVariable
from .library.source import Reading, read_ahead
from .slabs import Slices, clipped, read_filled, slabs_of
from .source import BaseSource


class NativeValues(Reading):
    """Reads values of a file; any number of threads may do so at once.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    """

    def __init__(self, body: Body):
        self._body = body
        self.path = body.name

    @property
    def body(self) -> Body:
        """The bytes of the file."""
        return self._body

    @abstractmethod
    def _values(self, place: Any, slices: Slices | None, sought: NDArray[Any] | None) -> tuple[NDArray[Any], bool]:
        """Return a slab at a place (None: all of it), and whether one of the values that are sought may be in it.

        Raises
        ------
        TruncatedError
            If the file ends before.
        FormatError
            If the values are damaged.
        """

    def _whole(self, variable: FileVariable, place: Any) -> tuple[NDArray[Any], bool] | None:
        """Return all numbers of a variable, and whether some may be missing; None: reading a slab tells the reason."""
        if variable.shape != place.shape:
            return None
        try:
            return self._values(place, None, variable.sought)
        except (DsError, Unusual):
            return None

    def read_whole(self, variable: FileVariable, place: Any, found: tuple[NDArray[Any], bool] | None = None) -> Any:
        """Return one variable, at a place of which the variable itself need not know; None: it has no data.

        `found` is the result of `_whole` if it was called before.
        """
        if found is None and variable.kind == "number" and variable.shape and not self._body.is_far:
            found = self._whole(variable, place)
        if found is not None:
            return self._finished(variable, *found) if found[1] else found[0]
        if variable.place is not place:
            variable = variable._replace(place=place)
        return super().read_variable(variable, None)

    @abstractmethod
    def read_small(
        self, variables: list[FileVariable], places: Sequence[Any], finishers: list[Finisher | None], masked: bool
    ) -> tuple[list[Any], list[int]]:
        """Read several variables of a file in memory by one call of a kernel.

        Each is at a place. Its finisher says what becomes of its values; None: it is not read here. `masked` is as of
        `Finisher.apply`. Returns the values, and which variables are left to `read_each`.
        """

    def read_each(self, variables: list[FileVariable], places: Sequence[Any]) -> Iterable[Any]:
        """Return several variables, each as `read_whole` does."""
        places = [*places]  # the index of chunks is kept with a place
        if self._body.is_far:
            self.announce(zip(variables, places, repeat(None), strict=False))
        return map(self.read_whole, variables, places)

    def read_variable(self, variable: FileVariable, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or a part of it; see `Reading`."""
        if index is None:
            return self.read_whole(variable, variable.place)
        if self._body.is_far:
            self.announce([(variable, variable.place, index)])
        return super().read_variable(variable, index)

    def announce(self, reads: Iterable[tuple[FileVariable, Any, tuple[Any, ...] | None]]) -> None:
        """Announce what will be read, so that the bytes of all slabs of all variables come together.

        Parameters
        ----------
        reads : iterable of (FileVariable, place, index)
            The index is that of `read_variable`. Errors are left to reading.
        """
        wanted = [(place, slices) for variable, place, index in reads for slices in _slabs_in_file(variable, index)]
        self._prepare([place for place, _ in wanted])
        found = [np.zeros((2, 0), np.int64)]
        for place, slices in wanted:
            with contextlib.suppress(DsError, Unusual):
                found.append(np.array(self._ranges(place, slices)))
        offsets, sizes = np.concatenate(found, axis=1)
        self._body.announce(offsets[sizes > 0], sizes[sizes > 0])

    def _prepare(self, places: list[Any]) -> None:
        """Read what `_ranges` needs, for all places together."""

    def find_index(self, variable: FileVariable) -> None:
        """Find where values of a variable are, for its handles, if this needs no request."""

    @abstractmethod
    def _ranges(self, place: Any, slices: Slices) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return offset and size of each range of bytes that a slab is read from.

        Raises
        ------
        DsError, Unusual
            If only reading can tell.
        """

    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        try:
            return self._values(variable.place, slices, variable.sought)
        except DsError as error:
            raise error.at(path=self.path, variable=variable.name)

    def _slabs(self, variable: FileVariable, every: Iterator[Slices]) -> Iterator[tuple[NDArray[Any], bool]]:
        if self._body.memory is not None:
            return super()._slabs(variable, every)
        # no library is needed: the next slab may be read while this one is written
        return read_ahead(partial(self._slab, variable, slices) for slices in every)

    def scalar(self, place: Any) -> NDArray[Any] | None:
        """Return the value of a variable without dimensions; None if it cannot be read."""
        try:
            return self._values(place, None, None)[0]
        except DsError:
            # reading it raises the reason
            return None


def _slabs_in_file(variable: FileVariable, index: tuple[Any, ...] | None) -> Iterator[Slices]:
    """Iterate over the slabs of a variable that are read, with the dimension of the characters of strings."""
    if variable.shape is None:
        return
    characters = () if variable.length is None else (slice(0, variable.length),)
    if index is None:
        yield (*[slice(0, n) for n in variable.shape], *characters)
        return
    for slices in slabs_of(variable.shape, index, variable.size, variable.chunk):
        yield (*slices, *characters)


MIN_CHUNK = 64 * 1024
"""Bytes of a chunk for which another thread is worth while."""
MAX_CHUNK = 16 * 1024 * 1024
"""Bytes of a chunk that is read while others wait to be used."""


class HDF5Values(NativeValues):
    """Reads values of an HDF5 file; a library reads slabs that are `hdf5.Unusual`.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    """

    library: ClassVar[str]
    """Name of the library."""
    as_text: ClassVar[bool]
    """Whether strings of variable length are read as `str`, not as `bytes`."""

    def __init__(self, body: Body):
        super().__init__(body)
        self._library: Any = None
        self._lock = threading.Lock()

    @abstractmethod
    def _open_by_library(self, path: str) -> Any:
        """Open the file as a `LibrarySource`."""

    def _values(self, place: Any, slices: Slices | None, sought: NDArray[Any] | None) -> tuple[NDArray[Any], bool]:
        return hdf5.values(self._body, place, slices, sought, as_text=self.as_text)

    def read_small(
        self, variables: list[FileVariable], places: Sequence[Any], finishers: list[Finisher | None], masked: bool
    ) -> tuple[list[Any], list[int]]:
        """See `NativeValues`."""
        requests = [
            finisher and (variable.shape_in_file if variable.length is not None else variable.shape or (), finisher)
            for variable, finisher in zip(variables, finishers, strict=True)
        ]
        if self._body.size > FIRST_SIZE:  # threads share large ones
            requests = [
                each if each and place.size < MIN_CHUNK else None for each, place in zip(requests, places, strict=True)
            ]
        return hdf5.small_values(self._body, places, requests, masked)

    def read_each(self, variables: list[FileVariable], places: Sequence[Any]) -> Iterable[Any]:
        """Return several variables. Threads share those that are one chunk each; they share the chunks of others."""
        places = [*places]
        chunks = [
            i
            for i, (variable, place) in enumerate(zip(variables, places, strict=True))
            if variable.kind == "number" and MIN_CHUNK <= place.size <= MAX_CHUNK and place.is_one_chunk
        ]
        if self._body.is_far or len(chunks) < 2:
            return super().read_each(variables, places)
        known: dict[int, tuple[NDArray[Any], bool] | None] = {}

        def read(first: int, last: int) -> None:
            for i in chunks[first:last]:
                known[i] = self._whole(variables[i], places[i])

        threads.each(read, len(chunks), 1)
        return map(self.read_whole, variables, places, map(known.get, range(len(variables))))

    def _fetch_looked(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        try:
            return self._padded(variable, slices)
        except hdf5.Unusual as reason:
            log_reason(self.path, self.library, f'variable "{variable.name}": {reason}')
            refuse_elsewhere(self._body, self.library, f'variable "{variable.name}": {reason}')
            self._check_index(variable)
        except DsError as error:
            raise error.at(path=self.path, variable=variable.name)
        return self._opened_by_library().fetch(escape(variable.name), slices), True

    def _check_index(self, variable: FileVariable) -> None:
        """Check the index of the chunks of a variable before the library reads it."""
        try:
            hdf5.stored_of(self._body, variable.place)
        except hdf5.Unusual:
            return  # the library knows it better
        except DsError as error:
            raise error.at(path=self.path, variable=variable.name)

    def _prepare(self, places: list[Any]) -> None:
        hdf5.load_indexes(self._body, {id(place): place for place in places}.values())

    def find_index(self, variable: FileVariable) -> None:
        """Find where values of a variable are; see `NativeValues`."""
        hdf5.find_index(self._body, variable.place)

    def _ranges(self, place: Any, slices: Slices) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return hdf5.ranges_of(self._body, place, clipped(slices, place.shape))

    def _padded(self, variable: FileVariable, slices: Slices) -> tuple[NDArray[Any], bool]:
        """Return a slab of a variable, with fill values where it is shorter than its dimensions."""
        place: hdf5.DatasetPlace = variable.place
        are_sought = []

        def fetch(part: Slices) -> NDArray[Any]:
            values, may_be_found = self._values(place, part, variable.sought)
            are_sought.append(may_be_found)
            return values

        def fill() -> NDArray[Any]:
            are_sought.append(True)
            return self._padding(place)

        shape = [s.stop - s.start for s in slices]
        if 0 in shape:
            return np.empty(shape, fetch(tuple([slice(0, 0)] * len(shape))).dtype), False
        hdf5.check_size(math.prod(shape) * place.dtype.itemsize, self._body)
        return read_filled(fetch, slices, place.shape, fill), any(are_sought)

    def _padding(self, place: hdf5.DatasetPlace) -> NDArray[Any]:
        """Return the value that a library has beyond the extent of a variable, as an array of one."""
        dtype = place.dtype
        if dtype.kind == "V":
            return np.array(["" if self.as_text else b""], object)
        if place.fill is not None:
            return np.frombuffer(place.fill, dtype.newbyteorder(">" if place.is_big else "<")).astype(dtype)
        return np.array([b"" if dtype.kind == "S" else default_fill(dtype)], dtype)

    def _opened_by_library(self) -> Any:
        with self._lock:
            if self._library is None:
                self._library = self._open_by_library(self.path)
            return self._library

    def close(self) -> None:
        """Close the file if the library opened it."""
        with self._lock:
            library, self._library = self._library, None
        if library is not None:
            library.close()


@dataclass(frozen=True, slots=True)
class NativeHandle(PositionedHandle):
    """A variable of a file; see `drivers.base.Handle`.

    Attributes
    ----------
    variable : FileVariable
        The variable, from the header.
    type : str or None
        Name of the ds type.
    values : type
        The class of `NativeValues` that reads such files.
    known : tuple of (int, bytes)
        See `PositionedHandle`.
    """

    variable: FileVariable
    type: str | None
    values: Callable[[Body], NativeValues]
    known: tuple[tuple[int, bytes], ...] = ()

    @property
    def shape(self) -> tuple[int, ...] | None:
        """None: no data."""
        return self.variable.shape

    @property
    def missing(self) -> bool:
        """Whether values may be missing."""
        return self.variable.may_be_missing

    def _read(self, file: Body, index: tuple[Any, ...] | None) -> Any:
        return self.values(file).read_variable(self.variable, index)


BLOCK_LIMIT = 1024 * 1024
"""Bytes of a block at most, so that the processor's cache holds it until it is written."""


class NativeSource(BaseSource):
    """An open file; see `ds_format.drivers.base.Source`.

    Values are as a library would give them; see `ds_format.drivers.netcdf.source.NetCDFSource` and
    `ds_format.drivers.hdf5.source.HDF5Source`. Nothing is locked: any number of threads may read at once.

    Parameters
    ----------
    values : NativeValues
    body : Body
        The bytes of the file.
    catalog : Catalog
        Metadata and variables.
    """

    origin: Origin
    """Set by the function that opens the source."""
    reader = ReadBy()
    held: int
    """Bytes of the file that are in memory; 0: it is open instead."""

    def __init__(self, values: NativeValues, body: Body, catalog: Any):
        self.path = body.name
        self.watch = body.watch
        self.size = body.size
        self.is_far = body.is_far
        self.held = 0 if body.memory is None else body.size
        self._memory = body.memory
        self.meta = catalog.meta
        self.faults = catalog.faults
        self.variables: Mapping[str, FileVariable] = catalog.variables
        self._values: NativeValues | None = values
        self._kind = type(values)

    @abstractmethod
    def head(self) -> memoryview:
        """Return the first bytes of the file, as many as tell its header from others."""

    @property
    def _opened(self) -> NativeValues:
        """The reader of values."""
        if self._values is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        return self._values

    @property
    def body(self) -> Body:
        """The bytes of the file."""
        return self._opened.body

    def _block_budget(self, name: str, budget: int) -> int:
        """Return the bytes of a block, at most `budget`."""
        return min(budget, BLOCK_LIMIT)

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        """Return one variable, or a part of it; see `BaseSource`.

        Raises
        ------
        FormatError
            If the data are cut, damaged, or not what the attributes promise.
        """
        return self._opened.read_variable(self.variables[name], index)

    @watched
    def announce(self, reads: Mapping[str, tuple[Any, ...] | None]) -> None:
        """Announce what `read` will read, if the file is far, so that the bytes of several variables come together.

        Parameters
        ----------
        reads : dict
            Key of a variable → index. Errors are left to `read`.
        """
        if self.is_far:
            known = {name: index for name, index in reads.items() if name in self.variables}
            places = [(self.variables[name], self.variables[name].place, index) for name, index in known.items()]
            self._opened.announce(places)

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        return self._opened.blocks_of(self.variables[name], self._block_budget(name, budget))

    def handle(self, name: str) -> NativeHandle:
        """Return what reads one variable elsewhere; see `drivers.base.Source`."""
        check_faults(self.faults, [name])
        variable, type_name, size = self.variables[name], self.meta[name][".type"], len(self.head())
        if self.is_far:
            self._opened.find_index(variable)
        return NativeHandle(self._absolute, name, self._stamp, size, variable, type_name, self._kind, self._known)

    @once
    def _known(self) -> tuple[tuple[int, bytes], ...]:
        """The bytes of a remote file that came whole with the first request: a handle needs no request then."""
        path = self._absolute
        is_remote = isinstance(path, Address) and path.is_picklable and not path.is_near
        return ((0, bytes(self._memory)),) if is_remote and self.held else ()

    @once
    def _absolute(self) -> Any:
        return self.origin.path

    @once
    def _stamp(self) -> Stamp:
        """The stamp that shows whether the file was replaced."""
        return NativeHandle.stamp_of(self._absolute, self.watch, self.head())

    def close(self) -> None:
        """Release the file, which is closed when no thread reads it any more. A file in memory stays readable."""
        if not self.held:
            self._values, self.watch = None, Watch()


class HDF5FileSource(NativeSource):
    """An open HDF5 file; see `NativeSource`."""

    def __init__(self, values: HDF5Values, body: Body, catalog: Any):
        super().__init__(values, body, catalog)
        self._head = body.head(FIRST_SIZE)

    def head(self) -> memoryview:
        """Return the first bytes of the file: metadata are anywhere in it."""
        return memoryview(self._head)

    def _block_budget(self, name: str, budget: int) -> int:
        # chunks are read in threads, and once
        return budget if self.variables[name].chunk is not None else super()._block_budget(name, budget)

    @watched
    def check_unread(self) -> None:
        """Compare the checksums of the structures that are not needed to read the file.

        Raises
        ------
        FormatError
            If one is damaged: with its position.
        """
        with contextlib.suppress(Unusual):
            hdf5.check_unread(self._opened.body)

    def written_parts(self, name: str) -> Iterator[tuple[range, ...]] | None:
        """Yield indices of the parts of a variable that were written; None: it takes no less time than to read all.

        Raises
        ------
        FormatError
            If the index of chunks is damaged.
        """
        check_faults(self.faults, [name])
        variable = self.variables[name]
        if variable.shape is None or variable.place is None:
            return None
        try:
            parts = hdf5.written_parts(self._opened.body, variable.place)
        except Unusual:
            return None
        except DsError as error:
            raise error.at(path=self.path, variable=variable.name)
        return parts if parts is None else (part[: len(variable.shape)] for part in parts)


S = TypeVar("S", bound=NativeSource)


def open_native(body: Body, magic: tuple[bytes, ...], make: Callable[[Body], S]) -> S | None:
    """Open a file; None for other formats.

    Parameters
    ----------
    body : Body
        The bytes of the file.
    magic : tuple of bytes
        The first bytes of such files.
    make : callable
        Reads the header, and returns the source.

    Raises
    ------
    FormatError
        If the file is damaged.
    Unusual
        If a library must read it.
    """
    if not body.head(FIRST_SIZE).startswith(magic):
        return None
    try:
        with body.watch:
            return make(body)
    except DsError as error:
        raise error.at(path=body.name)


def refuse_elsewhere(body: Body, library: str, reason: str) -> None:
    """Refuse a file that only a library can read, but not open, since its name is not a path.

    Raises
    ------
    FormatError
        If it has the first bytes of another format.
    UnsupportedError
        Otherwise.
    """
    if not body.is_elsewhere:
        return
    first = bytes(body.head(signatures.N))
    if not first.startswith((signatures.HDF5, *signatures.CLASSIC_NETCDF)):
        raise FormatError(f"not a NetCDF file, but {signatures.describe(first)}", path=body.name)
    message = f"{reason}; only {library} reads such files, and only by a local path"
    raise UnsupportedError(message, path=body.name)


def log_reason(path: str, library: str, reason: str) -> None:
    """Log why a library reads a file, or a part of it: to the logger `ds_format`, at the level debug."""
    # importing it takes as long as reading a hundred small files
    importlib.import_module("logging").getLogger("ds_format").debug("%s: read by %s: %s", path, library, reason)
