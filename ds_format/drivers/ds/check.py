"""Faults of a file that reading its variables does not find: in properties that reading does not need."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from ...base.progress import Progress
from ...base.text import unescape
from ...errors import DsError, IntegrityError
from ..base import ERROR, WARNING, Problem, Report
from .series import SeriesSource, open_ds
from .source import DsSource
from .whole import all_headers

Extents = dict[str, tuple[int, int]]
"""Key of a variable → start and end of its bytes in the body."""


def check(path: Any, report: Report, *, strict: bool, progress: Progress | None = None) -> DsSource | SeriesSource:
    """Check the header, or those of all segments of a series, and open the file.

    Parameters
    ----------
    path : str, bytes or PathLike
    report : callable
    strict : bool
        Also warn of content that is allowed but unusual.
    progress : callable, optional
        Not called, because this takes no time.

    Raises
    ------
    DsError, OSError
        If the file cannot be opened.
    """
    source = open_ds(path)
    try:
        for one in source.apart.sources if isinstance(source, SeriesSource) else [source]:
            if isinstance(one, DsSource):
                _check_file(one, report, strict)
    except BaseException:
        source.close()
        raise
    return source


def _check_file(source: DsSource, report: Report, strict: bool) -> None:
    try:
        for key, message in _warnings(source, strict):
            report(Problem(source.path, None if key is None else unescape(key), message, WARNING))
        for key in source.header.keys if source.sums is not None else ():
            try:
                source.compare(key)
            except IntegrityError as error:
                report(Problem(source.path, error.variable, error.message, ERROR))
    except DsError as error:
        report(Problem(source.path, error.variable, error.message, ERROR))


def _warnings(source: DsSource, strict: bool) -> Iterator[tuple[str | None, str]]:
    """Iterate over unusual properties: the key of a variable, or None, and a message."""
    extents: Extents = {}
    for key, var in all_headers(source.header, source.body).items():
        described = source.header.variables[key].var
        if described is not None and described.offset != var.offset:
            yield key, f".offset: found {described.offset}, expected {var.offset}"
        if source.header.version == "2.0.1" and var.type is not None and var.type.is_string:
            continue  # the end of strings is only known after decoding them
        with contextlib.suppress(DsError):
            start, end = extents[key] = source.extent(var)
            if var.length not in (0, end - start):
                yield key, f".len: found {var.length}, expected {end - start}"
    if len(extents) == len(source.header.keys):
        end = max((end for _, end in extents.values()), default=0)
        unused = source.body.size - end - (source.sums.size if source.sums is not None else 0)
        if unused > 0:
            yield None, f"found {unused} bytes after the last variable"
    if strict:
        yield from _shared(extents)
        yield from _beyond_json(source)


def _shared(extents: Extents) -> Iterator[tuple[str, str]]:
    before, last = 0, ""
    for key, (start, end) in sorted(extents.items(), key=lambda item: item[1]):
        if start < before and end > start:
            yield key, f'shares bytes with variable "{unescape(last)}"'
        if end > before:
            before, last = end, key


def _beyond_json(source: DsSource) -> Iterator[tuple[str | None, str]]:
    """Iterate over extensions of JSON by Python."""
    text = source.line.decode()
    words: dict[str, Any] = {}
    json.loads(text[text.index("{") :], parse_constant=words.setdefault)
    for word in words:
        yield None, f"header: {word} is not JSON: other readers may refuse it"
    for key in source.header.keys:
        if any("\ud800" <= character <= "\udfff" for character in key):
            yield key, "the name is not valid text: it contains an unpaired surrogate"
