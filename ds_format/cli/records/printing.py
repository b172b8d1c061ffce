"""Tools of `ds records` that print: `cat`, `get`, `list`, `scan`, `info` and `bench`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from ... import drivers
from ...base.progress import Progress
from ...datadings.directories import DirectoryReader, ZipFileReader
from ...datadings.order import Shuffler
from ...errors import UnsupportedError
from ...kernels.json.values import dumps
from ..arguments import Request, UsageError, text
from ..pst import Text
from . import record_readers

MAXSTRING = 40
"""Characters of a text that `cat` prints by default."""


def cat(request: Request) -> Iterator[Any]:
    """Yield samples."""
    limit = request.get("maxstring", None if request.flag("j") else MAXSTRING)
    with record_readers.reader(request, text(request.words[0], "INPUT")) as reader:
        samples = reader.iter(request.get("start"), request.get("stop"))
        for sample in over_records(samples, watching(request), reader):
            yield shown(sample, limit)


def get(request: Request) -> Iterator[Any]:
    """Yield samples by key, then by index."""
    limit, indices = request.get("maxstring"), request.get("index", [])
    path, *names = (text(word, "argument") for word in request.words)
    if not names and not indices:
        raise UsageError("get: expected a key, or index: N")
    with record_readers.reader(request, path) as reader:
        for name in names:
            yield shown(reader.find(name), limit)
        for index in indices:
            yield shown(reader.get(index), limit)


def watching(request: Request) -> Progress | None:
    """Return the progress bar; None if the output scrolls over a terminal, which is progress enough."""
    return None if sys.stdout.isatty() else request.progress


def over_records(records: Iterable[Any], progress: Progress | None, reader: Any) -> Iterator[Any]:
    """Yield records of a reader, and report progress as if all had the same size."""
    if progress is None:
        yield from records
        return
    n, total = len(reader), reader.data_size
    for i, record in enumerate(records, 1):
        yield record
        progress(total * i // max(n, 1), total)


def keys(request: Request) -> Iterator[Any]:
    """Yield keys, with `-l` lists of a key and the bytes of its sample."""
    with record_readers.reader(request, text(request.words[0], "INPUT")) as reader:
        chosen = range(len(reader))[request.get("start") : request.get("stop")]
        if request.flag("l"):
            for key, message in reader.take(chosen, yield_key=True, raw=True, copy=False):
                yield [key, len(message)]
        else:
            yield from map(reader.find_key, chosen)


def scan(request: Request) -> Iterator[Any]:
    """Yield documents, or parts of them; with `-j` one line of JSON for each."""
    path = record_readers.store(request, "scan")
    fields = [part for name in request.get("fields", []) for part in name.split(",")] or None
    where = request.get("where") or None
    counts = request.flag("count")
    n = 0
    with record_readers.reader(request, path) as reader:
        found = islice(reader.store.scan(fields=fields, where=where), request.get("limit"))
        for document in found if where else over_records(found, watching(request), reader):
            n += 1
            if not counts:
                yield Text(dumps(document).decode()) if request.flag("j") else shown(document, None)
    if counts:
        yield n


def info(request: Request) -> Iterator[Any]:
    """Yield one object."""
    path = text(request.words[0], "INPUT")
    with record_readers.reader(request, path) as reader:
        sizes = reader.sizes()
        found: dict[str, Any] = {"samples": len(reader), "bytes": sum(sizes)}
        if sizes:
            found["sample bytes"] = {"least": min(sizes), "mean": round(sum(sizes) / len(sizes), 1), "most": max(sizes)}
            first = reader.get(0)
            found["first key"] = reader.find_key(0)
            is_map = isinstance(first, dict)
            found["entries"] = (
                {str(name): described(value) for name, value in first.items()} if is_map else described(first)
            )
        yield {**found, **reader.facts(), "files": reader.files()}


EVERY_FILE = "{LABEL}/**"
"""All files in the folders of a folder, whose names are the labels."""
LISTS = (".csv", ".lst", ".tsv", ".txt")
"""Suffixes of lists of files."""


def bench(request: Request) -> Iterator[Any]:
    """Yield the time to read all samples."""
    path = text(request.words[0], "INPUT")
    with _reader(request, path) as reader:
        samples = Shuffler(reader) if request.flag("shuffle") else reader
        start = perf_counter()
        n = sum(1 for _ in samples.iter(raw=request.flag("raw")))
        seconds = max(perf_counter() - start, 1e-9)
        size = reader.bytes_read if hasattr(reader, "bytes_read") else reader.data_size
    rate = size / seconds / 1e6
    yield {"samples": n, "seconds": round(seconds, 6), "samples/s": round(n / seconds, 1), "MB/s": round(rate, 1)}


def _reader(request: Request, path: str) -> Any:
    suffix = os.path.splitext(path)[1].lower()
    chosen: dict[str, Any] = {
        "include": request.get("include", []),
        "exclude": request.get("exclude", []),
        "separator": request.get("separator", "\t"),
    }
    root = request.get("root-dir")
    if (os.path.isdir(path) and drivers.of_folder(path) is None) or suffix in LISTS or suffix == ".zip":
        if request.flag("mmap"):
            raise UsageError("bench: --mmap is only possible for datadings")
        if root is not None and suffix not in LISTS:
            raise UsageError("bench: root-dir is only possible for lists of files")
        if os.path.isdir(path):
            return DirectoryReader(EVERY_FILE, root_dir=path, **chosen)
        if suffix == ".zip":
            return ZipFileReader(path, **chosen)
        return DirectoryReader(path, root_dir=os.path.dirname(path) if root is None else root, **chosen)
    for name in ("exclude", "include", "root-dir", "separator"):
        if name in request.options:
            raise UsageError(f"bench: {name} is only possible for folders, lists of files and ZIP archives")
    return record_readers.reader(request, path, mmap=request.flag("mmap"))


VALUES = 8
"""Maximum number of values of an array that are printed if long texts are cut."""


def shown(value: Any, limit: int | None) -> Any:
    """Return a value as types that `pst.plain` supports.

    Parameters
    ----------
    value : object
        As messages are decoded.
    limit : int, optional
        Characters of a text or bytes; then larger arrays become a text of type and shape.

    Raises
    ------
    UnsupportedError
        If lists and dictionaries are too deeply inside of one another.
    """
    try:
        return _shown(value, limit)
    except RecursionError:
        raise UnsupportedError("lists and maps are nested too deeply to be printed") from None


def _shown(value: Any, limit: int | None) -> Any:
    if isinstance(value, dict):
        return {_key(name, value): _shown(part, limit) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(part, limit) for part in value]
    if isinstance(value, (str, bytes)):
        return _cut(value, limit)
    if isinstance(value, np.ndarray) and limit is not None and value.size > VALUES:
        return described(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _shown(value.tolist() if value.dtype.kind not in "mM" else value.astype(str).tolist(), limit)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value)


def _key(name: Any, among: dict[Any, Any]) -> str:
    """Return a unique text of a key: a map may have both 1 and "1"."""
    if isinstance(name, str):
        return name
    text = repr(name)
    while text in among:
        text += f" ({type(name).__name__})"
    return text


def _cut(value: Any, limit: int | None) -> Any:
    if limit is None or len(value) <= limit:
        return value
    return value[:limit] + ("..." if isinstance(value, str) else b"...")


def described(value: Any) -> str:
    """Return the type of a value in words, and the shape of an array."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)}"
    return str(value.dtype) if isinstance(value, np.generic) else type(value).__name__


TOOLS: dict[str, Callable[[Request], Iterable[Any]]] = {
    "cat": cat,
    "get": get,
    "info": info,
    "list": keys,
    "scan": scan,
    "bench": bench,
}
"""Name of a subcommand → function of the request without this name, which returns the items to print."""
