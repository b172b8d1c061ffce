"""The header of a new classic file and the position of each variable, or a small file as a whole, by a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from ..kernels.classic import compose as kernel
from .format import CODES, FORMATS, NC_CHAR

MAX_LENGTH = {1: 2**31 - 4, 2: 2**32 - 4, 5: 2**63 - 4}
"""Version → maximum length of a dimension, as the library has it."""

MAX_BEGIN = {1: 2**31 - 1, 2: 2**63 - 1, 5: 2**63 - 1}

VERSIONS = {name: version for version, name in FORMATS.items()}

DTYPES = [np.dtype(code or "V1").newbyteorder(">") for code in CODES]
"""Number of a type → dtype in the file."""
SIZES = tuple([dtype.itemsize for dtype in DTYPES])
NUMBERS: dict[Any, int] = {"char": NC_CHAR, "string": NC_CHAR} | {
    np.dtype(code): i for i, code in enumerate(CODES) if code and i != NC_CHAR
}
"""Dtype of numbers, or a word for text → number of the type."""

AttributesToWrite = Mapping[str, tuple[Any, ...]]
"""Name → a tuple, whose second item is bytes for characters, or a scalar or an array of numbers."""
DimensionToWrite = tuple[str, int, bool]
"""Name, length (of the record dimension: the number of records), whether it is the record dimension."""
VariableToWrite = tuple[Any, ...]
"""Name, key of `NUMBERS`, names of its dimensions, of which the first may be the record dimension, and attributes."""


class Extent(NamedTuple):
    """Where the values of a variable are in a file."""

    begin: int
    size: int
    """Bytes of all values, or of those of one record."""
    padding: int
    """Bytes after them that belong to the variable."""
    records: int
    """1 without the record dimension."""
    step: int
    """Bytes from one record to the next."""
    dtype: np.dtype[Any]
    """Big-endian."""
    fill: bytes
    """One value that is not written, which also pads."""


class ClassicLayout(NamedTuple):
    """A new file."""

    header: bytes
    extents: list[Extent]
    size: int
    """Bytes of the file."""


def lay_out(
    version: int,
    dimensions: Sequence[DimensionToWrite],
    attributes: AttributesToWrite,
    variables: Sequence[VariableToWrite],
    fills: tuple[bytes, ...],
) -> ClassicLayout:
    """Return the header and the layout of a file.

    Parameters
    ----------
    version : int
        1, 2 or 5.
    dimensions : sequence of DimensionToWrite
    attributes : AttributesToWrite
        Those of the file.
    variables : sequence of VariableToWrite
    fills : tuple of bytes
        For each type the value that the library fills with, as in a file.

    Raises
    ------
    UnsupportedError
        If the version cannot hold the length of a dimension, or the position of a variable.
    """
    for name, length, is_unlimited in dimensions:
        if length > MAX_LENGTH[version] and not is_unlimited:
            raise UnsupportedError(f'the format {FORMATS[version]} cannot hold the length {length} of "{name}"')
    try:
        made = kernel.compose(version, list(dimensions), attributes, list(variables), NUMBERS, fills, SIZES)
    except OverflowError:
        message = f"the format {FORMATS[version]} cannot hold a place beyond {MAX_BEGIN[5]} bytes"
        raise UnsupportedError(message) from None
    header, places, size = made
    extents = [Extent(*place[:5], DTYPES[place[5]], place[6]) for place in places]
    for each, extent in zip(variables, extents, strict=True):
        if extent.begin > MAX_BEGIN[version]:
            message = f"the format {FORMATS[version]} cannot hold a place beyond {MAX_BEGIN[version]} bytes"
            raise UnsupportedError(message, variable=each[0])
    return ClassicLayout(header, extents, size)


def compose(
    version: int,
    dimensions: Sequence[DimensionToWrite],
    attributes: AttributesToWrite,
    variables: Sequence[VariableToWrite],
    fills: tuple[bytes, ...],
    values: Sequence[NDArray[Any]],
) -> bytes:
    """Return the bytes of a small file.

    Parameters
    ----------
    version, dimensions, attributes, variables, fills
        As of `lay_out`.
    values : sequence of ndarray
        All values of each variable, C-contiguous and in native byte order.
    """
    return kernel.compose(version, list(dimensions), attributes, list(variables), NUMBERS, fills, SIZES, list(values))
