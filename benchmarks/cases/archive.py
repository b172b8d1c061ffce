"""Archives of small NetCDF files: read one after another, into a list, and converted as a whole, also from ds files."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
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
WRITING = """
import pickle, sys
from benchmarks.peers import write_netcdf
with open(sys.argv[1], "rb") as file:
    pieces = pickle.load(file)
for path, data in pieces:
    write_netcdf(path, data)
"""
ROOT = Path(__file__).parents[2]
READ_BY_TWO = f"{NETCDF}, two processes"
WRITTEN_BY_TWO = f"{NETCDF}, two processes that write"
TO_NETCDF = "archive of ordinary ds files, ds convert to netCDF-4"
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
    paths = _source(folder, -(-bench.sizes.archive // divisor), ".nc")
    _write(paths, kind, format)
    for i, file in enumerate(lists := _lists(folder)):
        file.write_text("\n".join(paths[i::JOBS]))
    theirs = Way(
        READ_BY_TWO, stopwatch(partial(_by_two, READING, lists)), lambda: None, "values are read, nothing is written"
    )
    return _converted(folder, paths, ".ds", kind, theirs)


def convert_to_netcdf(bench: Bench, folder: Path) -> Trial:
    """Convert a folder of ds files to netCDF-4, compared with two processes of netCDF4 that write the same files.

    Their datasets are pickled, so that reading them takes hardly any time.
    """
    paths, target = _source(folder, bench.sizes.archive, ".ds"), folder / "theirs"
    pieces = []
    for i, path in enumerate(paths):
        ds.write(path, station(i, ORDINARY))
        pieces.append((str(target / f"{i:06d}.nc"), stored(station(i, ORDINARY))))
    for i, file in enumerate(lists := _lists(folder)):
        file.write_bytes(pickle.dumps(pieces[i::JOBS], protocol=5))
    work = partial(_by_two, WRITING, lists)

    def clear() -> None:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()

    def check() -> None:
        clear()
        work()
        for i in (0, len(paths) - 1):
            expect_report(WRITTEN_BY_TWO, read_netcdf(pieces[i][0]), station(i, ORDINARY))

    theirs = Way(WRITTEN_BY_TWO, stopwatch(work, clear), check, "the datasets are unpickled")
    return _converted(folder, paths, ".nc", ORDINARY, theirs)


def _source(folder: Path, n: int, suffix: str) -> list[str]:
    """Return the paths of files that are converted, in a new folder."""
    source = folder / "in"
    source.mkdir()
    return [str(source / f"{i:06d}{suffix}") for i in range(n)]


def _converted(folder: Path, paths: Sequence[str], suffix: str, kind: str, theirs: Way) -> Trial:
    """Return a trial: all files by the command, the rival, and one file after another."""
    target = folder / "out"
    options = ["to:", suffix[1:], "jobs:", str(JOBS)]
    words = [*command(), "convert", str(folder / "in"), str(target), *options]
    variables = environment(PACKAGE)

    def work() -> None:
        subprocess.run(words, check=True, env=variables, stderr=subprocess.DEVNULL)

    def clear() -> None:
        shutil.rmtree(target, ignore_errors=True)

    def check() -> None:
        clear()
        work()
        for i in (0, len(paths) - 1):
            expect_report(OURS, ds.read(target / f"{i:06d}{suffix}"), station(i, kind))
        clear()

    def loop() -> None:
        one = str(folder / f"one{suffix}")
        for path in paths:
            ds.convert(path, one)

    ways = [
        Way(OURS, stopwatch(work, clear), check, f"ds convert in out {' '.join(options)}"),
        theirs,
        Way(IN_A_LOOP, stopwatch(loop), lambda: None, "ds.convert in a loop"),
    ]
    return Trial(ways, n=len(paths), repetitions=(1, 3))


def _lists(folder: Path) -> list[Path]:
    """Return the paths of files, each with the work of one process."""
    return [folder / f"{i}.list" for i in range(JOBS)]


def _by_two(program: str, lists: Sequence[Path]) -> None:
    """Run a program in two processes at once, each with a list of work."""
    processes = [subprocess.Popen([sys.executable, "-c", program, str(file)], cwd=ROOT) for file in lists]
    ends = [process.wait() for process in processes]
    if any(ends):
        raise ValueError("netCDF4 could not read or write the files")


GROUP = Group(
    "Archives of NetCDF files",
    "The station reports above as NetCDF files, and as ds files that are converted to these. Whole commands are timed "
    "with the start of their processes.",
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
        Case(TO_NETCDF, convert_to_netcdf),
    ),
    threads=f"`ds convert` has {JOBS} jobs",
)
