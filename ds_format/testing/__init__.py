"""The contract of file formats, for authors of formats in other packages.

`FormatContract` is a class of tests that pytest runs. This package itself needs no pytest.
"""

from .blocks import small_blocks
from .comparing import Loss, Passage, exactly, require_same, same_data, same_value, variables
from .contract import FormatContract
from .examples import examples

__all__ = [
    "FormatContract",
    "Loss",
    "Passage",
    "exactly",
    "examples",
    "require_same",
    "same_data",
    "same_value",
    "small_blocks",
    "variables",
]
