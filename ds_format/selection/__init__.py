"""What part of a variable is wanted.

wanted      `sel`, `range_`, `at`, `between` → one index for each dimension
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
from .wanted import resolve

__all__ = [
    "Index",
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
