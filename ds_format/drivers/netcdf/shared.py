"""Files that are open to be read: each once, however many sources read it.

The library crashes when a netCDF-4 file with strings is closed that it has open twice (Unidata/netcdf4-python#1444).
"""

from __future__ import annotations

import contextlib
import os
import warnings
from dataclasses import dataclass

from ...body.stamp import Stamp
from ...errors import FormatError
from ..library.guard import ERRORS
from ..library.lock import LOCK
from .calls import Group, close_file, library, open_file

Key = tuple[int, Stamp]
"""The process, since what was inherited over a fork stays with those who had it, and the file as it was opened."""


@dataclass(slots=True)
class Shared:
    """A file that is open.

    Attributes
    ----------
    key : tuple of (int, Stamp)
        What tells it from others.
    file : netCDF4.Dataset
    skipped : list of (variable, type)
        See `open_file`.
    users : int
        Sources that read it.
    """

    key: Key
    file: Group
    skipped: list[tuple[str, str]]
    users: int = 0


_open: dict[Key, Shared] = {}


class Lease:
    """A file on behalf of one source. It is closed with the last lease.

    Parameters
    ----------
    path : str
        See `open_file`.
    """

    def __init__(self, path: str):
        self._shared: Shared | None = None
        key = os.getpid(), Stamp.of(os.stat(path))
        with LOCK:
            shared = _open.get(key)
            if shared is None:
                shared = Shared(key, *open_file(path))
                if shared.file.data_model.startswith("NETCDF4"):
                    _open[key] = shared
            shared.users += 1
            self._shared = shared
        self.key, self.file, self.skipped = key, shared.file, shared.skipped

    @property
    def is_open(self) -> bool:
        """Whether it was not given back."""
        return self._shared is not None

    def close(self) -> None:
        """Give it back; the lock is held. Twice is no error."""
        shared, self._shared = self._shared, None
        if shared is None:
            return
        shared.users -= 1
        if not shared.users:
            if _open.get(shared.key) is shared:
                del _open[shared.key]
            close_file(shared.file)

    def drop(self) -> None:
        """Give back what its owner forgot, as soon as nobody is inside of the library."""

        def close() -> None:
            with contextlib.suppress(*ERRORS):
                self.close()

        if self.is_open:
            LOCK.later(close)


def is_netcdf4(path: str) -> bool:
    """Whether the library says that an HDF5 file has the marks of netCDF-4.

    Raises
    ------
    FormatError
        If the library cannot open the file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are given when the file is read
        lease = Lease(path)
    try:
        with library(FormatError, path):
            return bool(lease.file.getncattr("_IsNetcdf4"))
    finally:
        with LOCK:
            lease.close()
