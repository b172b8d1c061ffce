"""A store as a Source: one collection, or several as groups."""

from __future__ import annotations

import os
from typing import Any

from ....zds.format import is_name
from ..source import RecordSource
from .groups import GroupSource
from .reading import DocumentRecords, open_place


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
