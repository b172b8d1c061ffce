"""How a kernel is set beside the NumPy or Python way of doing the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..runner import Bench, Case
from ..timing import Trial
from ..ways import NUMPY, OURS, calls

SMALL = 1000

Call = Callable[[], Any]


class Kernel(NamedTuple):
    """One kernel and its rival, which return equal values."""

    name: str
    rival: str
    """In words, or as code."""
    make: Callable[[int, Path], tuple[Call, Call]]
    """For n values, and a folder for files: the two calls."""
    share: int = 1
    """The large case has this part of the values: for kernels that take longer per value."""


def cases(kernels: Iterable[Kernel]) -> tuple[Case, ...]:
    """Return each kernel with few values and with many."""
    return tuple(
        Case(f"{kernel.name}, {size}", partial(_compare, kernel, size))
        for kernel in kernels
        for size in ("small", "large")
    )


def _compare(kernel: Kernel, size: str, bench: Bench, folder: Path) -> Trial:
    n = SMALL if size == "small" else bench.sizes.kernel // kernel.share
    repeat = bench.sizes.calls if size == "small" else 1
    ours, rival = kernel.make(n, folder)
    expected = rival()
    return Trial(
        [calls(OURS, ours, expected, repeat), calls(NUMPY, rival, expected, repeat, note=kernel.rival)], n=repeat
    )
