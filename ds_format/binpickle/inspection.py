"""Facts about a file without building its object: its header, and the tree of the object."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..body import NO_FILE, open_binary
from ..errors import DsError, FormatError
from .format import HEADER, FileHeader
from .machine import Node, tree
from .machine.outline import DEPTH, WIDTH
from .reader import BinPickleFile


class FileStatus(Enum):
    """The kind of a path."""

    MISSING = "missing"
    """There is no file."""
    INVALID = "invalid"
    """Not a complete BinPickle file."""
    BINPICKLE = "binpickle"
    """A BinPickle file."""


@dataclass(frozen=True)
class FileInfo:
    """The result of `file_info`."""

    status: FileStatus
    size: int | None = None
    """Bytes, from the header."""
    version: int | None = None
    """1 or 2."""

    @property
    def is_valid(self) -> bool:
        """Whether it is a BinPickle file."""
        return self.status is FileStatus.BINPICKLE


def file_info(file: Any) -> FileInfo:
    """Read the header of a file.

    Parameters
    ----------
    file : str, bytes or PathLike

    Returns
    -------
    FileInfo

    Raises
    ------
    OSError
        If there is a file that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from ds_format import binpickle
    >>> path = tempfile.mkdtemp() + "/x.bpk"
    >>> binpickle.file_info(path).status.name
    'MISSING'
    >>> binpickle.dump(None, path)
    >>> info = binpickle.file_info(path)
    >>> info.is_valid, info.size, info.version
    (True, 91, 1)
    """
    try:
        with open_binary(file, 0) as opened:
            header = FileHeader.decode(opened.read(HEADER.size))
            header.check_length(os.fstat(opened.fileno()).st_size)
    except FileNotFoundError:
        return FileInfo(FileStatus.MISSING)
    except FormatError:
        return FileInfo(FileStatus.INVALID)
    except OSError as error:
        if error.errno in NO_FILE:
            return FileInfo(FileStatus.INVALID)
        raise
    return FileInfo(FileStatus.BINPICKLE, header.length, header.version)


def inspect(file: Any, *, depth: int = DEPTH, width: int = WIDTH, max_size: int | None = None) -> Node:
    """Return the content of a file as a tree: types, keys, dtypes and shapes.

    Only the index and the pickle are read, not the arrays. Nothing is built, imported or called.

    Parameters
    ----------
    file : str, bytes or PathLike
    depth, width : int
        Levels of the tree, at most 16, and children of each node.
    max_size : int, optional
        Bytes that the pickle may have after decoding, as for `load`.

    Returns
    -------
    Node
        Printed, it has one line for each object; `as_json` returns dictionaries and lists. A pickle that cannot be read
        has the kind "unreadable" and the reason.

    Raises
    ------
    FormatError, TruncatedError, VersionError, IntegrityError
        If the file is damaged outside of its pickle.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ds_format import binpickle
    >>> path = tempfile.mkdtemp() + "/x.bpk"
    >>> binpickle.dump({"time": np.arange(3.0), "title": "three"}, path)
    >>> print(binpickle.inspect(path))
    dict 2 entries
      'time': ndarray float64 (3,), 24 bytes, buffer 0
      'title': str 'three'
    """
    with BinPickleFile(file, max_size=max_size) as opened:
        entries, pickle = opened.entries, opened.read_pickle()
    try:
        return tree(pickle, entries[:-1], depth=depth, width=width)
    except DsError as error:
        return Node("unreadable", error.message)
