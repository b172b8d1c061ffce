"""Classic NetCDF files (CDF-1, CDF-2 and CDF-5): bytes → arrays. Nothing here opens a file or knows a dataset.

From low to high::

    format   the grammar of the header, in the words of its specification: bytes → what they say, item by item
    header   bytes of a body → where each variable lies; every check the header alone decides, and what is unusual; by a
             kernel for headers of the usual kind
    arrays   a variable and the body of its file → array, whole or in part

The way of a record variable from file to array: `format` reads its name, the ids of its dimensions and `begin`;
`header` finds that one record of all variables takes `step` bytes, and that the records are inside of the file;
`arrays` takes the bytes of the variable out of each record, and the kernels turn big-endian numbers into native ones.
"""

from __future__ import annotations

from ..errors import Unusual
from .arrays import values
from .format import MAGIC, Incomplete
from .header import ClassicHeader, ClassicVariable, Dimension, end_of, read_header, read_on

__all__ = [
    "MAGIC",
    "ClassicHeader",
    "ClassicVariable",
    "Dimension",
    "Incomplete",
    "Unusual",
    "end_of",
    "read_header",
    "read_on",
    "values",
]
