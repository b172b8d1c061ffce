"""Classic NetCDF files (CDF-1, CDF-2 and CDF-5): bytes → arrays. No module here opens a file or knows a dataset.

From low to high::

    format   the grammar of the header, with the names of its specification: bytes → items, one by one
    header   bytes of a body → position of each variable, after all checks that need only the header; usual headers are
             parsed by a kernel, unusual ones are left to the library
    composing  definitions → the bytes of a header, and the position of each variable
    arrays   a variable and the body of its file → array, whole or in part

A record variable is read in three steps. `format` reads its name, the ids of its dimensions and `begin`. `header`
computes `step`, the bytes that one record of all variables takes, and checks that variables do not overlap. `arrays`
copies the bytes of the variable from each record, and kernels convert big-endian numbers to native ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import Unusual
from .format import MAGIC, Incomplete
from .header import ClassicHeader, ClassicVariable, Dimension, end_of, read_header, read_on, read_usual

if TYPE_CHECKING:
    from .arrays import ranges_of, small_values, stored_of, values

__all__ = [
    "MAGIC",
    "ClassicHeader",
    "ClassicVariable",
    "Dimension",
    "Incomplete",
    "Unusual",
    "end_of",
    "ranges_of",
    "read_header",
    "read_on",
    "read_usual",
    "small_values",
    "stored_of",
    "values",
]


def __getattr__(name: str) -> Any:
    """Load what reads values, which the metadata do not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import arrays

    found = globals()[name] = getattr(arrays, name)
    return found
