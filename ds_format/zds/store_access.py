"""Where a store is read, and where it is written: for an archive a folder beside it, which is packed in the end.

What archives need is imported when there is one.
"""

from __future__ import annotations

import os
import shutil

from ..body import Opened
from ..body.lock import Lock
from ..errors import FormatError
from ..kernels.files.names import exists, is_file, is_folder
from . import format
from .faults import Faults
from .roots import Folder, StoreRoot

LOCK_NAME = "lock"


def is_archive(path: str) -> bool:
    """Return whether a path is that of an archive: a file, or if there is nothing, a name that ends in `.zds`."""
    return is_file(path) or (path.endswith(format.SUFFIX) and not is_folder(path))


def open_archive(path: str, *, strict: bool | None = False) -> StoreRoot:
    """Open a store in an archive for reading; as `archive.Archive`."""
    from .archive import Archive

    return Archive(path, strict=strict)


def open_root(path: str, *, strict: bool | None = False) -> StoreRoot:
    """Open a store for reading, in a folder or an archive."""
    return open_archive(path, strict=strict) if is_archive(path) else Folder(path)


def list_collections(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the collections of a store, sorted, without opening any.

    Parameters
    ----------
    path : str or PathLike
        A folder or an archive.

    Raises
    ------
    FileNotFoundError
        If there is nothing.
    FormatError
        If it is no store.

    Examples
    --------
    >>> from ds_format.zds import ZDSStore, list_collections
    >>> with ZDSStore.open("letters", "upper", mode="w") as store, store.collection("lower") as other:
    ...     store.put("A", {}), other.put("a", {})
    (None, None)
    >>> list_collections("letters")
    ['lower', 'upper']
    """
    place = open_store(os.fspath(path), strict=False)
    try:
        return list(filter(format.is_name, place.collections()))
    finally:
        place.close()


def open_store(path: str, *, strict: bool | None) -> StoreRoot:
    """Open a store that is there for reading; as `open_root`.

    Raises
    ------
    OSError
        If the path does not exist, or cannot be looked up.
    FormatError
        If it is no store.
    """
    os.stat(path)
    place = open_root(path, strict=strict)
    if not place.is_store():
        place.close()
        raise FormatError(f"neither {format.COLLECTIONS}/ nor {format.STORE_FILE}: no ZDS store", path=path)
    return place


class WritableStore(Opened):
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
    is_kept : bool
        Whether the work of a writer that was killed is taken up, which is not thrown away.

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
        """What the store is called."""
        return os.path.basename(os.path.realpath(self.path)).removesuffix(format.SUFFIX)

    def _open_archive(self, archive: str, faults: Faults) -> None:
        head, name = os.path.split(archive)
        work = os.path.join(head, f".{name}.work")
        self._lock = Lock(os.path.join(work, LOCK_NAME), archive, in_own_folder=True)
        self._archive = archive
        self.place = Folder(os.path.join(work, "store"))
        self.is_kept = True  # what a writer left, for as long as nothing else is known
        try:
            self.is_kept = is_folder(self.place.path)
            if self.is_kept:
                self.changed = True
                faults.note(archive, "a writer was ended before it packed what it wrote; its work is taken up")
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
                from .archiving import pack

                pack(self.place.path, self._archive, durable=durable)
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise
        self._remove()

    def give_up(self) -> None:
        """Be one user less, who could not begin: an archive stays as it is, and so does work that was taken up."""
        self._n_users -= 1
        if self._n_users == 0 and self._lock is not None:
            if self.is_kept:
                self._lock.release()
            else:
                self._remove()

    def _remove(self) -> None:
        """Remove the folder beside an archive, and let others write."""
        if self._lock is not None:
            shutil.rmtree(self.place.path, ignore_errors=True)
            self._lock.release(remove=True)
