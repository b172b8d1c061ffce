"""The one lock for the netCDF4 library and h5py, which is also held against xarray, and over a fork.

The netCDF library, and an HDF5 library that it may share with h5py, must not be entered by two threads at once.

- **xarray** is another user of netCDF4, and has two locks for it. Once it is loaded, whoever enters here holds them
  too: ours first, then theirs, in their order. Ours is always held, so that a thread that is inside without theirs,
  since there were none when it entered, keeps out all others of ours. So reading and writing values, opening and
  closing are safe beside xarray. What xarray does without its locks, that is with metadata, is as unsafe as in two
  threads of xarray alone.
- **h5py** has a lock of its own. Where both libraries bring an HDF5 library each, as their wheels do, ours is not
  needed beside it; where both are built on one, that lock does not keep out netCDF4. So ours is held for both.
- **A fork** waits until nobody is inside, so that the child finds the lock free and the libraries whole.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

XARRAY = "xarray.backends.locks"
H5PY = "h5py._hl.base"
"""Is there once h5py has registered what it does when the process forks."""


class LibraryLock:
    """A lock that a thread may take again while it holds it.

    What xarray calls while it holds its locks cannot take it, since those can be taken once.
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
        """Have something done with the lock held: now if it is free, else by the thread that gives it back.

        For finalizers, which Python runs in any thread at any place, and which must not wait there.

        Parameters
        ----------
        action : callable
            Raises no error.
        """
        self._actions.append(action)
        if not self._depth and self.acquire(blocking=False):
            self.release()

    def register(self) -> None:
        """Have forks take the lock; once more as soon as h5py is there.

        A fork takes the lock of h5py, too, and who registers last comes first: so they are taken in the order in which
        all others take them.
        """
        self._is_before_h5py = H5PY in sys.modules
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before_fork, after_in_parent=self.release, after_in_child=self.release)

    def _before_fork(self) -> None:
        """Take the lock, and do not register: what is to be done after this fork would be, what comes before it not."""
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
