"""Locks that a process which is forked finds free, whoever held them at that moment.

The thread that held one is not there any more. What the lock guards must be whole at any time, or be made anew.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

_locks: weakref.WeakKeyDictionary[Any, tuple[str, Callable[[], Any]]] = weakref.WeakKeyDictionary()


def renew_lock(owner: Any, make: Callable[[], Any], name: str = "_lock") -> None:
    """Give an object a new lock in each process that is forked.

    Parameters
    ----------
    owner
        Anything that can be referred to weakly, with a hash of its identity.
    make : callable
        Makes the lock.
    name : str
        The attribute that holds it.

    Examples
    --------
    >>> import threading
    >>> from ds_format.base.forks import renew_lock
    >>> class Reader:
    ...     def __init__(self):
    ...         self._lock = threading.Lock()
    ...         renew_lock(self, threading.Lock)
    >>> reader = Reader()
    """
    _locks[owner] = name, make


def _renew_locks() -> None:
    for owner, (name, make) in list(_locks.items()):
        setattr(owner, name, make())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
