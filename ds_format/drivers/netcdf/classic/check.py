"""Problems of classic files that reading their variables does not find, and the ends of their variables.

The netCDF4 library, which reads unusual files, returns zeros for values beyond the end of a truncated file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ....body.body import open_body
from ....classic import read_on
from ....classic.format import CODES, STREAMING, RawHeader, RawVariable, read_items
from ....errors import FormatError
from ...base import WARNING, Problem, Report

if TYPE_CHECKING:
    from .source import ClassicSource

MAX_VSIZE = 2**32 - 4
"""Bytes of the largest variable whose size fits into headers of CDF-1 and CDF-2."""


def check(source: ClassicSource, report: Report) -> None:
    """Report problems in the header of an open file, and bytes after its variables."""
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
        yield None, f"found {source.size - end} bytes after the last variable"


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


def variable_ends(path: Any) -> dict[str, int]:
    """Return the sizes that a classic file must have to hold each of its variables.

    Returns
    -------
    dict
        Variable name → bytes. Empty if it is another file, or a damaged one.
    """
    body = open_body(path)
    try:
        return _ends(read_on(body, _items))
    except (FormatError, LookupError):
        return {}


def _items(data: bytes | bytearray, file_size: int) -> RawHeader:
    """Read what the header says."""
    return read_items(memoryview(data), file_size, takes_all=True)


def _ends(raw: RawHeader) -> dict[str, int]:
    sizes = [size for _, size in raw.dimensions]

    def slab(variable: RawVariable, is_record: bool) -> int:
        return int(CODES[variable.type][1:]) * math.prod(sizes[i] for i in variable.dims[is_record:])

    fixed, records = {}, {}
    for variable in raw.variables:
        if variable.dims and not sizes[variable.dims[0]]:
            records[variable.name] = variable.begin, slab(variable, True)
        elif size := slab(variable, False):
            fixed[variable.name] = variable.begin + size
    if raw.numrecs in (0, STREAMING[raw.version]):
        return fixed
    # alone it needs no padding
    step = sum(size if len(records) == 1 else size + -size % 4 for _, size in records.values())
    return fixed | {name: begin + (raw.numrecs - 1) * step + size for name, (begin, size) in records.items()}
