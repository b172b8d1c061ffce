"""Rounding of floats to significant decimal digits or to bits, so that they compress better.

Rounded values are floats like others, with zeros at the end of their significands. Digits are rounded by "granular bit
round", bits by "bit round", to the same numbers as in netCDF-C 4.9 and later (`nc_def_var_quantize`). There are three
exceptions, all of which keep a value as it is: subnormal numbers, numbers that would become infinite, and numbers that
are a mark of missing values, or would become one.

The error is at most half a unit of the last digit: of 3 digits and a value of 1.0 to 9.99, 0.005. With bits it is at
most 2 to the power of -(bits + 1), relative to the value.

Sources: Delaunay et al. 2019, Geosci. Model Dev. 12, 4099 (granular bit grooming); Kouznetsov 2021, Geosci. Model Dev.
14, 377 (bit round); libhdf5/hdf5var.c of netCDF-C 4.9.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..base import threads
from ..kernels.hdf5.chunks import round_floats

DIGITS_ATTRIBUTE = "_QuantizeGranularBitRoundNumberOfSignificantDigits"
BITS_ATTRIBUTE = "_QuantizeBitRoundNumberOfSignificantBits"
"""Attributes in which netCDF-C stores how a variable was rounded (include/nc4internal.h)."""

CONTAINER_ATTRIBUTE, CF_DIGITS_ATTRIBUTE, CF_BITS_ATTRIBUTE = "quantization", "quantization_nsd", "quantization_nsb"
"""Attributes in which CF 1.12 (section 8.4) has the variable that names the algorithm, and the digits or bits."""

ATTRIBUTES = (DIGITS_ATTRIBUTE, BITS_ATTRIBUTE, CONTAINER_ATTRIBUTE, CF_DIGITS_ATTRIBUTE, CF_BITS_ATTRIBUTE)
"""All attributes that describe how a variable was rounded."""

MOST_DIGITS = {4: 6, 8: 15}
MOST_BITS = {4: 23, 8: 52}
"""Bytes of a float → the most digits, or bits of the significand without its first one, that it has."""

PIECE = 1 << 18
"""Values that a thread rounds at a time."""


class Rounding(NamedTuple):
    """How values are rounded; exactly one of the numbers is given."""

    digits: int | None = None
    """Significant decimal digits, 1 or more."""
    bits: int | None = None
    """Bits of the significand after its first one, 1 or more."""

    @property
    def algorithm(self) -> str:
        """Its name in CF."""
        return "bitround" if self.digits is None else "granular_bitround"

    def attributes(self, container: str) -> dict[str, Any]:
        """Return the attributes that describe it; `container` is the name of the variable with the algorithm."""
        n = np.int32(self.bits or 0 if self.digits is None else self.digits)
        names = (BITS_ATTRIBUTE, CF_BITS_ATTRIBUTE) if self.digits is None else (DIGITS_ATTRIBUTE, CF_DIGITS_ATTRIBUTE)
        return {names[0]: n, CONTAINER_ATTRIBUTE: container, names[1]: n}

    def container(self) -> dict[str, str]:
        """Return the attributes of the variable with the algorithm."""
        return {"algorithm": self.algorithm, "implementation": f"ds_format version {__version__}"}

    def most(self, dtype: np.dtype[Any]) -> int:
        """Return the highest number that has a meaning for a dtype of floats."""
        return (MOST_BITS if self.digits is None else MOST_DIGITS)[dtype.itemsize]

    def apply(self, values: NDArray[Any], kept: Iterable[Any] = ()) -> NDArray[Any]:
        """Return rounded values.

        Parameters
        ----------
        values : (N,) float32 or float64
            In native byte order. They are not changed.
        kept : iterable of numbers
            Numbers that mean "missing". They stay, and no other value becomes one of them.
        """
        values = np.ascontiguousarray(values)
        code = f"u{values.itemsize}"
        starts, below, above = _table(values.itemsize, self.digits, self.bits)
        marks = np.array([number for number in kept if np.isfinite(number)], values.dtype).view(code)
        rounded = np.empty_like(values)
        source, target = values.view(code), rounded.view(code)

        def work(first: int, last: int) -> None:
            round_floats(source[first:last], target[first:last], starts, below, above, marks)

        threads.each(work, values.size, PIECE)
        return rounded


@functools.cache
def _table(size: int, digits: int | None, bits: int | None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the numbers of zeros by exponent, as `round_floats` takes them.

    A power of ten is crossed at most once from one power of two to the next, and only there the number changes.
    """
    dtype = np.dtype(f"f{size}")
    width, n = MOST_BITS[size], 256 if size == 4 else 2048
    starts = np.arange(n, dtype=f"u{size}") << np.asarray(width, f"u{size}")
    below, above = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    if digits is None:
        below[1:-1] = above[1:-1] = width - (bits or 0)
        return starts, below, above
    first, last = starts.view(dtype), (starts + starts[1] - starts.dtype.type(1)).view(dtype)
    for exponent in range(1, n - 1):
        low, high = float(first[exponent]), float(last[exponent])
        below[exponent] = above[exponent] = _zeros(low, digits, width)
        if _digits_before_point(high) > _digits_before_point(low):
            starts[exponent] = _first_of(_digits_before_point(high), int(starts[exponent]), 1 << width, dtype)
            above[exponent] = _zeros(high, digits, width)
    return starts, below, above


def _digits_before_point(value: float) -> int:
    """Return how many digits a positive number has before its decimal point, computed as netCDF-C does."""
    significand, exponent = math.frexp(value)
    return math.floor(exponent * (math.log(2) / math.log(10)) + math.log10(significand)) + 1


def _zeros(value: float, digits: int, width: int) -> int:
    """Return how many bits at the end of a positive number become zeros."""
    _, exponent = math.frexp(value)
    unit = math.floor(math.log(10) / math.log(2) * (_digits_before_point(value) - digits))
    return min(max(width - (abs(exponent - unit) - 1), 0), width)


def _first_of(n_digits: int, start: int, length: int, dtype: np.dtype[Any]) -> int:
    """Return the bits of the first number with so many digits, by bisection."""
    low, high = 0, length - 1
    while low < high:
        middle = (low + high) // 2
        value = np.array(start + middle, f"u{dtype.itemsize}").view(dtype)
        if _digits_before_point(float(value)) < n_digits:
            low = middle + 1
        else:
            high = middle
    return start + low
