"""The one door to the netCDF4 library: its lock, its errors, its way with paths, its caches.

A file is opened once, however many sources read it: the library crashes when a netCDF-4 file with strings is closed
that it has open twice (Unidata/netcdf4-python#1444).
"""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import netCDF4
import numpy as np

from ...body.stamp import Stamp
from ...errors import DsError, FormatError, UnsupportedError
from ..library import guard
from ..library.guard import ERRORS, LOCK
from ..library.kept import close_former
from .format import warn

Group = Any
"""A netCDF4.Dataset or netCDF4.Group; the library's own types are too loose to be of use."""
Variable = Any
"""A netCDF4.Variable."""

KIND = "NetCDF"
PATH_ENCODING = "latin-1"
"""One character per byte, so that names which are not UTF-8 reach the library too."""


def open_file(path: str) -> tuple[Group, list[tuple[str, str]]]:
    """Open a file to read raw values.

    Parameters
    ----------
    path : str
        Path of a file that can be opened; the library misreports errors of the operating system.

    Returns
    -------
    file : netCDF4.Dataset
    skipped : list of (variable, type)
        Variables that the library itself leaves out because it does not know their type.

    Raises
    ------
    FormatError
        If it is not a NetCDF file, or a damaged one.
    """
    with guard.opening(path, KIND), guard.Guard(FormatError, path), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        file = netCDF4.Dataset(_library_path(path), encoding=PATH_ENCODING)
    try:
        with guard.Guard(FormatError, path):
            file.set_auto_maskandscale(False)
            file.set_auto_chartostring(False)
        skipped = []
        for message in (str(warning.message) for warning in caught):
            found = _skipped(message)
            if not found:
                warn(message, path)
            skipped += found
    except BaseException:
        drop(file)
        raise
    return file, skipped


class _File(netCDF4.Dataset):
    """A file in which variables and attributes can be defined together.

    The library ends its define mode after each of them, and this writes all metadata of a file of the classic model.
    """

    def _redef(self) -> None:
        if id(self) not in _in_define_mode:
            super()._redef()  # type: ignore[misc]

    def _enddef(self) -> None:
        if id(self) not in _in_define_mode:
            super()._enddef()  # type: ignore[misc]


_in_define_mode: set[int] = set()


@contextlib.contextmanager
def defining(file: Group) -> Iterator[None]:
    """Define variables together; the lock is held. A block in another one changes nothing."""
    if file.data_model == "NETCDF4" or id(file) in _in_define_mode:
        yield
        return
    file._redef()  # noqa: SLF001
    _in_define_mode.add(id(file))
    try:
        yield
    finally:
        _in_define_mode.discard(id(file))
    file._enddef()  # noqa: SLF001


def create_file(path: str, format: str, target: str) -> Group:
    """Create a file.

    Parameters
    ----------
    path : str
    format : str
    target : str
        The name for messages.
    """
    with guard.Guard(DsError, target):
        return _File(_library_path(path), "w", format=cast("Any", format), encoding=PATH_ENCODING)


def close_file(file: Group) -> None:
    """Close a file once. If this fails, the library would try again when Python drops the object, and crash."""
    try:
        file.close()
    except BaseException:
        cast("Any", netCDF4.Dataset)._isopen.__set__(file, 0)  # noqa: SLF001 - setattr would make an attribute in the file
        raise


def drop(file: Group) -> None:
    """Close a file that its owner forgot to close.

    The library would do it when Python finds it unused, which may be in any thread while another one is inside.
    """

    def close() -> None:
        with contextlib.suppress(*guard.ERRORS):
            if file.isopen():
                close_file(file)

    LOCK.later(close)


def _library_path(path: str) -> str:
    absolute = os.path.abspath(path)
    if os.sep == "/" and "\\" in absolute:
        raise UnsupportedError("the netCDF library takes a backslash in a path for a separator")
    return os.fsencode(absolute).decode(PATH_ENCODING)


def _skipped(message: str) -> list[tuple[str, str]]:
    """Understand `WARNING: variable 'x' has unsupported compound datatype, skipping ..`."""
    head, found, tail = message.rpartition("' has unsupported ")
    _, found, name = head.partition("variable '") if found else ("", "", "")
    return [(name, tail.partition("datatype")[0].strip() or "opaque")] if found else []


MAX_CACHE_SIZE = 32 * 1024 * 1024
"""Bytes of one cache at most; the library's own default may be more."""


def fit_cache(variable: Variable) -> None:
    """Make the cache large enough for all chunks that one position of the first dimension crosses.

    Blocks that are shorter than a chunk visit each chunk several times. Without the cache, each visit would decompress
    or compress it again.
    """
    chunks = variable.chunking()
    if isinstance(chunks, list) and chunks and variable.dtype is not str and not _is_renamed(variable):
        row = chunks[0] * math.prod(variable.shape[1:]) * np.dtype(variable.dtype).itemsize
        _, slots, preemption = variable.get_var_chunk_cache()
        variable.set_var_chunk_cache(min(row, MAX_CACHE_SIZE), slots, preemption)


def release_cache(variable: Variable) -> None:
    """Give back the memory of the cache."""
    if isinstance(variable.chunking(), list) and not _is_renamed(variable):
        size, slots, preemption = variable.get_var_chunk_cache()
        variable.set_var_chunk_cache(0, slots, preemption)
        variable.set_var_chunk_cache(size, slots, preemption)


def _is_renamed(variable: Variable) -> bool:
    """Return whether the library stores a variable under another name, because another dimension has its name.

    To change a cache, the library opens the variable again. A bug in netCDF-C 4.9 makes it open that dimension instead.
    """
    return variable.name in variable.group().dimensions and variable.dimensions[:1] != (variable.name,)


Key = tuple[int, Stamp]
"""The process, since what was inherited over a fork stays with those who had it, and the file as it was opened."""


@dataclass(slots=True)
class Shared:
    """A file that is open.

    Attributes
    ----------
    key : tuple of (int, Stamp)
        Identifies the file.
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
    stamp : Stamp, optional
        Size and times of the file, if they are known.
    """

    def __init__(self, path: str, stamp: Stamp | None = None):
        self._shared: Shared | None = None
        key = os.getpid(), Stamp.of(os.stat(path)) if stamp is None else stamp
        with LOCK:
            shared = _open.get(key)
            if shared is None:
                close_former(key[1])
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
        """Give back what its owner forgot, as soon as no thread is inside of the library."""

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
        with guard.Guard(FormatError, path):
            return bool(lease.file.getncattr("_IsNetcdf4"))
    finally:
        with LOCK:
            lease.close()
