"""Handles of a file that a library reads, which keep it open between reads.

A library reads all metadata of a file when it opens it, which takes longer than to read a small variable. So a file
that is opened for one handle stays open for all handles of the same source. It is closed when none of these exists any
more, when `close_path` closes it, when many other files were opened since, or when it was modified.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...body.stamp import Stamp
from ...errors import DsError, ReplacedError
from ..base import Origin
from ..handle import FileHandle
from .guard import ERRORS, LOCK

MAX_OPEN = 16
"""Files that are kept open between reads, at most."""


class KeptFile:
    """A file that its handles share. Thread-safe; a copy in another process opens the file there.

    Parameters
    ----------
    origin : Origin

    Attributes
    ----------
    n_readers : int
        Reads that are going on. Guarded by the lock of the libraries.
    """

    def __init__(self, origin: Origin):
        self._origin = origin
        self._source: Any = None
        self._process = 0
        self.n_readers = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptFile, (self._origin,)

    @property
    def path(self) -> Any:
        """Absolute path of the file, or its address."""
        return self._origin.path

    @contextlib.contextmanager
    def source(self) -> Iterator[Any]:
        """Return the open file for a `with` block, in which it is not closed."""
        with LOCK:
            if self._source is None or self._process != os.getpid():
                self.keep(self._origin.reopen(self._origin))
            self.n_readers += 1
            source = self._source
        try:
            yield source
        finally:
            with LOCK:
                self.n_readers -= 1

    def keep(self, source: Any) -> None:
        """Take over the open file."""
        with LOCK:
            self._source, self._process, self.n_readers = source, os.getpid(), 0
            _kept.pop(self, None)
            idle = [file for file in _kept if not file.n_readers]
            for file in idle[: max(len(_kept) + 1 - MAX_OPEN, 0)]:
                file.close()
            _kept[self] = None

    def close(self) -> None:
        """Close the file if nothing is being read; the next read opens it again."""
        with LOCK:
            if not self.n_readers:
                source, self._source = self._source, None
                _kept.pop(self, None)
                if source is not None:
                    source.close()

    def __del__(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            LOCK.later(partial(_close, source))

    def is_former(self, stamp: Stamp) -> bool:
        """Whether this is what a file was before it was modified in place, by the stamp that it has now."""
        own = self._origin.stamp
        return (own.inode, own.device) == (stamp.inode, stamp.device) and own != stamp


def _close(source: Any) -> None:
    """Close a file that is no longer used, whatever happened to it."""
    with contextlib.suppress(*ERRORS, DsError):
        source.close()


_kept: weakref.WeakKeyDictionary[KeptFile, None] = weakref.WeakKeyDictionary()
"""The files that are open, those that were opened last at the end. Guarded by the lock of the libraries."""


def close_path(path: Any) -> None:
    """Close a file, unless a variable is being read. Reading a variable opens it again.

    Parameters
    ----------
    path : str or Address
        As in its `Origin`.
    """
    with LOCK:
        for file in [file for file in _kept if file.path == path]:
            file.close()


def close_former(stamp: Stamp) -> None:
    """Close a file that was modified in place. A library that opens it twice would show the former metadata.

    Parameters
    ----------
    stamp : Stamp
        The stamp that the file has now.
    """
    with LOCK:
        for file in [file for file in _kept if file.is_former(stamp)]:
            file.close()


@dataclass(frozen=True)
class LibraryHandle(FileHandle):
    """A variable of a file that a library reads; see `drivers.base.Handle`.

    Attributes
    ----------
    file : KeptFile
    stored : dtype, optional
        Dtype of values with fields, for which ds has no type.
    """

    file: KeptFile = field(compare=False, repr=False)
    stored: np.dtype[Any] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the arrays that are read; object for text and byte strings."""
        return super().dtype if self.stored is None else self.stored

    def _read(self, index: tuple[Any, ...] | None) -> Any:
        with self.file.source() as source:
            return self._read_opened(source, index)

    def _compare(self) -> None:
        try:
            super()._compare()
        except ReplacedError:
            self.file.close()
            raise
