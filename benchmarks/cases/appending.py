"""A report of an hour appended to ten years of hours, as a series and as a file, and reading all of it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from ..data import expect
from ..runner import Bench, Case, Group
from ..timing import Trial, Way, stopwatch
from ..ways import OURS

HOURS = 87_660
"""Ten years."""
APPENDED = 7
"""Reports that are appended to the series that is read: no more are uncompacted at any time."""
EACH = 8
"""Reports that one round appends."""
VARIABLES = [f"x{i}" for i in range(8)]


def hours(start: int, n: int = 1) -> dict[str, Any]:
    """Return reports of eight variables and their times."""
    data: dict[str, Any] = {name: np.arange(start, start + n) + i / 8 for i, name in enumerate(VARIABLES)}
    data["time"] = np.arange(start, start + n)
    meta: dict[str, Any] = {name: {".dims": ["time"], "units": "K", "long_name": name} for name in VARIABLES}
    meta["time"] = {".dims": ["time"], "units": "hours since 2000-01-01"}
    return {**data, ".": meta}


def append(bench: Bench, folder: Path) -> Trial:
    """Append one report; every 8th append also compacts segments, so that eight are measured at once."""
    return Trial([_append(OURS, folder, series=True), _append("file", folder, series=False)], n=EACH)


def _append(name: str, folder: Path, *, series: bool) -> Way:
    path = str(folder / f"{name}.ds")
    ds.append(path, hours(0, HOURS), "time", series=series)
    numbers = itertools.count(HOURS)
    reports: list[dict[str, Any]] = []

    def prepare() -> None:
        reports[:] = [hours(next(numbers)) for _ in range(EACH)]

    def work() -> None:
        for report in reports:
            ds.append(path, report, "time")

    def check() -> None:
        prepare()
        work()
        found = ds.read(path)
        expect(name, found, hours(0, len(found["time"])))

    return Way(name, stopwatch(work, prepare), check, "a series" if series else "one file")


def read(bench: Bench, folder: Path) -> Trial:
    """Read all reports."""
    series, file = str(folder / "series.ds"), str(folder / "file.ds")
    ds.append(series, hours(0, HOURS), "time", series=True)
    for i in range(APPENDED - 1):
        ds.append(series, hours(HOURS + i), "time")
    ds.convert(series, file)
    return Trial([_read(OURS, series), _read("file", file)])


def _read(name: str, path: str) -> Way:
    return Way(
        name, stopwatch(lambda: ds.read(path)), lambda: expect(name, ds.read(path), hours(0, HOURS + APPENDED - 1))
    )


GROUP = Group(
    "Appending",
    "A report of nine variables is appended to ten years of hourly reports, 6 MB, and compaction is part of it. The "
    "series that is read has seven files, the most that are not compacted at any time.",
    (
        Case("append a report", append),
        Case("read a series", read),
    ),
)
