"""Forks next to threads that import modules.

A module is loaded with its lock held. A forked process has the lock, but not the thread that holds it: it would wait
forever when it imports this module. So a fork waits until no other thread loads a module that this package may need.
If a thread begins to load one between this wait and the fork, the child loads it again.

A fork does not wait for other modules: a script that is imported may itself wait for the thread that forks.
"""

from __future__ import annotations

import _frozen_importlib
import _thread
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from . import PACKAGE

LIBRARIES = frozenset({
    *("blosc", "cftime", "dask", "deflate", "distributed", "duckdb", "fsspec", "h5py", "isal", "matplotlib"),
    *("mpl_toolkits", "msgpack", "netCDF4", "numcodecs", "numpy", "obstore", "orjson", "pandas", "pyarrow", "pytz"),
    *("rich", "scipy", "torch", "urllib3", "virtualizarr", "xarray", "zarr"),
})
"""Modules that this package imports on demand."""
LOCKS: dict[str, Any] = getattr(_frozen_importlib, "_module_locks", {})
"""The table of Python's import system: module → weak reference to its lock, which exists while it is in use.
Python has no public function that says what is being imported."""
PATIENCE = 10.0
"""Seconds that a fork waits at most: a thread that imports may itself wait for a lock that the fork holds, such as that
of `logging`."""
PAUSE = 0.0005
"""Seconds between two looks."""


def _loading() -> Iterator[str]:
    """Iterate over the modules that other threads load, or are about to, and that this package may need."""
    for name, reference in list(LOCKS.items()):
        own = name.partition(".")[0]
        if own == PACKAGE or own in LIBRARIES or own in sys.stdlib_module_names:
            lock = reference()
            if lock is not None and lock.owner != _thread.get_ident():
                yield name


def _wait() -> None:
    """Wait until no other thread loads a module, before a fork."""
    end = 0.0
    while any(_loading()):
        now = time.monotonic()
        end = end or now + PATIENCE
        if now > end:
            break
        time.sleep(PAUSE)


def _forget() -> None:
    """Forget the modules that a thread of the parent was loading, in the child, so that it loads them itself."""
    for name in list(_loading()):
        LOCKS.pop(name, None)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


def register() -> None:
    """Let all forks of this process wait."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_wait, after_in_child=_forget)
