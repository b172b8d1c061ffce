"""A file → the tree of its object, without building it."""

from __future__ import annotations

import os
from typing import Any

from ..errors import DsError, FormatError
from .file_bytes import open_bytes
from .machine import Node, tree
from .machine.nodes import DEPTH, WIDTH
from .reader import BinPickleFile


def inspect(file: Any, *, depth: int = DEPTH, width: int = WIDTH, max_size: int | None = None) -> Node:
    """Return what is in a file: types, keys, dtypes and shapes.

    Only the index and the pickle are read, not the arrays; nothing is built, imported or called, whatever the file has.

    Parameters
    ----------
    file : str, bytes or PathLike
    depth, width : int
        Levels of the tree, at most 16, and children of each node, that are shown.
    max_size : int, optional
        Bytes that the pickle may have after decoding, as `load` takes it.

    Returns
    -------
    Node
        Printed, it is a text of one line for each object; `as_json` has the same as dictionaries and lists. A pickle
        that cannot be read has the kind "unreadable", and the reason.

    Raises
    ------
    FormatError, TruncatedError, VersionError, IntegrityError
        If the file is damaged outside of its pickle.
    OSError
        If it cannot be read.

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
    path = os.fsdecode(file)
    with BinPickleFile(file, max_size=max_size) as opened:
        header, entries, limit = opened.header, opened.entries, opened.max_size
    last = len(entries) - 1
    if last < 0:
        raise FormatError("index: found no entries, expected a pickle: the file has no object", path=path)
    if entries[last].dec_length > limit:
        raise FormatError(f"index: dec_length: a pickle of {entries[last].dec_length} bytes; give max_size", path=path)
    source = open_bytes(path, direct=False)
    try:
        (pickle,) = source.buffers(entries, range(last, last + 1), header.version, None)
    except DsError as error:
        raise error.at(path=path)
    finally:
        source.close()
    try:
        return tree(pickle, entries[:last], depth=depth, width=width)
    except DsError as error:
        return Node("unreadable", error.message)
