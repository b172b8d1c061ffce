"""Reading variables elsewhere: what the handles of all formats share, and one for formats without positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import drivers
from ..body import Opened
from ..body.stamp import Stamp, Watch
from ..dtypes import TYPES
from ..errors import DsError, ReplacedError
from ..names import unescape
from ..selection import normalize
from .base import Entries, Handle, Metadata, Origin, check_faults


class Indexed:
    """What NumPy, dask and xarray expect of an array that is read when it is indexed."""

    __slots__ = ()

    @property
    def dtype(self: Handle) -> np.dtype[Any]:
        """Of the arrays that are read; object for text and byte strings."""
        return np.dtype(TYPES[self.type or "float64"].code)

    @property
    def ndim(self: Handle) -> int:
        """Number of dimensions."""
        return len(self.shape or ())

    def __getitem__(self: Handle, index: Any) -> Any:
        return self.read(None if self.shape is None else normalize(index, self.shape))

    def __dask_tokenize__(self: Handle) -> tuple[Any, ...]:
        return self.path, self.key, *self.stamp[:3]


@dataclass(frozen=True)
class FileHandle(Indexed):
    """A variable of a file that is opened for each read, since only its library knows where the values lie.

    Attributes
    ----------
    origin : Origin
    key, shape, type, missing
        See `drivers.base.Handle`.
    """

    origin: Origin
    key: str
    shape: tuple[int, ...] | None
    type: str | None
    missing: bool

    @property
    def path(self) -> str:
        """The file."""
        return self.origin.path

    @property
    def stamp(self) -> Stamp:
        """What tells whether it is still the one that was opened."""
        return self.origin.stamp

    def read(self, index: tuple[Any, ...] | None = None) -> Any:
        """Read the variable or a part of it; see `drivers.base.Handle`."""
        try:
            self._compare()
            try:
                found = self._read(index)
            except Exception:
                self._compare()
                raise
            self._compare()
            return found
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(self.key))

    def _compare(self) -> None:
        try:
            found = Stamp.of_path(self.path)
        except OSError as error:
            raise self.stamp.gone(error, self.path, self.key) from None
        self.stamp.compare(found, self.path)

    def _read(self, index: tuple[Any, ...] | None) -> Any:
        source = drivers.open_source(self.path, drivers.DRIVERS[self.origin.driver], **self.origin.options)
        try:
            if _properties(source.meta, self.key) != (self.shape, self.type):
                raise ReplacedError("the file was changed after it was opened: its metadata differ; open it again")
            return source.read(self.key, index)
        finally:
            source.close()


class Reopened(Opened):
    """A source whose handles open the file again.

    Attributes
    ----------
    origin : Origin
        Set by whoever opens the source.
    watch : Watch
        Likewise, unless the source holds all values in memory.
    """

    origin: Origin
    watch = Watch()
    is_watched_by_path = True
    """False: all values are in memory as soon as the source is open."""
    meta: Metadata
    faults: Mapping[str, Any]

    def handle(self, name: str) -> Handle:
        """Return what reads one variable elsewhere; see `drivers.base.Source`."""
        check_faults(self.faults, [name])
        shape, type_name = _properties(self.meta, name)
        return FileHandle(self.origin, name, shape, type_name, bool(self.meta[name].get(".missing", True)))


def _properties(meta: Entries, key: str) -> tuple[tuple[int, ...] | None, str | None]:
    """Return shape and type of a variable; those that no variable has, if there is none."""
    entry = meta.get(key, {".size": [-1]})
    size = entry.get(".size")
    return None if size is None else tuple(size), entry.get(".type")
