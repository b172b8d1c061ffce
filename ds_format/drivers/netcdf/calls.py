"""The one door to the netCDF4 library: its lock, its errors, its way with paths."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import Any, cast

import netCDF4
import numpy as np

from ...errors import DsError, FormatError, UnsupportedError
from ..library import guard
from ..library.lock import LOCK
from .losses import warn

Group = Any
"""A netCDF4.Dataset or netCDF4.Group; the library's own types are too loose to be of use."""
Variable = Any
"""A netCDF4.Variable."""

KIND = "NetCDF"
PATH_ENCODING = "latin-1"
"""One character per byte, so that names which are not UTF-8 reach the library too."""


def library(error: type[DsError], path: str, variable: str | None = None) -> guard.Guard:
    """Guard calls of the library; see `guard.Guard`."""
    return guard.Guard(error, path, variable, _told)


def _told(error: Exception) -> str | None:
    return error.strerror if isinstance(error, OSError) else str(error)


def open_file(path: str) -> tuple[Group, list[tuple[str, str]]]:
    """Open a file to read raw values.

    Parameters
    ----------
    path : str
        Of a file that can be opened: the library confuses errors of the system.

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
    with guard.opening(path, KIND), library(FormatError, path), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        file = netCDF4.Dataset(_library_path(path), encoding=PATH_ENCODING)
    try:
        with library(FormatError, path):
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


def read_slab(variable: Variable, slices: tuple[slice, ...]) -> Any:
    """Return a slab as the library has it.

    To find out what an index means takes the library several times as long as to read a small slab. Numbers are taken
    by what it then calls, where this is as it has been since its version 1.0.

    Parameters
    ----------
    variable : netCDF4.Variable
    slices : tuple of slice
        Of step 1, one per dimension; empty for a scalar.
    """
    counts = [s.stop - s.start for s in slices]
    get = getattr(variable, "_get", None)
    if get is None or 0 in counts or not slices or not _is_plain(variable):
        return variable[slices if slices else ...]
    return get([s.start for s in slices], counts, [1] * len(counts))


def _is_plain(variable: Variable) -> bool:
    """Return whether values are numbers in native byte order, and not those of an enumeration."""
    dtype = variable.dtype
    is_number = variable.datatype is dtype and isinstance(dtype, np.dtype) and dtype.kind in "fiu"
    return is_number and dtype.isnative and variable.endian() in ("native", sys.byteorder)


def create_file(path: str, format: str, target: str) -> Group:
    """Begin a file anew.

    Parameters
    ----------
    path : str
    format : str
    target : str
        The name for messages.
    """
    with library(DsError, target):
        return netCDF4.Dataset(_library_path(path), "w", format=cast("Any", format), encoding=PATH_ENCODING)


def close_file(file: Group) -> None:
    """Close a file, once: the library would close what it cannot close again when Python drops it, and crash."""
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
