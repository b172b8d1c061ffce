"""Calls of the netCDF4 library and h5py: one lock for both, and errors that name the file.

The netCDF library, and an HDF5 library that it may share with h5py, must not be entered by two threads at once.

- **xarray** also uses netCDF4, and has two locks for it. Once it is loaded, a thread that calls a library here takes
  these locks, too: ours first, then theirs, in their order. Ours is always held, so that a thread that entered before
  xarray was loaded keeps out other threads of this package. Reading and writing values, opening and closing are
  therefore safe next to xarray. xarray accesses metadata without its locks, which is not thread-safe, even without this
  package.
- **h5py** has a lock of its own. If both libraries have an HDF5 library each, as in their wheels, ours is not needed
  in addition. If they share one, the lock of h5py does not keep out netCDF4. So ours is held for both.
- **A fork** waits until no thread is inside, so that the child finds the lock free and the libraries whole.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ...base import signatures
from ...body.target import FolderTarget, Target, naming
from ...errors import DsError, FormatError, TruncatedError, UnsupportedError

XARRAY = "xarray.backends.locks"
H5PY = "h5py._hl.base"
"""Module that is loaded once h5py has registered its handlers of forks."""


class LibraryLock:
    """A lock that a thread may take again while it holds it.

    A function that xarray calls while it holds its locks must not take it, because those locks are not reentrant.
    """

    def __init__(self) -> None:
        self._own = threading.RLock()
        self._depth = 0
        self._theirs: tuple[Any, ...] = ()
        self._actions: deque[Callable[[], None]] = deque()
        self._module: Any = None
        self._combined: tuple[Any, ...] = ()
        self._is_before_h5py = False

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock; if not `blocking`, only if that is possible now, which is returned."""
        if not self._own.acquire(blocking):
            return False
        modules = sys.modules
        if not self._depth and (XARRAY in modules or (H5PY in modules and not self._is_before_h5py)):
            try:
                is_free = self._look_around(blocking)
            except BaseException:
                self._own.release()
                raise
            if not is_free:
                self._own.release()
                return False
        self._depth += 1
        return True

    def release(self) -> None:
        """Give the lock back, as often as it was taken."""
        if self._depth == 1 and (self._theirs or self._actions):
            while self._actions:
                self._actions.popleft()()
            theirs, self._theirs = self._theirs, ()
            _release_all(theirs)
        self._depth -= 1
        self._own.release()

    __enter__ = acquire

    def __exit__(self, *error: object) -> None:
        self.release()

    def later(self, action: Callable[[], None]) -> None:
        """Run an action with the lock held: now if it is free, else in the thread that releases it.

        For finalizers, which Python runs in any thread at any point, and which must not wait.

        Parameters
        ----------
        action : callable
            Raises no error.
        """
        self._actions.append(action)
        if not self._depth and self.acquire(blocking=False):
            self.release()

    def register(self) -> None:
        """Make forks take the lock; register again when h5py is loaded.

        A fork takes the lock of h5py, too. The handler registered last runs first, so both locks are taken in the usual
        order.
        """
        self._is_before_h5py = H5PY in sys.modules
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before_fork, after_in_parent=self.release, after_in_child=self.release)

    def _before_fork(self) -> None:
        """Take the lock, and do not register: of new handlers, this fork would run only those for after the fork."""
        with self._own:
            known, self._is_before_h5py = self._is_before_h5py, True
            try:
                self.acquire()
            finally:
                self._is_before_h5py = known

    def _look_around(self, blocking: bool) -> bool:
        """Do what other users of the libraries require, and return whether all their locks were taken."""
        if not self._is_before_h5py and H5PY in sys.modules:
            self.register()
        theirs = self._of_xarray()
        if not _acquire_all(theirs, blocking):
            return False
        self._theirs = theirs
        return True

    def _of_xarray(self) -> tuple[Any, ...]:
        """Return the locks of xarray, in its order; none if it is not loaded, or not far enough to hold them."""
        module = sys.modules.get(XARRAY)
        if module is not self._module:
            try:
                combined = module.combine_locks([module.NETCDFC_LOCK, module.HDF5_LOCK])  # type: ignore[union-attr]
            except AttributeError:
                return ()
            self._module, self._combined = module, tuple(combined.locks)
        return self._combined


def _acquire_all(locks: tuple[Any, ...], blocking: bool) -> bool:
    """Take all locks, or none."""
    held: list[Any] = []
    try:
        for lock in locks:
            if not lock.acquire(blocking):
                break
            held.append(lock)
    finally:
        if len(held) < len(locks):
            _release_all(held)
    return len(held) == len(locks)


def _release_all(locks: Sequence[Any]) -> None:
    for lock in reversed(locks):
        lock.release()


LOCK = LibraryLock()
LOCK.register()


ERRORS = (RuntimeError, AttributeError, OSError, IndexError, KeyError, TypeError, ValueError, LookupError)
"""Exceptions that the libraries raise for invalid files and data."""

SYSTEM_ERRORS = {
    getattr(errno, name)
    for name in ("EACCES", "EDQUOT", "EFBIG", "EIO", "EMFILE", "ENFILE", "ENOENT", "ENOSPC", "EPERM", "EROFS", "ESTALE")
    if hasattr(errno, name)
}
"""Error numbers of the operating system; for damaged files the libraries invent others."""


PROBE = 4 * 1024 * 1024
"""Bytes that fit onto a disk that is not full."""


class Guard:
    """A block that holds the lock, and turns a library's errors into `error` with file and variable.

    The operating system's own errors stay what they are.

    Parameters
    ----------
    error : type
    path : str
    variable : str, optional
        By its unescaped name.
    """

    # no generator: each call of a library goes through here
    __slots__ = ("error", "path", "variable")

    def __init__(self, error: type[DsError], path: str, variable: str | None = None) -> None:
        self.error = error
        self.path = path
        self.variable = variable

    def __enter__(self) -> None:
        LOCK.acquire()

    def __exit__(self, kind: object, caught: BaseException | None, traceback: object) -> None:
        LOCK.release()
        if isinstance(caught, DsError):
            raise caught.at(path=self.path, variable=self.variable) from caught.__cause__
        if isinstance(caught, ERRORS):
            self._raise(caught)

    def _raise(self, caught: Exception) -> NoReturn:
        if isinstance(caught, OSError) and caught.errno is not None and caught.errno in SYSTEM_ERRORS:
            # their own text has several lines, and the temporary name
            raise OSError(caught.errno, os.strerror(caught.errno), self.path) from caught
        text = _text_of(caught) or type(caught).__name__
        kind = TruncatedError if self.error is FormatError and "truncated file" in text else self.error
        raise kind(text, path=self.path, variable=self.variable) from caught


def _text_of(error: Exception) -> str:
    """Return the message of an error, as a library means it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


@contextmanager
def telling_of_a_full_disk(target: Target | FolderTarget, path: str) -> Iterator[None]:
    """Replace a library's unspecific write error with the error of the operating system.

    Parameters
    ----------
    target : Target or FolderTarget
        The file being written, which is unusable after an error. In a folder, libraries raise the right one.
    path : str
        Its name in messages.
    """
    try:
        yield
    except DsError as error:
        if isinstance(target, Target) and not isinstance(error, OSError | UnsupportedError):
            with naming(path):
                target.ask_for_space(PROBE)
        raise


@contextmanager
def opening(path: str, kind: str) -> Iterator[None]:
    """If a library cannot open a file, raise an error that names the format of its content.

    Parameters
    ----------
    path : str
    kind : str
        The expected format, as part of its name in `signatures`.
    """
    try:
        yield
    except FormatError as error:
        found = signatures.of_file(path)
        if kind in found:
            promised, size = _promised_end(path), os.path.getsize(path)
            if promised is not None and promised > size:  # netCDF4 only says "HDF error"
                cut = f"superblock: found {size} bytes in the file, expected {promised}: perhaps a copy was interrupted"
                raise TruncatedError(cut, path=path) from error
            raise
        message = "the file is empty" if found == "an empty file" else f"no {kind} file, but {found}"
        raise FormatError(message, path=path) from error


def _promised_end(path: str) -> int | None:
    """Return where an HDF5 file ends by its superblock, or None if that does not say so in eight bytes."""
    with open(path, "rb", buffering=0) as file:
        first = file.read(64)
    version, sizes = (first[8], first[9:]) if len(first) == 64 and first.startswith(signatures.HDF5) else (None, b"")
    if version in (2, 3) and sizes[0] == 8:
        return int.from_bytes(first[28:36], "little")
    if version in (0, 1) and first[13] == 8:
        return int.from_bytes(first[40 + 4 * version :][:8], "little")
    return None
