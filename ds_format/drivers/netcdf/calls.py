"""The one door to the netCDF4 library: its lock, its errors, its way with paths."""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import Any, cast

import netCDF4

from ...errors import DsError, FormatError, UnsupportedError
from .. import libraries
from ..library_lock import LOCK
from ..loss import LossWarning

Group = Any
"""A netCDF4.Dataset or netCDF4.Group; the library's own types are too loose to be of use."""
Variable = Any
"""A netCDF4.Variable."""

KIND = "NetCDF"
PATH_ENCODING = "latin-1"
"""One character per byte, so that names which are not UTF-8 reach the library too."""


class NetCDFWarning(LossWarning):
    """Something of a dataset that its other form cannot hold, or holds differently."""


def warn(message: str, path: str | None = None, variable: str | None = None) -> None:
    """Issue a `NetCDFWarning` that says where."""
    libraries.warn(NetCDFWarning, message, path, variable)


def library(error: type[DsError], path: str, variable: str | None = None) -> libraries.Guard:
    """Guard calls of the library; see `libraries.Guard`."""
    return libraries.Guard(error, path, variable, _told)


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
    with libraries.opening(path, KIND), library(FormatError, path), warnings.catch_warnings(record=True) as caught:
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
        with contextlib.suppress(*libraries.ERRORS):
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
