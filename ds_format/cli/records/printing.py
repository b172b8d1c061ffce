"""`ds records cat`, `get`, `list`, `info` and `bench`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ...base.progress import Progress
from .. import pst
from ..arguments import ArgumentError, Request, UsageError, text
from . import formats
from .showing import described, shown

MAXSTRING = 40
"""Characters of a text that `cat` prints by default."""


def integer(request: Request, name: str, default: int | None = None) -> int | None:
    """Return an option that is an integer.

    Raises
    ------
    ArgumentError
        If it is anything else.
    """
    value = request.options.get(name, default)
    if value is not None and type(value) is not int:
        raise ArgumentError(f"{name}: invalid type: expected an integer, found {pst.encode([value], False)}")
    return value


def cat(request: Request) -> Iterator[Any]:
    """Yield samples."""
    limit = _limit(request, None if request.options.get("j") else MAXSTRING)
    with formats.reader(request, text(request.words[0], "INPUT")) as reader:
        samples = reader.iter(integer(request, "start"), integer(request, "stop"))
        for sample in over_records(samples, watching(request), reader):
            yield shown(sample, limit)


def get(request: Request) -> Iterator[Any]:
    """Yield samples by key, then by index."""
    limit = _limit(request, None)
    given = request.options.get("index", [])
    indices = given if isinstance(given, list) else [given]
    if not all(type(index) is int for index in indices):
        raise ArgumentError(f"index: invalid type: expected integers, found {pst.encode([given], False)}")
    path, *names = (text(word, "argument") for word in request.words)
    if not names and not indices:
        raise UsageError("get: expected a key, or index: N")
    with formats.reader(request, path) as reader:
        for name in names:
            yield shown(reader.find(name), limit)
        for index in indices:
            yield shown(reader.get(index), limit)


def watching(request: Request) -> Progress | None:
    """Return who watches what is printed: what scrolls over a terminal shows by itself how far it is."""
    return None if sys.stdout.isatty() else request.progress


def over_records(records: Iterable[Any], progress: Progress | None, reader: Any) -> Iterator[Any]:
    """Yield records of a reader, which are reckoned to be all of one size."""
    if progress is None:
        yield from records
        return
    n, total = len(reader), reader.data_size
    for i, record in enumerate(records, 1):
        yield record
        progress(total * i // max(n, 1), total)


def _limit(request: Request, default: int | None) -> int | None:
    limit = integer(request, "maxstring", default)
    if limit is not None and limit < 0:
        raise ArgumentError(f"maxstring: expected 0 or more, found {limit}")
    return limit


def keys(request: Request) -> Iterator[Any]:
    """Yield keys, with `-l` lists of a key and the bytes of its sample."""
    with formats.reader(request, text(request.words[0], "INPUT")) as reader:
        chosen = range(len(reader))[integer(request, "start") : integer(request, "stop")]
        if request.options.get("l"):
            for key, message in reader.take(chosen, yield_key=True, raw=True, copy=False):
                yield [key, len(message)]
        else:
            yield from map(reader.find_key, chosen)


def info(request: Request) -> Iterator[Any]:
    """Yield one object."""
    path = text(request.words[0], "INPUT")
    with formats.reader(request, path) as reader:
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
