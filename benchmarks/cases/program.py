"""The command line: whole processes, from start to end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import ds_format as ds

from ..data import dataset, floats
from ..runner import Bench, Case, Group
from ..timing import Trial, Way, stopwatch
from ..ways import DS_FILE, OURS, PYTHON, REFERENCE
from ..worker import environment
from .large import PACKAGE

HEADER_ONLY = {
    "ds attrs x.ds": (("attrs", "x", "FILE"), "units: m"),
    "ds dim x.ds": (("dim", "n", "FILE"), "10"),
    "ds dims x.ds": (("dims", "FILE"), "n"),
    "ds ls x.ds": (("ls", "FILE"), "x"),
    "ds meta x.ds": (("meta", "FILE"), "units"),
    "ds size x.ds": (("size", "x", "FILE"), "10"),
    "ds type x.ds": (("type", "x", "FILE"), "float64"),
}
"""Commands that read nothing but the header: case → words, and what is printed among other things."""


def command() -> list[str]:
    """Return the installed program, or the package run as one."""
    script = Path(sys.executable).with_name("ds")
    return [str(script)] if script.exists() else [sys.executable, "-m", "ds_format"]


def start(words: Sequence[str], expected: str, bench: Bench, folder: Path) -> Trial:
    """Run the program with arguments, among which FILE stands for a tiny file."""
    path = str(folder / "x.ds")
    ds.write(path, dataset(x=floats(10)))
    given = [path if word == "FILE" else word for word in words]
    ours = command()
    ways = [
        _way(OURS, [*ours, *given], environment(PACKAGE), expected, " ".join([*map(_short, ours), *words])),
        _way(PYTHON, [sys.executable, "-c", "pass"], environment(), ""),
    ]
    if bench.reference is not None:
        script = Path(bench.reference.python).with_name("ds")
        if script.exists():
            ways.append(_way(REFERENCE, [str(script), *given], bench.reference.environment, expected))
    return Trial(ways, repetitions=(bench.sizes.starts, 1000))


def netcdf4(words: Sequence[str], bench: Bench, folder: Path) -> Trial:
    """Run the program with a netCDF-4 file, and with a ds file of the same dataset."""
    data = dataset(x=floats(10))
    ds.write(folder / "x.nc", data)
    ds.write(folder / "x.ds", data)
    ways = [
        _way(name, [*command(), *words, str(folder / file)], environment(PACKAGE), "x", file)
        for name, file in ((OURS, "x.nc"), (DS_FILE, "x.ds"))
    ]
    return Trial(ways, repetitions=(bench.sizes.starts, 1000))


def _short(word: str) -> str:
    return Path(word).name


def _way(name: str, words: list[str], variables: Mapping[str, str], expected: str, note: str = "") -> Way:
    def work() -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True, env=variables).stdout

    def check() -> None:
        found = work()
        if expected not in found:
            raise ValueError(f"{' '.join(words)}: found {found!r}, expected {expected!r}")

    return Way(name, stopwatch(work), check, note)


GROUP = Group(
    "Starting the program",
    "Wall time of whole processes.",
    (
        *(Case(name, partial(start, *given)) for name, given in HEADER_ONLY.items()),
        Case("ds --version", partial(start, ("--version",), ".")),
        Case("ds ls x.nc", partial(netcdf4, ("ls",))),
        Case("ds info x.nc", partial(netcdf4, ("info",))),
    ),
)
