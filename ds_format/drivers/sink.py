"""The common part of the sinks of all formats; see `ds_format.drivers.base.Sink`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from ..base.text import unescape
from ..body import Opened, path_text
from ..body.target import Target, naming
from ..errors import DsError, MissingError
from ..model.marks import Marks
from .base import LossWarning, Metadata, warn


class BaseSink(Opened, ABC):
    """Base of all sinks.

    Parameters
    ----------
    path : str, bytes or PathLike
        Path of the file, also used in messages.
    meta : Metadata
    """

    category: ClassVar[type[LossWarning]] = LossWarning
    """Category of the warnings of the format."""

    def __init__(self, path: Any, meta: Metadata):
        self.path = path_text(path)
        self.meta = meta

    def write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write one variable; see `Sink.write`.

        Raises
        ------
        MissingError
            If the metadata do not have this variable.
        UnsupportedError
            If the format does not support a value.
        DsError
            If the number of values is not that of `.size`.
        """
        if name not in self.meta or name == ".":
            raise MissingError("variable not found in the metadata", path=self.path, variable=unescape(name))
        marks = None if self._keeps_marks(name) else Marks.of_type(self.meta[name])
        try:
            self._write(name, blocks if marks is None else marks.over(blocks))
        except DsError as error:
            raise error.at(path=self.path, variable=unescape(name))
        if marks is not None and (told := marks.told()):
            warn(f"{told}: a mask does not tell them apart", self.path, unescape(name), category=self.category)

    def _keeps_marks(self, name: str) -> bool:
        """Return whether the file keeps by which number each missing value of a variable is marked."""
        return False

    @abstractmethod
    def _write(self, name: str, blocks: Iterable[Any]) -> None:
        """Write a variable that is in the metadata."""


class FileSink(BaseSink):
    """A file being written. It gets its final name when it is complete.

    Parameters
    ----------
    path : str, bytes or PathLike
        If it is a link, the target of the link is written.
    meta : Metadata
    atomic, durable : bool
        As for `target.Target`.

    Raises
    ------
    OSError
        If something other than a file has this name; without `atomic`, if a file has it.
    """

    def __init__(self, path: Any, meta: Metadata, *, atomic: bool, durable: bool):
        super().__init__(path, meta)
        self._target = Target(path, atomic=atomic, durable=durable)

    def _create(self) -> int:
        """Create the file, and return a descriptor for reading and writing; see `Target.create`."""
        with naming(self.path):
            return self._target.create()

    def commit(self) -> None:
        """Finish the file, and rename it to its final name.

        Raises
        ------
        DsError, OSError
            If this fails. Then an existing file of this name is unchanged.
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
        """Remove everything that was written."""
        try:
            self._close()
        finally:
            self._target.abort()

    @abstractmethod
    def _finish(self) -> None:
        """Write the remaining data, and close the file."""

    @abstractmethod
    def _close(self) -> None:
        """Close everything that is open, finished or not. It may be called again."""


def count_payloads(array: Any) -> int:
    """Return the number of present NaN values with unusual bits, which text cannot represent.

    Parameters
    ----------
    array : ndarray or MaskedArray
        Array of any dtype. The sign of a NaN is ignored: it has no meaning, and processors produce both.
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
