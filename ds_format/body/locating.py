"""The location of a file that a user names: a local path, or an address for everything else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def located(path: Any, storage_options: Mapping[str, Any] | None = None, store: Any = None) -> Any:
    """Return a local path as it is, and everything else that names a file as an address.

    All functions that open files take the result. It costs next to nothing for a local path.

    Parameters
    ----------
    path : str, bytes, PathLike, UPath, file object, bytearray or memoryview
        `bytes` are a path.
    storage_options : mapping, optional
        Options of the library that reads the address.
    store : object, optional
        The store that has the file: one with the interface `Get` of obspec, or a file system of fsspec.

    Returns
    -------
    str, bytes, PathLike or Address

    Raises
    ------
    TypeError
        If the path is none of these.
    """
    if storage_options is None and store is None:
        if type(path) is str:
            if "://" not in path:
                return path
        elif isinstance(path, (bytes, os.PathLike)) and not getattr(path, "protocol", ""):
            return path
    from .remote.addresses import address_of

    return address_of(path, storage_options, store)
