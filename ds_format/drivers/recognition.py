"""The format of a file by its content, if its name does not say it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from .. import signatures
from ..body import NO_FILE, open_binary
from ..errors import DriverError, FormatError

MARKS = (
    (signatures.BINPICKLE, "binpickle"),
    (signatures.DS, "ds"),
    *((mark, "netcdf") for mark in signatures.CLASSIC_NETCDF),
)
"""First bytes that only files of one format have."""
FIRST_SIZE = 64 * 1024
"""Bytes from which drivers recognise files without such a mark."""


def format_of(path: str, module: Callable[[str], Any]) -> str | None:
    """Return the name of the driver of a file; None if it is not recognised, or is no regular file.

    NetCDF, HDF5, ds and BinPickle files are recognised by their first bytes, ZDS archives by the names in them, and
    datadings files by the index next to them. Nothing distinguishes JSON and CSV files of datasets from others.

    Parameters
    ----------
    path : str
    module : callable
        Takes the name of a driver, and returns its module.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    try:
        file = open_binary(path, 0)
    except OSError as error:
        if error.errno in NO_FILE:
            return None
        raise
    with file:
        first = file.read(FIRST_SIZE)
        for mark, name in MARKS:
            if first.startswith(mark):
                return name
        if signatures.is_hdf5(file):
            return _of_hdf5(path, module)
    return next((name for name in ("ds", "zds", "datadings") if module(name).recognises(path, first)), None)


def _of_hdf5(path: str, module: Callable[[str], Any]) -> str:
    """Return the name of the driver of an HDF5 file: that of NetCDF if it is netCDF-4, or if h5py is not installed."""
    with contextlib.suppress(DriverError, FormatError, ImportError):
        if module("netcdf").is_netcdf4(path):
            return "netcdf"
    try:
        module("hdf5")
    except DriverError:
        return "netcdf"
    return "hdf5"
