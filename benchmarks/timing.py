"""Timing: every way once, then every way again, so that what slows the machine slows all of them."""

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
    """How one program does the work of a case."""

    name: str
    """Whose way it is; what targets refer to."""
    run: Callable[[], float]
    """Do the work once; return what it took, in the unit of the trial."""
    check: Callable[[], None]
    """Do the work once, and raise if its result is wrong."""
    note: str = ""
    """How it does it, if that is not plain."""


class Trial(NamedTuple):
    """A case that is ready to run."""

    ways: Sequence[Way]
    """Ours first."""
    n: int = 1
    """Pieces of work in one run: numbers are per piece."""
    size: int = 0
    """Bytes of data in one piece, or 0 if a rate means nothing."""
    unit: str = "s"
    """`s` or `MB`."""
    repetitions: tuple[int, int] = (1, 1000)
    """Fewest and most that make sense."""
    close: Callable[[], object] = lambda: None
    """Close what all rounds share."""


class Result(NamedTuple):
    """What a case took."""

    case: str
    unit: str
    size: int
    notes: dict[str, str]
    values: dict[str, list[float]]
    """By the names of the ways: one number per round, of one piece of work."""

    def median(self, way: str) -> float:
        """Return the median over all rounds."""
        return median(self.values[way])

    def ratios(self, way: str, rival: str) -> list[float]:
        """Return how many times as much the rival took, in each round."""
        return [theirs / ours for ours, theirs in zip(self.values[way], self.values[rival], strict=True)]


def trim() -> None:
    """Give memory that is free back to the system, where the C library can."""
    if hasattr(C_LIBRARY, "malloc_trim"):
        C_LIBRARY.malloc_trim(0)


def stopwatch(
    work: Callable[[], Any], prepare: Callable[[], object] | None = None, *, collects: bool = False
) -> Callable[[], float]:
    """Return a function that does the work once and returns the seconds it took.

    Preparing is not timed, nor is giving back the memory of what `work` returns. The garbage collector runs before, and
    meanwhile only if it `collects`. Memory that is free goes back to the system before, lest one way finds it warm and
    another does not.
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
        Rounds; the trial may ask for more or fewer.
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
