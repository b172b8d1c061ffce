"""Where the variables of an unusual classic file end, which the netCDF4 library reads.

It takes what lies beyond the end of a cut file for zeros.
"""

from __future__ import annotations

import math
import os
from typing import Any, BinaryIO

from ....body import open_binary
from ....classic.format import CODES, STREAMING, Incomplete, RawHeader, RawVariable, read_items
from ....classic.header import FIRST_SIZE
from ....errors import FormatError


def variable_ends(path: Any) -> dict[str, int]:
    """Return the sizes that a classic file must have to hold each of its variables.

    Returns
    -------
    dict
        Variable name → bytes. Empty if it is another file, or a damaged one.
    """
    with open_binary(path) as file:
        try:
            return _ends(_items(file))
        except (FormatError, LookupError):
            return {}


def _items(file: BinaryIO) -> RawHeader:
    """Read what the header says."""
    file_size, size = os.fstat(file.fileno()).st_size, FIRST_SIZE
    while True:
        file.seek(0)
        try:
            return read_items(memoryview(file.read(size)), file_size, takes_all=True)
        except Incomplete as error:
            size = max(error.size, 2 * size)


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
