"""Which part of a dataset, and of a variable.

selection   `sel`, `range_`, `at`, `between` → one index for each dimension
index       what an index selects, checked and applied
"""

from .index import (
    Index,
    as_slice,
    bounds,
    count,
    flat_positions,
    is_whole,
    normalize,
    shape_of,
    shifted,
    split_axis,
    take,
)
from .selection import ALL, Selection, Selector, resolve

__all__ = [
    "ALL",
    "Index",
    "Selection",
    "Selector",
    "as_slice",
    "bounds",
    "count",
    "flat_positions",
    "is_whole",
    "normalize",
    "resolve",
    "shape_of",
    "shifted",
    "split_axis",
    "take",
]
