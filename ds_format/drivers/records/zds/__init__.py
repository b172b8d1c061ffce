"""Records in a ZDS archive or folder: documents of JSON.

A document has an `_id`, and a member for each variable that has the dimension, without that dimension; variables of
groups are in objects::

    {"_id": "0", "time": 6.0, "pressure": [[1000.0, null], [999.5, "NaN"]], "name": "Brno", "wind": {"speed": 2.5}}

The companion is the file `collections/NAME/meta/dataset.ds`. Archives are written, with one collection; archives and
folders are read, and several collections are groups::

    columns.py             arrays ↔ values of documents
    names.py               names of variables ↔ places in documents
    reading.py             documents → records
    writing.py             records → documents
    companion_member.py    the companion
    groups.py              several collections as one Source
    opening.py             a store as a Source
    check.py               what is wrong with a store
"""

from __future__ import annotations

import os
from typing import Any

from ....base.progress import Progress
from ....zds import validation
from .check import check
from .opening import open
from .writing import DocumentSink as create

__all__ = ["check", "create", "open", "reindex"]


def reindex(path: Any, *, cut: bool = False, binary: bool = False, progress: Progress | None = None) -> int:
    """Make the indices of all collections of a folder anew; return the number of documents.

    Parameters
    ----------
    path : str, bytes or PathLike
    cut : bool
        Put a torn last line aside.
    binary : bool
        Write the binary form of the index.
    progress : callable, optional
        Called with the bytes done and the bytes in all.

    Raises
    ------
    OSError
        If a file cannot be read or written.
    DsError
        If there is no store, or a torn line and no `cut`.
    """
    return sum(validation.reindex(os.fsdecode(path), cut=cut, binary=binary, progress=progress).values())
