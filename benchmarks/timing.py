"""Timing: every way once, then every way again, so that a slow machine affects all of them."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

C_LIBRARY: Any = ctypes.CDLL(None) if os.name == "posix" else None


class Way(NamedTuple):
    """The way in which one program does the work of a case."""

    name: str
    """Name of the way, which targets refer to."""
    run: Callable[[], float]
    """Does the work once; returns its cost, in the unit of the trial."""
    check: Callable[[], None]
    """Does the work once; raises an exception if its result is wrong."""
    note: str = ""
    """Explanation of the way, if needed."""


class Trial(NamedTuple):
    """A case that is ready to run."""

    ways: Sequence[Way]
    """All ways, ours first."""
    n: int = 1
    """Number of pieces of work in one run. Results are per piece."""
    size: int = 0
    """Bytes of data in one piece, or 0 if a rate is meaningless."""
    unit: str = "s"
    """`s`, `MB`, or what is counted."""
    repetitions: tuple[int, int] = (1, 1000)
    """Minimum and maximum number of rounds."""
    close: Callable[[], object] = lambda: None
    """Closes resources of all rounds."""


class Result(NamedTuple):
    """The measured cost of a case."""

    case: str
    unit: str
    size: int
    notes: dict[str, str]
    values: dict[str, list[float]]
    """Name of the way → the cost of one piece of work in each round."""

    def median(self, way: str) -> float:
        """Return the median over all rounds."""
        return median(self.values[way])

    def ratios(self, way: str, rival: str) -> list[float]:
        """Return the cost of the rival divided by that of the way, in each round."""
        return [theirs / ours for ours, theirs in zip(self.values[way], self.values[rival], strict=True)]


def trim() -> None:
    """Return free memory to the operating system, if the C library supports this."""
    if hasattr(C_LIBRARY, "malloc_trim"):
        C_LIBRARY.malloc_trim(0)


def stopwatch(
    work: Callable[[], Any], prepare: Callable[[], object] | None = None, *, collects: bool = False
) -> Callable[[], float]:
    """Return a function that does the work once and returns the seconds it took.

    Preparing is not timed, and neither is releasing the result of `work`. The garbage collector runs before, and during
    the work only if `collects` is true. Free memory is returned to the operating system before, so that all ways start
    in the same state.
    """

    def run() -> float:
        if prepare is not None:
            prepare()
        gc.collect()
        trim()
        if not collects:
            gc.disable()
        try:
            start = time.perf_counter()
            kept = work()
            seconds = time.perf_counter() - start
        finally:
            gc.enable()
        del kept
        return seconds

    return run


def measure(case: str, trial: Trial, repetitions: int) -> Result:
    """Check all ways, run each once to warm up, time them in turn, and close the trial.

    Parameters
    ----------
    case : str
    trial : Trial
    repetitions : int
        Number of rounds. The trial may limit it.
    """
    with contextlib.closing(trial):
        return _measured(case, trial, repetitions)


def _measured(case: str, trial: Trial, repetitions: int) -> Result:
    for way in trial.ways:
        way.check()
    least, most = trial.repetitions
    rounds = min(max(repetitions, least), most)
    if most > 1:
        for way in trial.ways:
            way.run()
    values: dict[str, list[float]] = {way.name: [] for way in trial.ways}
    for _ in range(rounds):
        for way in trial.ways:
            values[way.name].append(way.run() / trial.n)
    notes = {way.name: way.note for way in trial.ways}
    return Result(case, trial.unit, trial.size, notes, values)
