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
    check.py               what is wrong with a store
"""

from __future__ import annotations

import os
from typing import Any

from ....zds import validation
from ....zds.format import is_name
from ..source import RecordSource
from .check import check
from .groups import GroupSource
from .reading import DocumentRecords, open_place
from .writing import DocumentSink as create

__all__ = ["check", "create", "open", "reindex"]


def open(path: Any, *, skip_unsupported: bool = False) -> RecordSource | GroupSource:
    """Open a ZDS archive, or a folder that is a store.

    Parameters
    ----------
    path : str, bytes or PathLike
    skip_unsupported : bool
        See `RecordSource`.

    Raises
    ------
    OSError
        If there is no such file.
    FormatError
        If it is damaged; the message names the file and the line.
    """
    name = os.fsdecode(path)
    place = open_place(name)
    sources: dict[str, RecordSource] = {}
    try:
        for collection in filter(is_name, place.collections()):
            sources[collection] = RecordSource(
                DocumentRecords(name, place, collection), skip_unsupported=skip_unsupported
            )
    except BaseException:
        for source in sources.values():
            source.close()
        raise
    finally:
        place.close()
    return next(iter(sources.values())) if len(sources) == 1 else GroupSource(name, sources)


def reindex(path: Any, *, cut: bool = False) -> int:
    """Make the indices of all collections of a folder anew; return the number of documents.

    Parameters
    ----------
    path : str, bytes or PathLike
    cut : bool
        Put a torn last line aside.

    Raises
    ------
    OSError
        If a file cannot be read or written.
    DsError
        If there is no store, or a torn line and no `cut`.
    """
    return sum(validation.reindex(os.fsdecode(path), cut=cut).values())
