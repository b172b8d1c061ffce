"""Exact statistics of numbers, in bounded memory.

Values are read block by block, in several passes. The first pass computes count, extremes, mean and deviation of each
block. They are combined by the formulas of Chan, Golub and LeVeque (Updating formulae and a pairwise algorithm for
computing sample variances, 1979). Order statistics take one more pass for each 16 bits of a value. Each of these passes
counts the values by their next 16 bits, and so finds the next bits of the values at the requested ranks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError

IN_MEMORY = 64 * 1024 * 1024
"""Maximum bytes of values that are all kept in memory."""
DIGIT = 16
"""Number of bits that one pass counts."""

Blocks = Callable[[], Iterable[Any]]
"""Starts a pass: returns the same arrays or masked arrays on each call."""
Interval = tuple[float | None, float | None]


@dataclass(frozen=True)
class Summary:
    """Statistics of numbers.

    If no value is present, all fields except `count` are None. If all present values are NaN, they are NaN.
    """

    count: int
    """Number of present values, NaN included. All other statistics ignore NaN."""
    min: Any
    max: Any
    mean: float | None
    median: float | None
    std: float | None
    """Root of the mean square of the deviations from the mean."""
    p68: Interval
    """Limits of the middle 68 % of the values: the percentiles 16 and 84, linearly interpolated."""
    p95: Interval
    """The percentiles 2.5 and 97.5."""
    p99: Interval
    """The percentiles 0.5 and 99.5."""


class Moments(NamedTuple):
    """The result of the first pass."""

    n_values: int
    """Number of present values."""
    n: int
    """Number of values that are not NaN."""
    low: Any
    high: Any
    """Minimum and maximum of these values, infinities included."""
    finite: int
    """Number of finite values."""
    mean: float
    """Mean of the finite values."""
    squares: float
    """Sum of the squares of their deviations from the mean."""


NOTHING = Moments(0, 0, math.inf, -math.inf, 0, 0.0, 0.0)
QUANTILES = (0.5, 0.16, 0.84, 0.025, 0.975, 0.005, 0.995)


def summarize(blocks: Blocks, size: int) -> Summary:
    """Return statistics of numbers.

    Parameters
    ----------
    blocks : callable
        Each call starts a pass over arrays or masked arrays of numbers or booleans, all of the same dtype. Missing
        values are ignored. Booleans are 0 and 1.
    size : int
        Bytes of all values. If they are at most `IN_MEMORY`, values are read once, and kept in memory.

    Returns
    -------
    Summary
        Computed in float64, except that `min` and `max` are unconverted values, int or float.

    Raises
    ------
    UnsupportedError
        If the values are not numbers.

    Examples
    --------
    >>> summarize(lambda: [np.array([16.0, 18.0]), np.array([21.0])], 24).p68
    (16.64, 20.04)
    >>> numbers = np.ma.MaskedArray([5, 9, 3], [False, True, False])
    >>> summarize(lambda: [numbers], numbers.nbytes).count
    2
    """
    if size <= IN_MEMORY:
        arrays = [_present(block) for block in blocks()]
        array = np.concatenate(arrays) if arrays else np.zeros(0)
        moments = moments_of(array)
        numbers = array[~np.isnan(array)] if moments.n < moments.n_values else array
        at_ranks = functools.partial(_sorted_at, numbers)
    else:
        moments, dtype = NOTHING, np.dtype(np.float64)
        for block in blocks():
            values = _present(block)
            moments, dtype = merged(moments, moments_of(values)), values.dtype
        at_ranks = functools.partial(_counted_at, blocks, dtype)
    if not moments.n:
        nothing = math.nan if moments.n_values else None
        pair = (nothing, nothing)
        return Summary(moments.n_values, nothing, nothing, nothing, nothing, nothing, pair, pair, pair)
    median, *bounds = _quantiles(at_ranks, moments.n)
    p68, p95, p99 = zip(bounds[::2], bounds[1::2], strict=True)
    mean, std = _mean_and_std(moments)
    return Summary(moments.n_values, moments.low, moments.high, mean, median, std, p68, p95, p99)


def n_passes(size: int, item_size: int) -> int:
    """Return the number of passes of `summarize` for values of `size` bytes in total, and `item_size` bytes each."""
    return 1 if size <= IN_MEMORY else 1 + math.ceil(8 * item_size / DIGIT)


def _present(block: Any) -> NDArray[Any]:
    """Return the present values of a block as a 1-d array."""
    mask = np.ma.getmask(block)
    data = np.ma.getdata(block)
    if data.dtype.kind not in "biuf":
        raise UnsupportedError("statistics need numbers, found strings")
    values = data.reshape(-1) if mask is np.ma.nomask else data[~mask]
    return values.view(np.uint8) if values.dtype.kind == "b" else values


def moments_of(values: NDArray[Any]) -> Moments:
    """Return count, extremes and moments of an (n,) array of numbers."""
    count = values.size
    if values.dtype.kind == "f":
        nan = np.isnan(values)
        values = values[~nan] if nan.any() else values
    if not values.size:
        return NOTHING._replace(n_values=count)
    n, low, high = values.size, values.min().item(), values.max().item()
    if low == -math.inf or high == math.inf:
        values = values[np.isfinite(values)]
    if not values.size:
        return Moments(count, n, low, high, 0, 0.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = values.mean(dtype=np.float64)
        deviations = np.subtract(values, mean, dtype=np.float64)  # NumPy 1 would keep float32
        np.multiply(deviations, deviations, out=deviations)
        return Moments(count, n, low, high, values.size, float(mean), float(deviations.sum()))


def merged(a: Moments, b: Moments) -> Moments:
    """Return the moments of the union of two sets of values."""
    finite = a.finite + b.finite
    mean, squares = a.mean, a.squares
    if b.finite:
        difference = b.mean - a.mean
        mean += difference * (b.finite / finite)
        squares += b.squares + difference * difference * (a.finite * b.finite / finite)
    low, high = min(a.low, b.low), max(a.high, b.high)
    return Moments(a.n_values + b.n_values, a.n + b.n, low, high, finite, mean, squares)


def _mean_and_std(moments: Moments) -> tuple[float, float]:
    if moments.finite < moments.n:
        infinite = [bound for bound in (moments.low, moments.high) if math.isinf(bound)]
        return sum(infinite), math.nan
    return moments.mean, math.sqrt(moments.squares / moments.n)


def _quantiles(at_ranks: Callable[[Sequence[int]], dict[int, Any]], n: int) -> list[float]:
    positions = [quantile * (n - 1) for quantile in QUANTILES]
    ranks = sorted({rank for position in positions for rank in (int(position), min(int(position) + 1, n - 1))})
    values = at_ranks(ranks)
    return [_interpolated(values[int(at)], values[min(int(at) + 1, n - 1)], at % 1) for at in positions]


def _interpolated(low: Any, high: Any, fraction: float) -> float:
    """Interpolate linearly between two values, which may be infinite."""
    if low == high or not fraction:
        return float(low)
    difference = high - low
    if low != -math.inf and (fraction < 0.5 or high == math.inf):
        return float(low + difference * fraction)
    return float(high - difference * (1 - fraction))


def _sorted_at(values: NDArray[Any], ranks: Sequence[int]) -> dict[int, Any]:
    """Return rank → value at this rank among all values."""
    ordered = np.partition(values, ranks)
    return {rank: ordered[rank].item() for rank in ranks}


def _counted_at(blocks: Blocks, dtype: np.dtype[Any], ranks: Sequence[int]) -> dict[int, Any]:
    """Return rank → value at this rank among all values that are not NaN, without keeping them in memory."""
    bits = 8 * dtype.itemsize
    step = min(DIGIT, bits)
    by_prefix = {0: [(rank, rank) for rank in ranks]}
    for shift in range(bits - step, -1, -step):
        counts = {prefix: np.zeros(1 << step, np.int64) for prefix in by_prefix}
        for block in blocks():
            values = _present(block)
            keys = _keys(values[~np.isnan(values)] if dtype.kind == "f" else values)
            digits = (keys >> shift).astype(f"u{step // 8}")
            for prefix, count in counts.items():
                chosen = digits[keys >> (shift + step) == prefix] if shift + step < bits else digits
                count += np.bincount(chosen, minlength=1 << step)
        by_prefix = _extended(by_prefix, counts, step)
    return {rank: _value(prefix, dtype) for prefix, ranks_ in by_prefix.items() for rank, _ in ranks_}


def _extended(
    by_prefix: dict[int, list[tuple[int, int]]], counts: dict[int, NDArray[np.int64]], step: int
) -> dict[int, list[tuple[int, int]]]:
    """Return the ranks by prefixes that are `step` bits longer.

    Each item has a rank among all values, and the rank among the values with this prefix.
    """
    out: dict[int, list[tuple[int, int]]] = {}
    for prefix, ranks in by_prefix.items():
        ends = np.cumsum(counts[prefix])
        for rank, inner_rank in ranks:
            digit = int(np.searchsorted(ends, inner_rank, side="right"))
            before = int(ends[digit - 1]) if digit else 0
            out.setdefault(prefix << step | digit, []).append((rank, inner_rank - before))
    return out


def _keys(values: NDArray[Any]) -> NDArray[Any]:
    """Return unsigned integers that have the same order as the values."""
    unsigned: NDArray[Any] = values.view(f"u{values.itemsize}")
    sign = unsigned.dtype.type(1 << (8 * values.itemsize - 1))
    if values.dtype.kind == "i":
        unsigned = unsigned ^ sign
    elif values.dtype.kind == "f":
        unsigned = np.where(unsigned & sign, ~unsigned, unsigned | sign)
    return unsigned


def _value(key: int, dtype: np.dtype[Any]) -> Any:
    """Return the value of a key of `_keys`."""
    bits = 8 * dtype.itemsize
    sign = 1 << (bits - 1)
    if dtype.kind == "i" or (dtype.kind == "f" and key & sign):
        key ^= sign
    elif dtype.kind == "f":
        key ^= (1 << bits) - 1
    return np.array([key], f"u{dtype.itemsize}").view(dtype)[0].item()
