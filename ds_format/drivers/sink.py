"""What the sinks of all formats have in common; see `ds_format.drivers.base.Sink`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ..body import Opened
from ..body.target import Target, naming
from ..errors import DsError, MissingError
from ..names import unescape
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
        self.path = os.fsdecode(path)
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
