"""Archives of small NetCDF files: read one after another, into a list, and converted as a whole."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ds_format as ds

from ..data import Data, expect_report, stored
from ..peers import write_netcdf
from ..programs import read_netcdf
from ..reports import Paths, Reports
from ..runner import Bench, Case, Group
from ..stations import ORDINARY, OWN, station
from ..timing import Trial, Way, stopwatch
from ..ways import NETCDF, OURS, SCIPY
from ..worker import environment
from .large import PACKAGE
from .program import command

CLASSIC, NETCDF4 = "NETCDF3_CLASSIC", "NETCDF4"
ORDINARY_FILES = {
    "ordinary classic": (ORDINARY, CLASSIC),
    "ordinary netCDF-4 classic": (ORDINARY, "NETCDF4_CLASSIC"),
    "ordinary netCDF-4": (ORDINARY, NETCDF4),
}
FILES = {**ORDINARY_FILES, "classic": (OWN, CLASSIC), "netCDF-4": (OWN, NETCDF4)}
"""Words → kind of reports, and format. Texts are characters, in NETCDF4 strings."""
JOBS = 2
SHARE = 10
"""netCDF4 takes long, and reads one file of so many where all are read in one process."""
ROUNDS = (1, 5)
READING = """
import sys, netCDF4
for path in open(sys.argv[1]).read().split():
    with netCDF4.Dataset(path) as file:
        for variable in file.variables.values():
            variable[...]
"""
READ_BY_TWO = f"{NETCDF}, two processes"
IN_A_LOOP = f"{OURS}, in a loop"


def read(kind: str, format: str, bench: Bench, folder: Path, **options: Any) -> Trial:
    """Read all variables of each file."""
    reports, paths = _written(bench, folder, kind, format, **options)
    ways = [
        reports.reads(OURS, ds.read, paths),
        reports.reads(NETCDF, read_netcdf, _few(paths), "values and attributes"),
        *(_scipy(reports, paths) if format == CLASSIC else ()),
        reports.bare(),
    ]
    return Trial(ways, n=reports.n, repetitions=ROUNDS)


def read_many(kind: str, format: str, bench: Bench, folder: Path) -> Trial:
    """Read all files into a list."""
    reports, paths = _written(bench, folder, kind, format)

    def theirs(paths: Paths) -> list[Any]:
        return [read_netcdf(path) for path in paths]

    return Trial(
        [
            reports.lists(OURS, ds.read_many, paths, "ds.read_many(paths)"),
            reports.lists(NETCDF, theirs, _few(paths), "a list of all"),
            reports.bare(),
        ],
        n=reports.n,
        repetitions=ROUNDS,
    )


def _written(bench: Bench, folder: Path, kind: str, format: str, **options: Any) -> tuple[Reports, list[str]]:
    reports = Reports(bench, folder, kind)
    paths = reports.paths(".nc")
    _write(paths, kind, format, **options)
    return reports, paths


def _write(paths: Paths, kind: str, format: str, **options: Any) -> None:
    for i, path in enumerate(paths):
        write_netcdf(path, stored(station(i, kind)), format, **options)


def _few(paths: Paths) -> Paths:
    return paths[: -(-len(paths) // SHARE)]


def _scipy(reports: Reports, paths: Paths) -> Iterator[Way]:
    if importlib.util.find_spec("scipy") is None:
        return
    library: Any = importlib.import_module("scipy.io")

    def content(path: str) -> Data:
        with library.netcdf_file(path, mmap=False) as file:
            meta: dict[str, Any] = {
                name: {".dims": variable.dimensions, **_decoded(variable)} for name, variable in file.variables.items()
            }
            meta["."] = _decoded(file)
            return {**{name: variable[...] for name, variable in file.variables.items()}, ".": meta}

    def value(found: Data) -> Data:
        arrays = {name: array.astype(array.dtype.newbyteorder("=")) for name, array in found.items() if name != "."}
        return {**arrays, ".": found["."]}

    yield reports.reads(SCIPY, content, _few(paths), "mmap=False", value)


def _decoded(owner: Any) -> dict[str, Any]:
    attributes = owner._attributes.items()  # there is no other list of them
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes}


def convert(kind: str, format: str, divisor: int, bench: Bench, folder: Path) -> Trial:
    """Convert a folder of files with `ds convert`, beside two processes of netCDF4 that only read them."""
    n, source, target = -(-bench.sizes.archive // divisor), folder / "in", folder / "out"
    source.mkdir()
    paths = [str(source / f"{i:06d}.nc") for i in range(n)]
    _write(paths, kind, format)
    words = [*command(), "convert", str(source), str(target), "jobs:", str(JOBS)]
    variables = environment(PACKAGE)

    def work() -> None:
        subprocess.run(words, check=True, env=variables, stderr=subprocess.DEVNULL)

    def clear() -> None:
        shutil.rmtree(target, ignore_errors=True)

    def check() -> None:
        clear()
        work()
        for i in (0, n - 1):
            expect_report(OURS, ds.read(target / f"{i:06d}.ds"), station(i, kind))
        clear()

    ways = [
        Way(OURS, stopwatch(work, clear), check, f"ds convert in out jobs: {JOBS}"),
        Way(READ_BY_TWO, stopwatch(_reading(folder, paths)), lambda: None, "values are read, nothing is written"),
        Way(IN_A_LOOP, stopwatch(lambda: _loop(paths, folder)), lambda: None, "ds.convert in a loop"),
    ]
    return Trial(ways, n=n, repetitions=(1, 3))


def _loop(paths: Sequence[str], folder: Path) -> None:
    target = str(folder / "one.ds")
    for path in paths:
        ds.convert(path, target)


def _reading(folder: Path, paths: Sequence[str]) -> Callable[[], None]:
    """Return what reads the files in two processes at once."""
    lists = [folder / f"{i}.txt" for i in range(JOBS)]
    for i, file in enumerate(lists):
        file.write_text("\n".join(paths[i::JOBS]))

    def work() -> None:
        processes = [subprocess.Popen([sys.executable, "-c", READING, str(file)]) for file in lists]
        ends = [process.wait() for process in processes]
        if any(ends):
            raise ValueError("netCDF4 could not read the files")

    return work


GROUP = Group(
    "Archives of NetCDF files",
    "The station reports above as NetCDF files. Whole commands are timed with the start of their processes.",
    (
        *(Case(f"{words}, read", partial(read, *file)) for words, file in FILES.items()),
        Case("netCDF-4 with zlib, read", partial(read, OWN, NETCDF4, zlib=True)),
        *(Case(f"{words}, read_many", partial(read_many, *file)) for words, file in FILES.items()),
        *(
            Case(f"archive of {share}{words} files, ds convert", partial(convert, *file, divisor))
            for share, divisor in {"": 1, "half as many ": 2}.items()
            for words, file in FILES.items()
            if divisor == 1 or file[0] == OWN
        ),
    ),
    threads=f"`ds convert` has {JOBS} jobs",
)
