"""Suffix → reader and writer of record files."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from ... import drivers
from ...datadings import format
from ...datadings.index import Index
from ...datadings.reader import MsgpackReader
from ...datadings.writer import RawWriter
from ...errors import DriverError
from ..arguments import ArgumentError, Request


class RecordFormat(NamedTuple):
    """One format of record files."""

    reader: Callable[..., Any]
    """Path → `datadings.base.Reader`."""
    writer: Callable[..., Any]
    """Path → a writer with `write(key, message)`, a context manager."""
    sizes: Callable[[str], list[int]]
    """Path → bytes of each sample."""
    parts: tuple[str, ...]
    """What the names of further files end with."""


def _sizes(path: str) -> list[int]:
    index = Index(path)
    return [stop - start for start, stop in pairwise(index.spans(0, len(index)))]


FORMATS = {
    ".msgpack": RecordFormat(
        MsgpackReader, RawWriter, _sizes, (*format.INDEX, format.MD5, format.LEGACY_INDEX, ".meta")
    )
}
"""By suffix."""
OTHERS = FORMATS[".msgpack"]
"""What files with an unknown suffix are."""


def find(path: str) -> RecordFormat:
    """Return the format of a file.

    Raises
    ------
    DriverError
        If the suffix is that of files which have no records.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in FORMATS and drivers.is_known(path):
        raise DriverError(f"a file without records: expected {' or '.join(FORMATS)}", path=path)
    return FORMATS.get(suffix, OTHERS)


def reader(path: str, **options: Any) -> Any:
    """Open a file to read from."""
    return find(path).reader(path, **options)


def check_targets(request: Request, sources: list[str], targets: list[str]) -> None:
    """Check that files can be written, before the first one is.

    Raises
    ------
    ArgumentError
        If one exists and is not to be replaced, is one of those that are read, or is there twice.
    """
    for target in targets:
        find(target)
        if os.path.exists(target):
            if any(os.path.exists(source) and os.path.samefile(source, target) for source in sources):
                raise ArgumentError(f"{target}: is read, and cannot be written at the same time")
            if not request.options.get("y"):
                raise ArgumentError(f"{target}: file exists; -y replaces it")
    if len(set(map(os.path.abspath, targets))) < len(targets):
        raise ArgumentError("expected names of files that differ")
