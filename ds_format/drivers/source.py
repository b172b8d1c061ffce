"""The common part of the sources of all formats; see `ds_format.drivers.base.Source`."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..base.text import unescape
from ..body import Opened, path_text
from ..body.stamp import Watch
from ..datasets import META, as_array
from ..errors import DsError, MissingError
from ..model.index import take
from .base import (
    BLOCK_SIZE,
    OBJECT_SIZE,
    Entries,
    Handle,
    LossWarning,
    Metadata,
    Origin,
    block_slices,
    check_faults,
    value_size,
)
from .handle import FileHandle, properties


class BaseSource(Opened, ABC):
    """Base of all sources.

    It refuses variables that do not exist or cannot be read, puts path and variable into errors, and raises a
    ReplacedError if the file was modified while it was read.

    Attributes
    ----------
    path : str
        Path of the file, for messages.
    meta, faults
        See `drivers.base.Source`.
    watch : Watch
        The file as it was when it was opened. Without one, the function that opens the source sets it if the source
        `is_watched_by_path`.
    """

    path: str
    meta: Entries
    faults: Mapping[str, DsError]
    watch = Watch()
    is_watched_by_path = False

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        """Return one variable, or a part of it; see `drivers.base.Source`."""
        with self.watch:
            try:
                self._check(name)
                return self._read(name, index)
            except DsError as error:
                raise error.at(path=self.path, variable=unescape(name))

    def blocks(self, name: str, budget: int = BLOCK_SIZE) -> Iterator[Any]:
        """Iterate over the blocks of one variable; see `drivers.base.Source`."""
        watch, found = self.watch, self._checked_blocks(name, budget)  # closing the source ends neither
        while True:
            with watch:
                try:
                    block = next(found)
                except StopIteration:
                    return
                except DsError as error:
                    raise error.at(path=self.path, variable=unescape(name))
            yield block

    def _checked_blocks(self, name: str, budget: int) -> Iterator[Any]:
        self._check(name)
        yield from self._blocks(name, budget)

    def _check(self, name: str) -> None:
        """Check that there is a variable that can be read.

        Raises
        ------
        MissingError
            If there is no such variable.
        DsError
            The error in `faults`, if it cannot be read.
        """
        if name not in self.meta or name == META:
            raise MissingError("variable not found", path=self.path, variable=unescape(name))
        check_faults(self.faults, [name])

    @abstractmethod
    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        """Return a variable that `_check` lets pass, or a part of it, in the form of `drivers.base.Source.read`.

        `finished` makes this form of an array.
        """

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        """Iterate over the blocks of a variable that `_check` lets pass; by default, each is read as a part."""
        size = self.meta[name].get(".size")
        if size is None:
            return
        for slices in block_slices(size, value_size(self.meta[name].get(".type")), budget):
            yield as_array(self._read(name, tuple(range(part.start, part.stop) for part in slices)))

    @abstractmethod
    def handle(self, name: str) -> Handle:
        """Return a handle that reads one variable elsewhere; see `drivers.base.Source`."""

    @abstractmethod
    def close(self) -> None:
        """Release the file."""


class ReopenedSource(BaseSource):
    """A source whose handles open the file again.

    Attributes
    ----------
    origin : Origin
        Set by the function that opens the source.
    """

    origin: Origin
    meta: Metadata
    is_watched_by_path = True
    """False if the source has a watch of its own, or all values are in memory after opening."""

    def handle(self, name: str) -> Handle:
        """Return a handle that reads one variable elsewhere; see `drivers.base.Source`."""
        check_faults(self.faults, [name])
        shape, type_name = properties(self.meta, name)
        return FileHandle(self.origin, name, shape, type_name, bool(self.meta[name].get(".missing", True)))

    def _leave_out_faults(self) -> None:
        """Leave out variables that cannot be read, each with a warning."""
        for key, fault in self.faults.items():
            warnings.warn(f"{fault}; it is left out", LossWarning, stacklevel=5)
            del self.meta[key]
        self.faults = {}


class ArraySource(ReopenedSource):
    """A source that has whole variables as arrays when one is read."""

    @abstractmethod
    def _array(self, name: str) -> Any:
        """Return a variable, of which parts are copied: an ndarray or MaskedArray, or None if it has no data."""

    def _read(self, name: str, index: tuple[Any, ...] | None) -> Any:
        array = self._array(name)
        if array is None:
            return None
        part = finished(array if index is None else take(array, index))
        return part.copy() if isinstance(part, np.ndarray) else part

    def _blocks(self, name: str, budget: int) -> Iterator[Any]:
        array = self._array(name)
        if array is not None:
            yield from array_blocks(array, budget)


class HeldSource(ArraySource):
    """A source that has all values in memory after opening.

    Attributes
    ----------
    meta : Metadata
        Empty at first, like `arrays`. The function that opens a file fills both.
    arrays : dict
        Key of a variable → ndarray or MaskedArray, or None if it has no data.
    """

    is_watched_by_path = False

    def __init__(self, path: Any):
        self.path = path_text(path)
        self.faults: dict[str, DsError] = {}
        self.meta: Metadata = {}
        self.arrays: dict[str, Any] = {}

    def _array(self, name: str) -> Any:
        if name not in self.arrays:  # the source is closed
            raise MissingError("variable not found")
        return self.arrays[name]

    def close(self) -> None:
        """Release the memory."""
        self.arrays = {}


def finished(values: Any) -> Any:
    """Return an array as `Source.read` does: masked only if a value is missing, and a scalar without dimensions."""
    is_masked = np.ma.is_masked(values)
    if isinstance(values, np.ma.MaskedArray) and not is_masked:
        values = np.ma.getdata(values)
    return values if values.ndim or is_masked else values[()]


def array_blocks(array: Any, budget: int) -> Iterator[Any]:
    """Iterate over the blocks of an array in memory; see `Source.blocks`. They are copies."""
    item_size = OBJECT_SIZE if array.dtype.kind == "O" else array.itemsize
    for slices in block_slices(array.shape, item_size, budget):
        yield array[slices].copy() if slices else array.copy()
