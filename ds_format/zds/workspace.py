"""Where a store is read, and where it is written: for an archive a folder beside it, which is packed in the end.

What archives need is imported when there is one.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
from typing import Any

from ..kernels import files
from ..kernels.presence import exists, is_file, is_folder
from ..lock import Lock
from . import format
from .faults import Faults
from .places import Folder, Place

LOCK_NAME = "lock"


def is_archive(path: str) -> bool:
    """Return whether a path is that of an archive: a file, or if there is nothing, a name that ends in `.zds`."""
    return is_file(path) or (path.endswith(format.SUFFIX) and not is_folder(path))


def open_archive(path: str, *, strict: bool | None = False) -> Place:
    """Open a store in an archive for reading; as `archives.archive.Archive`."""
    place: Place = _archives("archive").Archive(path, strict=strict)
    return place


def open_place(path: str, *, strict: bool | None = False) -> Place:
    """Open a store for reading, in a folder or an archive."""
    return open_archive(path, strict=strict) if is_archive(path) else Folder(path)


def _archives(name: str) -> Any:
    return importlib.import_module(f".archives.{name}", __package__)


def sync(path: str) -> None:
    """Flush a file and its folder to the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    files.sync_folder(path)


class Workspace:
    """A store that is being written to, by one or more collections of this process.

    Parameters
    ----------
    path : str
        A folder or an archive. It need not exist.
    faults : Faults

    Attributes
    ----------
    place : Folder
        What is written to. For an archive it is in the hidden folder `.NAME.work` beside it, which outlives a process
        that is killed: the next one that writes goes on with it.
    changed : bool
        Whether an archive is to be packed.

    Raises
    ------
    BusyError
        If another process writes to the archive.
    """

    def __init__(self, path: str, faults: Faults):
        self.path = path
        self.changed = False
        self._n_users = 1
        self._archive: str | None = None
        self._lock: Lock | None = None
        self.place = Folder(path)
        if is_archive(path):
            self._open_archive(os.path.realpath(path), faults)

    @property
    def name(self) -> str:
        """What the store is called."""
        return os.path.basename(os.path.realpath(self.path)).removesuffix(format.SUFFIX)

    def _open_archive(self, archive: str, faults: Faults) -> None:
        head, name = os.path.split(archive)
        work = os.path.join(head, f".{name}.work")
        self._lock = Lock(os.path.join(work, LOCK_NAME), archive)
        self._archive = archive
        self.place = Folder(os.path.join(work, "store"))
        is_kept = True  # what a writer left, for as long as nothing else is known
        try:
            is_kept = is_folder(self.place.path)
            if is_kept:
                faults.tell(archive, "a writer was ended before it packed what it wrote; its work is taken up")
                self.changed = True
            elif exists(archive):
                _archives("packing").unpack(archive, self.place.path)
            else:
                os.makedirs(self.place.path)
                self.changed = True
        except BaseException:
            if is_kept:
                self._lock.release()
            else:
                self._remove()
            raise

    def share(self) -> Workspace:
        """Return it, for one more user."""
        self._n_users += 1
        return self

    def release(self, durable: bool = False) -> None:
        """Be one user less; the last one packs an archive.

        Raises
        ------
        OSError
            If it cannot be packed; then all is kept in the folder beside it.
        """
        self._n_users -= 1
        if self._n_users or self._archive is None:
            return
        try:
            if self.changed and self.place.is_store():
                _archives("packing").pack(self.place.path, self._archive)
                if durable:
                    sync(self._archive)
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise
        self._remove()

    def _remove(self) -> None:
        """Remove the folder beside an archive, and let others write."""
        if self._lock is not None:
            shutil.rmtree(self.place.path, ignore_errors=True)
            self._lock.release(remove=True)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(self.place.path))
