"""The one door to the h5py library: its lock, its errors, its way of opening files."""

from __future__ import annotations

from typing import Any

import h5py

from ...body import check_file
from ...errors import DsError, FormatError
from ..base import LossWarning
from ..library import guard

Node = Any
"""An h5py.Group (the root one is not the file) or h5py.Dataset; h5py has no types for static checks."""

LIBVER = ("v108", "v110")
"""Oldest and newest layout to write: that of HDF5 1.8 has attributes of more than 64 kB, and netCDF-4 reads both."""


CACHE = {"rdcc_nbytes": 32 * 1024 * 1024, "rdcc_nslots": 1009}
"""Bytes of chunks that the library may keep for one open dataset, and slots to find them in (a prime number).

Blocks go through chunks several times if they are shorter; each time would decompress, or compress, all of them anew.
"""


class HDF5Warning(LossWarning):
    """Something of a file or a dataset that its other form cannot hold, or holds differently."""


def warn(message: str, path: str | None = None, variable: str | None = None) -> None:
    """Issue a `HDF5Warning` that says where."""
    guard.warn(HDF5Warning, message, path, variable)


def library(error: type[DsError], path: str, variable: str | None = None) -> guard.Guard:
    """Guard calls of the library; see `guard.Guard`."""
    return guard.Guard(error, path, variable, _told)


def _told(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def address_of(identifier: Any) -> tuple[int, int]:
    """Return what tells an open object, by its low-level identifier, from all others: a file and a place in it."""
    info = h5py.h5o.get_info(identifier)
    return info.fileno, info.addr


def open_file(path: str) -> Node:
    """Open a file to read.

    Raises
    ------
    OSError
        As `open` would, or if it is no file, which the library would wait for.
    FormatError
        If it is not an HDF5 file, or a damaged one.
    """
    check_file(path)
    with guard.opening(path, "HDF5"), library(FormatError, path):
        return h5py.File(path, "r", **CACHE)


def create_file(path: str, target: str) -> Node:
    """Begin a file anew; what it holds is listed in the order in which it was made.

    Parameters
    ----------
    path : str
    target : str
        The name for messages.
    """
    with library(DsError, target):
        return h5py.File(path, "w", libver=LIBVER, track_order=True, **CACHE)
