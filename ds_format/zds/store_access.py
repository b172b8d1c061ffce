"""Opening a store for reading and for writing. An archive is written in a folder next to it, and packed at the end.

The modules for archives are only imported for archives.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any

from ..body import Address, Opened
from ..body.locating import located
from ..body.lock import Lock
from ..errors import FormatError
from ..kernels.files.names import exists, is_file, is_folder
from . import format
from .faults import Faults
from .roots import Archive, Folder, StoreRoot, open_elsewhere

LOCK_NAME = "lock"


def is_archive(path: str) -> bool:
    """Return whether a path is that of an archive: a file, or a name that ends in `.zds` and does not exist."""
    return is_file(path) or (path.endswith(format.SUFFIX) and not is_folder(path))


def open_root(path: str | Address, *, strict: bool | None = False) -> StoreRoot:
    """Open a store for reading, in a folder or an archive; see `roots.Archive`."""
    found = open_elsewhere(path) if isinstance(path, Address) else path
    if isinstance(found, StoreRoot):
        return found
    return Archive(found, strict=strict) if isinstance(found, Address) or is_archive(found) else Folder(found)


def list_collections(
    path: str | os.PathLike[str], *, storage_options: Mapping[str, Any] | None = None, store: Any = None
) -> list[str]:
    """Return the names of the collections of a store, sorted, without opening any.

    Parameters
    ----------
    path : str, PathLike or address
        A folder or an archive.
    storage_options, store
        As of `ds_format.read`.

    Raises
    ------
    FileNotFoundError
        If the path does not exist.
    FormatError
        If it is not a store.

    Examples
    --------
    >>> from ds_format.zds import ZDSStore, list_collections
    >>> with ZDSStore.open("letters", "upper", mode="w") as store, store.collection("lower") as other:
    ...     store.put("A", {}), other.put("a", {})
    (None, None)
    >>> list_collections("letters")
    ['lower', 'upper']
    """
    place = open_store(root_of(path, storage_options, store), strict=False)
    try:
        return list(filter(format.is_name, place.collections()))
    finally:
        place.close()


def root_of(path: Any, storage_options: Mapping[str, Any] | None = None, store: Any = None) -> str | Address:
    """Return the path of a store as text, or its address; parameters and errors as of `body.locating.located`."""
    found = located(path, storage_options, store)
    return found if isinstance(found, Address) else os.fspath(found)


def open_store(path: str | Address, *, strict: bool | None) -> StoreRoot:
    """Open an existing store for reading; as `open_root`.

    Raises
    ------
    OSError
        If the path does not exist, or cannot be looked up.
    FormatError
        If it is not a store.
    """
    if not isinstance(path, Address):
        os.stat(path)
    place = open_root(path, strict=strict)
    if not place.is_store():
        place.close()
        raise FormatError(f"neither {format.COLLECTIONS}/ nor {format.STORE_FILE}: not a ZDS store", path=place.path)
    return place


class WritableStore(Opened):
    """A store opened for writing by one or more collections of this process.

    Parameters
    ----------
    path : str
        A folder or an archive. It may not exist yet.
    faults : Faults

    Attributes
    ----------
    place : Folder
        The folder to write to. For an archive this is in the hidden folder `.NAME.work` next to it. If the process is
        killed, the folder remains, and the next writer continues with it.
    changed : bool
        Whether to pack the archive.
    is_kept : bool
        Whether the folder is from a writer that was killed. Then it is never discarded.

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
        self.is_kept = False
        self.place = Folder(path)
        if is_archive(path):
            self._open_archive(os.path.realpath(path), faults)

    @property
    def name(self) -> str:
        """Default name of the store."""
        return os.path.basename(os.path.realpath(self.path)).removesuffix(format.SUFFIX)

    def _open_archive(self, archive: str, faults: Faults) -> None:
        head, name = os.path.split(archive)
        work = os.path.join(head, f".{name}.work")
        self._lock = Lock(os.path.join(work, LOCK_NAME), archive, in_own_folder=True)
        self._archive = archive
        self.place = Folder(os.path.join(work, "store"))
        self.is_kept = True  # until it is clear that there is no folder of an earlier writer
        try:
            self.is_kept = is_folder(self.place.path)
            if self.is_kept:
                self.changed = True
                faults.note(archive, "a writer ended before it packed its changes; its work is taken up")
            elif exists(archive):
                from .archiving import unpack

                unpack(archive, self.place.path)
            else:
                os.makedirs(self.place.path)
                self.changed = True
        except BaseException:
            self.give_up()
            raise

    def share(self) -> WritableStore:
        """Return this object for one more user."""
        self._n_users += 1
        return self

    def release(self, durable: bool = False) -> None:
        """Remove one user. The last one packs an archive.

        Raises
        ------
        OSError
            If it cannot be packed. Then the folder next to it is kept.
        """
        self._n_users -= 1
        if self._n_users or self._archive is None:
            return
        try:
            if self.changed and self.place.is_store():
                from .archiving import pack

                pack(self.place.path, self._archive, durable=durable)
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise
        self._remove()

    def give_up(self) -> None:
        """Remove one user that could not open its collection. An archive stays unchanged, and so does a kept folder."""
        self._n_users -= 1
        if self._n_users == 0 and self._lock is not None:
            if self.is_kept:
                self._lock.release()
            else:
                self._remove()

    def _remove(self) -> None:
        """Remove the folder next to an archive, and allow other writers."""
        if self._lock is not None:
            shutil.rmtree(self.place.path, ignore_errors=True)
            self._lock.release(remove=True)
