"""The right to write a dataset, which one writer has at a time, and the exchange of its files.

::

    prepare    files are written whole under hidden names; a writer that appends first says so in the journal
    commit     the journal is put there: from now on the new files count
    exchange   they get their names, data before index; the journal goes

A writer that is killed before the commit has changed nothing that counts, and the next one removes what it left. After
the commit, the next one goes on with the exchange. If all is to outlast a loss of power, each line is on the disk
before the next one begins.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..body import sync_file
from ..body.body import OutputBody
from ..body.lock import Lock
from ..body.target import naming, resolve
from ..kernels.files import files as kernel
from ..kernels.files.names import exists, real_path
from . import dataset_files, format, index_files
from .dataset_files import NEW, ORDER, ExchangeJournal, hidden_name, load_if, new_name


class _Prepared(NamedTuple):
    """A file that is prepared."""

    written: str
    final: str
    mode: int | None
    """Permission bits of the file that it replaces; None: there is none."""


class Claim:
    """A dataset that nobody else writes until `release`.

    What an earlier writer left is put right: an exchange is finished, data that were not committed are cut off, hidden
    files are removed.

    Parameters
    ----------
    path : str
        The data file. Missing folders are made.
    durable : bool
        Flush files and folders to the disk.
    keeps_tail : bool
        Leave data that were appended and not committed as they are, until `commit`.

    Raises
    ------
    BusyError
        If somebody else writes it; it names the process.
    OSError
        If something stands there that is not a file, or the folder cannot be written.
    """

    def __init__(self, path: str, *, durable: bool = False, keeps_tail: bool = False):
        resolve(path)
        self.path = path
        self._durable = durable
        self._parts: dict[str, _Prepared] = {}
        self._tail: int | None = None
        self._left: ExchangeJournal | None = None
        self._is_told = self._is_committed = False
        self._journal = hidden_name(path, dataset_files.JOURNAL)
        self._new_journal = hidden_name(path, dataset_files.JOURNAL + NEW)
        lock = hidden_name(real_path(path), dataset_files.LOCK)
        with naming(path):
            was_left = exists(lock)
            self._lock = Lock(lock, path)
        try:
            with naming(path):
                self._put_right(was_left, keeps_tail)
        except BaseException:
            self.release()
            raise

    def _put_right(self, was_left: bool, keeps_tail: bool) -> None:
        """Finish what an earlier writer left; it left its lock, too."""
        found = dataset_files.read_journal(self.path)
        if found is not None and found.files:
            parts = [self._part(suffix) for suffix in found.files]
            self._exchange(found, [part for part in parts if exists(part.written)])
        elif found is not None and keeps_tail:
            self._left = found
        elif found is not None:
            index = load_if(self.path + format.OFFSETS)
            if index is None or index_files.last_offset(index) == found.size:
                _cut(self.path, found.size)
            _remove(self._journal)
        else:
            _remove(self._journal)  # of other data, or of no writer
        if was_left:
            for suffix in ORDER:
                _remove(new_name(self.path + suffix))
            _remove(self._new_journal)

    def _part(self, suffix: str) -> _Prepared:
        final, mode = resolve(self.path + suffix)
        return _Prepared(hidden_name(final, NEW), final, mode)

    def reserve(self, suffix: str) -> str:
        """Return the name under which a file is to be prepared, at which nothing stands."""
        part = self._part(suffix)
        _remove(part.written)
        self._parts[suffix] = part
        return part.written

    def create(self, suffix: str) -> OutputBody:
        """Create the file to be prepared; users who cannot read the one that it replaces cannot read it."""
        return OutputBody.create(self.reserve(suffix), self._parts[suffix].mode)

    def prepare(self, suffix: str, data: bytes) -> None:
        """Write a whole file under its hidden name."""
        with naming(self.path + suffix):
            _write(self.create(suffix), data)

    def extend(self, size: int) -> None:
        """Say that the data go on behind this place, in bytes, and that nothing of it counts yet."""
        self._tell(ExchangeJournal(size, has_tail=True), [])
        self._tail = size

    def commit(self, size: int, *, has_tail: bool = False, drops: Sequence[str] = ()) -> None:
        """Let the files that were prepared count, and give them their names.

        If an error is raised before the first one has its name, nothing counts but what did before. After that all that
        is new counts, and the next writer goes on.

        Parameters
        ----------
        size : int
            Bytes of the data.
        has_tail : bool
            The data go on behind, and are cut off there.
        drops : sequence of str
            Suffixes of the files that are removed.
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
        self._tell(new, parts)
        self._is_committed = True
        try:
            self._exchange(new, parts)
        except BaseException:
            self._is_committed = not exists(parts[0].written)
            raise

    def _tell(self, new: ExchangeJournal, parts: list[_Prepared]) -> None:
        """Put a journal of these files there."""
        _remove(self._new_journal)
        _write(OutputBody.create(self._new_journal), new.encode())
        if self._durable:
            sync_file(self._new_journal)
            self._sync_folders(parts)  # what it names is there before it
        os.replace(self._new_journal, self._journal)
        self._is_told = True
        if self._durable:
            kernel.sync_folder(self._journal)

    def _exchange(self, new: ExchangeJournal, parts: list[_Prepared]) -> None:
        """Do what a journal says with the files that do not have their names yet, and remove it."""
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
        """Flush the folders of these files, which differ where they are links, and of the journal."""
        finals = [self._journal, *(part.final for part in parts)]
        for final in {os.path.dirname(final): final for final in finals}.values():
            kernel.sync_folder(final)

    def undo(self) -> None:
        """Leave the dataset as it was before this claim, unless the commit was reached."""
        if self._is_committed:
            return
        if self._tail is not None:
            _cut(self.path, self._tail)
        if self._is_told and self._left is not None:
            self._tell(self._left, [])
        elif self._is_told:
            _remove(self._journal)
        for part in self._parts.values():
            with contextlib.suppress(OSError):
                _remove(part.written)
        with contextlib.suppress(OSError):
            _remove(self._new_journal)

    def release(self) -> None:
        """Let others write. In a process that was forked from the owner, only forget the claim."""
        self._lock.release(remove=True)


def publish(staged: str, path: str, move: Callable[[str, str], object]) -> None:
    """Move a dataset to another name, all its files at once: a program that is killed leaves the old or the new one.

    Parameters
    ----------
    staged : str
        The data file of a closed dataset. Its base name is that of `path`, since checksums include it.
    path : str
        The data file to make or to replace.
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
    claim = Claim(path)
    try:
        for suffix in ORDER:
            if exists(staged + suffix):
                move(staged + suffix, claim.reserve(suffix))
        claim.commit(size, drops=(format.LEGACY_INDEX,))
    except BaseException:
        claim.undo()
        raise
    finally:
        claim.release()


def _write(file: OutputBody, data: bytes) -> None:
    """Fill a new file, and close it."""
    try:
        file.write(0, data)
    finally:
        file.close()


def _cut(path: str, size: int) -> None:
    """Cut a file off that is longer."""
    if os.stat(path).st_size > size:
        os.truncate(path, size)


def _remove(path: str) -> None:
    """Remove a file, if there is one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
