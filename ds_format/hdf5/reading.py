"""Parsing with what is known of a file, and reading what that lacks, until nothing does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..base.dtypes import np
from ..body.body import FIRST_SIZE, Body

BLOCK = 4096
"""Bytes that are read at least: metadata are near each other."""

Segments = list[tuple[int, Any]]
"""Bytes of a file, as buffers, and where they begin: in order and apart from each other."""

T = TypeVar("T")


def read_known(body: Body, parse: Callable[[Segments, int], T | list[tuple[int, int]]], segments: Segments) -> T:
    """Parse a file, and read what is needed as well, as often as the parser says so.

    Parameters
    ----------
    body : Body
    parse : callable
        Takes the bytes that are known and the size of the file. Returns offsets and sizes of bytes that it needs as
        well, in a list, or something else.
    segments : list of (int, buffer)
        The bytes that are known. Those that are read are added.

    Raises
    ------
    TruncatedError
        If the file has become shorter than its body.
    """
    while isinstance(found := parse(segments, body.size), list):
        _read(body, found, segments)
    return found


def read_together(body: Body, parsers: Iterable[Callable[[Segments, int], Any]], segments: Segments) -> list[Any]:
    """Parse several parts of a file, and return their results. Each round reads all bytes that they need.

    Parameters and errors are those of `read_known`, with several functions that parse.
    """
    waiting = dict(enumerate(parsers))
    results: list[Any] = [None] * len(waiting)
    while True:
        needed: list[tuple[int, int]] = []
        for i, parse in [*waiting.items()]:
            found = parse(segments, body.size)
            if isinstance(found, list):
                needed += found
            else:
                results[i] = found
                del waiting[i]
        if not waiting:
            return results
        _read(body, needed, segments)


def first_bytes(body: Body) -> Segments:
    """Return the first and the last bytes, which have most metadata, or all of a body in memory."""
    if body.is_in_memory:
        return [(0, body.memory)]
    head = body.head(FIRST_SIZE)
    segments: Segments = [(0, head)]
    if len(head) < body.size:
        # whole blocks: no byte before the last ones, which came with the first request of a remote file
        start = max(len(head), -(-(body.size - FIRST_SIZE) // BLOCK) * BLOCK)
        _read(body, [(start, body.size - start)], segments)
    return segments


def _read(body: Body, needed: list[tuple[int, int]], segments: Segments) -> None:
    """Read ranges, as many as possible at a time, and put them among what is known."""
    places = _missing(sorted(_blocks(needed, body)), segments)
    outs: list[Any] = [bytearray(stop - start) for start, stop in places]
    if len(places) == 1 and not body.is_far:
        body.read_into(places[0][0], outs[0])
    else:
        offsets = np.array([start for start, _ in places], np.int64)
        sizes = np.array([stop - start for start, stop in places], np.int64)
        body.ranges(offsets, sizes, outs)
    read = [(start, out) for (start, _), out in zip(places, outs, strict=True)]
    segments[:] = _joined(sorted([*segments, *read], key=_start))


def _start(segment: tuple[int, Any]) -> int:
    return segment[0]


def _blocks(needed: list[tuple[int, int]], body: Body) -> list[tuple[int, int]]:
    """Return whole blocks around ranges, from and to."""
    return [(at // BLOCK * BLOCK, min(-(-(at + size) // BLOCK) * BLOCK, body.size)) for at, size in needed]


def _missing(blocks: list[tuple[int, int]], segments: Segments) -> list[tuple[int, int]]:
    """Return ranges of blocks, in order, without what is known."""
    known = [(start, start + len(data)) for start, data in segments]
    found: list[tuple[int, int]] = []
    end, i = 0, 0
    for first, last in blocks:
        start = max(first, end)
        while start < last:
            while i < len(known) and known[i][1] <= start:
                i += 1
            if i < len(known) and known[i][0] <= start:
                start = known[i][1]
                continue
            stop = min(last, known[i][0]) if i < len(known) else last
            if found and found[-1][1] == start:
                found[-1] = found[-1][0], stop
            else:
                found.append((start, stop))
            start = stop
        end = max(end, last)
    return found


def _joined(segments: Segments) -> Segments:
    """Put segments together that touch: a structure may be in several."""
    found: list[tuple[int, list[Any]]] = []
    end = -1
    for start, data in segments:
        if start == end:
            found[-1][1].append(data)
        else:
            found.append((start, [data]))
        end = start + len(data)
    return [(start, parts[0] if len(parts) == 1 else b"".join(parts)) for start, parts in found]
