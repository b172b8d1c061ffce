"""Suffix → what is known of a format of records.

::

    samples.py    datadings
    documents.py  ZDS
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from ... import drivers
from ...errors import DriverError
from ...kernels.files.presence import exists, is_folder
from ...zds.format import LAYOUTS
from .. import pst
from ..arguments import ArgumentError, Request, UsageError, text
from . import documents, samples


class RecordFormat(NamedTuple):
    """One format of records."""

    name: str
    suffix: str
    reader: Callable[..., Any]
    """Path and collection (or None), options → a `datadings.base.Reader` that also has `data_size`, `companion_path`,
    `sizes()`, `files()` and `facts()`."""
    writer: Callable[[str, Any, bool, Any], AbstractContextManager[Any]]
    """Path, the reader of the records that will be written, whether its companion fits them, and the layout (or None) →
    what has `write(key, message)`, which returns bytes."""


DATADINGS = RecordFormat("datadings", ".msgpack", samples.reader, samples.writer)
ZDS = RecordFormat("ZDS", ".zds", documents.reader, documents.writer)
FORMATS = {format.suffix: format for format in (DATADINGS, ZDS)}
"""By suffix. Folders that are stores are ZDS, and files with an unknown suffix datadings."""


def find(path: str) -> RecordFormat:
    """Return the format of a file or folder.

    Raises
    ------
    DriverError
        If the suffix is that of files which have no records.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    if documents.is_store(path):
        return ZDS
    if drivers.is_known(path):
        raise DriverError(f"a file without records: expected {' or '.join(FORMATS)}", path=path)
    return DATADINGS


def reader(request: Request, path: str, **options: Any) -> Any:
    """Open what records are read from.

    Raises
    ------
    ArgumentError
        If it has no collections, but one is asked for, or several, but none is.
    """
    return find(path).reader(path, collection_of(request), **options)


def collection_of(request: Request) -> str | None:
    """Return the collection that a request names."""
    found = request.options.get("collection")
    return None if found is None else text(found, "collection")


def layout_of(request: Request) -> Any:
    """Return the layout that a request names.

    Raises
    ------
    ArgumentError
        If there is no such one.
    """
    found = request.options.get("layout")
    if found not in {None, *LAYOUTS}:
        raise ArgumentError(f"layout: expected {' or '.join(LAYOUTS)}, found {pst.encode([found], False)}")
    return found


def check_targets(request: Request, sources: list[str], targets: list[str]) -> None:
    """Check that files can be written, before the first one is.

    Raises
    ------
    ArgumentError
        If one exists and is not to be replaced, is one of those that are read, is there twice, or is of another format
        than those that are read.
    """
    formats = {find(path).name: path for path in sources}
    for target in targets:
        for name, path in formats.items():
            if find(target).name != name:
                raise ArgumentError(f"{target}: expected {find(path).suffix} as {path}; `ds select` converts records")
        if exists(target):
            if any(exists(source) and os.path.samefile(source, target) for source in sources):
                raise ArgumentError(f"{target}: is read, and cannot be written at the same time")
            if not request.options.get("y"):
                raise ArgumentError(f"{target}: file exists; -y replaces it")
    if len(set(map(os.path.abspath, targets))) < len(targets):
        raise ArgumentError("expected names of files that differ")


def store(request: Request, tool: str, *, is_made: bool = False) -> str:
    """Return the store that a request begins with.

    Parameters
    ----------
    request : Request
    tool : str
        For the message.
    is_made : bool
        Whether it need not exist.

    Raises
    ------
    UsageError
        If that is no store.
    OSError
        If it does not exist.
    """
    path = text(request.words[0], "STORE")
    if exists(path) or not is_made:
        os.stat(path)
        is_store = find(path) is ZDS or (is_made and is_folder(path) and not os.listdir(path))
    else:
        is_store = find(path) is ZDS or not os.path.splitext(path)[1]
    if not is_store:
        raise UsageError(f"{tool}: {path} is no ZDS store: expected a folder, or {ZDS.suffix}")
    return path
