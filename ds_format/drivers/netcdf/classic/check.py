"""What is wrong with a classic file beyond what reading its variables finds."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....classic.format import CODES, STREAMING, RawHeader, read_items
from ...base import WARNING, Problem, Report
from .source import ClassicSource

MAX_VSIZE = 2**32 - 4
"""Bytes of the largest variable whose size CDF-1 and CDF-2 can tell."""


def check(source: ClassicSource, report: Report) -> None:
    """Report what is odd in the header of an open file, and what is behind its variables."""
    raw = read_items(source.head(), source.size)
    for name, message in _odd(source, raw):
        report(Problem(source.path, name, message, WARNING))


def _odd(source: ClassicSource, raw: RawHeader) -> Iterator[tuple[str | None, str]]:
    """Yield the name of a variable, or None, and a message."""
    header = source.header
    if raw.numrecs == STREAMING[raw.version]:
        n = next((dimension.size for dimension in header.dimensions if dimension.is_record), 0)
        yield None, f"header: numrecs: the number of records was never written; found {n} by the size of the file"
    sizes = [size for _, size in raw.dimensions]
    for variable in raw.variables:
        shape = [sizes[i] for i in variable.dims]
        size = int(CODES[variable.type][1:]) * math.prod(shape[1:] if shape and not shape[0] else shape)
        padded = size + -size % 4
        allowed = {size, padded} if raw.version == 5 or padded <= MAX_VSIZE else {2**32 - 1, padded % 2**32}
        if variable.vsize not in allowed:
            yield variable.name, f"header: vsize: found {variable.vsize}, expected {padded}"
    end = _end(source)
    if source.size > end:
        yield None, f"found {source.size - end} bytes behind the last variable"


def _end(source: ClassicSource) -> int:
    """Return where the last variable ends, or the last record, with what it is padded by."""
    header = source.header
    ends, records = [header.size], []
    for _, _, _, code, shape, begin, step in header.variables:
        if step:
            records.append((begin, begin + shape[0] * step))
        elif 0 not in shape:
            size = int(code[1:]) * math.prod(shape)
            ends.append(begin + size + -size % 4)
    ends += [end for _, end in sorted(records)[:1]]
    return max(ends)
