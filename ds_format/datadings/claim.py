"""The exclusive right to write a dataset, and the exchange of its files.

::

    prepare    complete files are written under hidden names; a writer that appends writes the journal first
    commit     the journal is written: from now on the new files count
    exchange   the files get their final names, data before index; the journal is removed

A writer that is killed before the commit has not changed the dataset, and the next writer removes its files. After the
commit, the next writer continues the exchange. With `durable`, each of these steps is flushed to the disk before the
next one begins.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

from ..body import sync_file
from ..body.body import OutputBody
from ..body.lock import Lock
from ..body.target import naming, resolve
from ..kernels.files import files as kernel
from ..kernels.files.names import exists, real_path
from . import dataset_files, format
from .dataset_files import NEW, ORDER, ExchangeJournal, counted_size, hidden_name, new_name, open_current


class _Prepared(NamedTuple):
    """A file that was written under a hidden name."""

    written: str
    final: str
    mode: int | None
    """Permission bits of the file that it replaces; None if there is none."""


class Claim:
    """The exclusive right to write a dataset, until `release`. A `with` block releases it; an error undoes its work.

    It repairs what an earlier writer left unfinished: it finishes an exchange, truncates data that were not committed,
    and removes hidden files.

    Parameters
    ----------
    path : str
        The data file. Missing folders are created.
    durable : bool
        Flush files and folders to the disk.
    keeps_tail : bool
        Keep data that were appended and not committed until `commit`.

    Raises
    ------
    BusyError
        If another process is writing the dataset; the message names the process.
    OSError
        If something other than a file has this name, or the folder cannot be written.
    """

    def __init__(self, path: str, *, durable: bool = False, keeps_tail: bool = False):
        resolve(path)
        self.path = path
        self._durable = durable
        self._parts: dict[str, _Prepared] = {}
        self._tail: int | None = None
        self._unfinished: ExchangeJournal | None = None
        self._has_journal = self._is_committed = False
        self._journal = hidden_name(path, dataset_files.JOURNAL)
        self._new_journal = hidden_name(path, dataset_files.JOURNAL + NEW)
        lock = hidden_name(real_path(path), dataset_files.LOCK)
        with naming(path):
            has_lock = exists(lock)
            self._lock = Lock(lock, path)
        try:
            with naming(path):
                self._repair(has_lock, keeps_tail)
        except BaseException:
            self.release()
            raise

    def _repair(self, has_lock: bool, keeps_tail: bool) -> None:
        """Finish or undo the work of an earlier writer. A lock file that exists already is a sign of one."""
        journal = dataset_files.read_journal(self.path)
        if journal is not None and journal.files:
            parts = [self._part(suffix) for suffix in journal.files]
            self._exchange(journal, [part for part in parts if exists(part.written)])
        elif journal is not None and keeps_tail:
            self._unfinished = journal
        elif journal is not None:
            size = os.stat(self.path).st_size
            _cut(self.path, counted_size(journal, size, functools.partial(open_current, self.path)))
            _remove(self._journal)
        else:
            _remove(self._journal)  # it belongs to other data, or is not from a writer
        if has_lock:
            for suffix in ORDER:
                _remove(new_name(self.path + suffix))
            _remove(self._new_journal)

    def _part(self, suffix: str) -> _Prepared:
        final, mode = resolve(self.path + suffix)
        return _Prepared(hidden_name(final, NEW), final, mode)

    def reserve(self, suffix: str) -> str:
        """Return the name under which to prepare a file. No file has this name."""
        part = self._part(suffix)
        _remove(part.written)
        self._parts[suffix] = part
        return part.written

    def create(self, suffix: str) -> OutputBody:
        """Create the file to prepare. Its permissions are those of the file that it replaces."""
        return OutputBody.create(self.reserve(suffix), self._parts[suffix].mode)

    def prepare(self, suffix: str, data: bytes) -> None:
        """Write a complete file under its hidden name."""
        with naming(self.path + suffix):
            _write(self.create(suffix), data)

    def extend(self, size: int) -> None:
        """Record in the journal that data after this position, in bytes, do not count yet."""
        self._write_journal(ExchangeJournal(size, has_tail=True), [])
        self._tail = size

    def commit(self, size: int, *, has_tail: bool = False, drops: Sequence[str] = ()) -> None:
        """Make the prepared files count, and give them their final names.

        An error that is raised before the first file has its name leaves the dataset unchanged. After an error raised
        later, all new files count, and the next writer continues the exchange.

        Parameters
        ----------
        size : int
            Bytes of the data.
        has_tail : bool
            The data file is longer, and is truncated to `size`.
        drops : sequence of str
            Suffixes of the files to remove.
        """
        files = tuple(suffix for suffix in ORDER if suffix in self._parts)
        parts = [self._parts[suffix] for suffix in files]
        if self._durable and "" not in files:
            sync_file(self.path)
        for part in parts:
            if part.mode is not None:
                os.chmod(part.written, part.mode)
            if self._durable:
                sync_file(part.written)
        new = ExchangeJournal(size, has_tail, files, tuple(drops))
        self._write_journal(new, parts)
        self._is_committed = True
        try:
            self._exchange(new, parts)
        except BaseException:
            self._is_committed = not exists(parts[0].written)
            raise

    def _write_journal(self, new: ExchangeJournal, parts: list[_Prepared]) -> None:
        """Write the journal of these files, atomically."""
        _remove(self._new_journal)
        _write(OutputBody.create(self._new_journal), new.encode())
        if self._durable:
            sync_file(self._new_journal)
            self._sync_folders(parts)  # the files that the journal names must be on the disk before it
        os.replace(self._new_journal, self._journal)
        self._has_journal = True
        if self._durable:
            kernel.sync_folder(self._journal)

    def _exchange(self, new: ExchangeJournal, parts: list[_Prepared]) -> None:
        """Carry out a journal for the files that do not have their final names yet, then remove the journal."""
        for part in parts:
            os.replace(part.written, part.final)
        if new.has_tail:
            _cut(self.path, new.size)
            if self._durable:
                sync_file(self.path)
        for suffix in new.drops:
            _remove(self.path + suffix)
        if self._durable:
            self._sync_folders(parts)
        os.unlink(self._journal)
        if self._durable:
            kernel.sync_folder(self._journal)

    def _sync_folders(self, parts: list[_Prepared]) -> None:
        """Flush the folders of the journal and of these files. They differ if a file is a symbolic link."""
        finals = [self._journal, *(part.final for part in parts)]
        for final in {os.path.dirname(final): final for final in finals}.values():
            kernel.sync_folder(final)

    def undo(self) -> None:
        """Restore the dataset as it was before this claim, unless the commit was reached."""
        if self._is_committed:
            return
        if self._tail is not None:
            _cut(self.path, self._tail)
        if self._has_journal and self._unfinished is not None:
            self._write_journal(self._unfinished, [])
        elif self._has_journal:
            _remove(self._journal)
        for part in self._parts.values():
            with contextlib.suppress(OSError):
                _remove(part.written)
        with contextlib.suppress(OSError):
            _remove(self._new_journal)

    def release(self) -> None:
        """Allow other writers. A process that was forked from the owner only forgets the claim."""
        self._lock.release(remove=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is not None:
                self.undo()
        finally:
            self.release()


def publish(staged: str, path: str, move: Callable[[str, str], object]) -> None:
    """Move a dataset to another name, all files together: if the process is killed, the old or the new dataset remains.

    Parameters
    ----------
    staged : str
        The data file of a closed dataset. Its base name is that of `path`, because the checksums contain it.
    path : str
        The data file to create or to replace.
    move : callable
        Moves a file to another path, as `os.replace`.

    Raises
    ------
    BusyError
        If another process is writing the dataset.
    OSError
        If a file cannot be moved.
    """
    size = os.stat(staged).st_size
    with Claim(path) as claim:
        for suffix in ORDER:
            if exists(staged + suffix):
                move(staged + suffix, claim.reserve(suffix))
        claim.commit(size, drops=(format.LEGACY_INDEX,))


def _write(file: OutputBody, data: bytes) -> None:
    """Fill a new file, and close it."""
    try:
        file.write(0, data)
    finally:
        file.close()


def _cut(path: str, size: int) -> None:
    """Truncate a file that is longer than `size` bytes."""
    if os.stat(path).st_size > size:
        os.truncate(path, size)


def _remove(path: str) -> None:
    """Remove a file, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
