"""Where the variables of an unusual classic file end, which the netCDF4 library reads.

It takes what lies beyond the end of a cut file for zeros.
"""

from __future__ import annotations

import math
from typing import Any

from ....body.body import open_body
from ....classic import read_on
from ....classic.format import CODES, STREAMING, RawHeader, RawVariable, read_items
from ....errors import FormatError


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
