"""Runs cases one after another, each in a folder of its own that is removed afterwards."""

from __future__ import annotations

import gc
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from ds_format import DsWarning

from .sizes import SMOKE, Sizes
from .timing import Result, Trial, measure
from .worker import Worker


class Bench(NamedTuple):
    """The arguments that all cases share."""

    sizes: Sizes
    folder: Path
    """Folder of files: in memory, if the cost of the disk is not to be measured."""
    reference: Worker | None
    """ds-format 5.0.2, if it is installed."""
    repetitions: int
    zippy: Path | None = None
    """Folder from which to import the reference program of ZDS, if it is installed."""
    disk: Path | None = None
    """Folder of files if the cost of the disk is to be measured; None if there is no disk."""

    def place(self, case: Case) -> Path | None:
        """Return the folder for the files of a case, or None if it cannot run."""
        return self.disk if case.on_disk else self.folder


class Case(NamedTuple):
    """A piece of work to measure."""

    name: str
    build: Callable[[Bench, Path], Trial]
    """Prepares the files in an empty folder."""
    on_disk: bool = False
    """Whether this folder must be on a disk."""


class Group(NamedTuple):
    """Cases that are printed together."""

    title: str
    note: str
    cases: tuple[Case, ...]
    threads: str = "one thread"
    """Number of threads of ds_format."""


class SkippedError(Exception):
    """A case cannot run here; the message says why."""


def need_room(folder: Path, size: int) -> None:
    """Raise SkippedError if the file system of a folder has less than `size` bytes of free space."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise SkippedError(f"needs {size / 1e9:.1f} GB in {folder}, where {free / 1e9:.1f} GB are free")


def run(bench: Bench, cases: Iterable[Case]) -> tuple[list[Result], dict[str, str]]:
    """Run cases, and print the current one on stderr.

    Returns
    -------
    list of Result
    dict
        Case → reason why it was left out.
    """
    results: list[Result] = []
    skipped: dict[str, str] = {}
    for case in cases:
        start = time.perf_counter()
        print(f"{case.name} ...", end=" ", file=sys.stderr, flush=True)
        try:
            with warnings.catch_warnings():  # stations that differ, as they do in an archive
                warnings.filterwarnings("ignore", "attributes of the dataset differ", DsWarning)
                results.append(run_case(bench, case))
        except SkippedError as reason:
            skipped[case.name] = str(reason)
        print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return results, skipped


def run_case(bench: Bench, case: Case) -> Result:
    """Run one case.

    Raises
    ------
    SkippedError
        If it cannot run here.
    UnequalError
        If two ways do not give equal values.
    """
    parent = bench.place(case)
    if parent is None:
        raise SkippedError("no folder is on a disk: --disk names one")
    if bench.sizes is SMOKE:  # the collections before each way only make times steadier: leave out what is loaded
        gc.collect()
        gc.freeze()
    folder = Path(tempfile.mkdtemp(prefix="ds-bench-", dir=parent))
    try:
        return measure(case.name, case.build(bench, folder), bench.repetitions)
    finally:
        shutil.rmtree(folder)
        if bench.reference is not None:
            bench.reference.ask("load", path=None)
