"""What the sinks of all formats have in common; see `ds_format.drivers.base.Sink`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..base.text import unescape
from ..body import Opened, path_text
from ..body.target import Target, naming
from ..errors import DsError, MissingError
from .base import Metadata


class BaseSink(Opened, ABC):
    """Something that takes variables.

    Parameters
    ----------
    path : str, bytes or PathLike
        The name for messages, too.
    meta : Metadata
    """

    def __init__(self, path: Any, meta: Metadata):
        self.path = path_text(path)
        self.meta = meta

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write one variable; see `Sink.write`.

        Raises
        ------
        MissingError
            If the metadata have no such variable.
        UnsupportedError
            If the format cannot hold a value.
        DsError
            If there are more or fewer values than `.size` says.
        """
        if name not in self.meta or name == ".":
            raise MissingError("variable not found in the metadata", path=self.path, variable=unescape(name))
        try:
            self._write(name, blocks)
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))

    @abstractmethod
    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write a variable that the metadata have."""


class FileSink(BaseSink):
    """One file being written; it has its name when it is whole.

    Parameters
    ----------
    path : str, bytes or PathLike
        Behind a link, what the link points to.
    meta : Metadata
    atomic, durable : bool
        As `target.Target`.

    Raises
    ------
    OSError
        If a folder stands there, or anything else that is no file; without `atomic`, if a file does.
    """

    def __init__(self, path: Any, meta: Metadata, *, atomic: bool, durable: bool):
        super().__init__(path, meta)
        self._target = Target(path, atomic=atomic, durable=durable)

    def _create(self) -> int:
        """Create the file, and return a descriptor for reading and writing; see `Target.create`."""
        with naming(self.path):
            return self._target.create()

    def commit(self) -> None:
        """Finish the file, and move it to its name.

        Raises
        ------
        DsError, OSError
            If that fails; what stood under the name is then as it was.
        """
        try:
            with naming(self.path):
                self._finish()
                self._target.commit()
        except DsError as error:
            self.abort()
            raise error.at(path=self.path)
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Leave no trace."""
        try:
            self._close()
        finally:
            self._target.abort()

    @abstractmethod
    def _finish(self) -> None:
        """Write what is left, and close the file."""

    @abstractmethod
    def _close(self) -> None:
        """Close what is open, finished or not; it may be called again."""


def count_payloads(array: Any) -> int:
    """Return how many present values are NaN of other bits than the usual ones, which text cannot tell.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Of any dtype. The sign of a NaN does not count: it has no meaning, and processors make both.
    """
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    if data.dtype.kind != "f":
        return 0
    flags = np.isnan(data)
    found = data[flags if mask is np.ma.nomask else flags & ~mask]
    found = found.astype(found.dtype.newbyteorder("="), copy=False)
    bits = found.view(f"u{found.itemsize}")
    usual = np.array([np.nan], found.dtype).view(bits.dtype)  # 1-d: NumPy 1 shifts no 0-d uint64
    return int(np.count_nonzero(bits << 1 != usual << 1))
