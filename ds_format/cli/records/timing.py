"""`ds records bench`: a timed pass over the samples of a record file, a folder, a list of files or a ZIP archive."""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from ...datadings.directories import DirectoryReader, ZipFileReader
from ...datadings.order import Shuffler
from ..arguments import Request, UsageError, names, text
from . import documents, formats
from .tools import OF_FILES

EVERY_FILE = "{LABEL}/**"
"""All files in the folders of a folder, whose names are the labels."""
LISTS = (".csv", ".lst", ".tsv", ".txt")
"""Suffixes of lists of files."""


def bench(request: Request) -> Iterator[Any]:
    """Yield how long it took to read all samples."""
    options = request.options
    path = text(request.words[0], "INPUT")
    with _reader(request, path) as reader:
        samples = Shuffler(reader) if options.get("shuffle") else reader
        start = perf_counter()
        n = sum(1 for _ in samples.iter(raw=bool(options.get("raw"))))
        seconds = max(perf_counter() - start, 1e-9)
        size = reader.bytes_read if hasattr(reader, "bytes_read") else reader.data_size
    rate = size / seconds / 1e6
    yield {"samples": n, "seconds": round(seconds, 6), "samples/s": round(n / seconds, 1), "MB/s": round(rate, 1)}


def _reader(request: Request, path: str) -> Any:
    options = request.options
    suffix = os.path.splitext(path)[1].lower()
    chosen: dict[str, Any] = {
        "include": names(options.get("include"), "include"),
        "exclude": names(options.get("exclude"), "exclude"),
        "separator": text(options.get("separator", "\t"), "separator"),
    }
    root = options.get("root-dir")
    if (os.path.isdir(path) and not documents.is_store(path)) or suffix in LISTS or suffix == ".zip":
        if options.get("mmap"):
            raise UsageError("bench: --mmap is for record files")
        if root is not None and suffix not in LISTS:
            raise UsageError("bench: root-dir is for lists of files")
        if os.path.isdir(path):
            return DirectoryReader(EVERY_FILE, root_dir=path, **chosen)
        if suffix == ".zip":
            return ZipFileReader(path, **chosen)
        return DirectoryReader(
            path, root_dir=os.path.dirname(path) if root is None else text(root, "root-dir"), **chosen
        )
    for name in OF_FILES:
        if name in options:
            raise UsageError(f"bench: {name} is for folders, lists of files and ZIP archives")
    return formats.reader(request, path, mmap=bool(options.get("mmap")))
