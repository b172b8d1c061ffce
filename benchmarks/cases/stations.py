"""Reports of stations: small files as users have them, and plain ones, whose metadata are all equal or each its own."""

from __future__ import annotations

import importlib
import json
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from .. import peers
from ..data import Data, expect, expect_report, expect_whole, stored
from ..documents import orjson
from ..formats import OUR_PROGRAM
from ..machine import MOST_THREADS
from ..programs import WITH_NETCDF4, Program, itself, programs
from ..reports import Paths, Reports, writes_into
from ..runner import Bench, Case, Group
from ..stations import ALL_OWN, EQUAL, ORDINARY, OWN, SCALARS, station
from ..timing import Trial, Way
from ..ways import (
    BARE,
    JSON,
    LOOP,
    ORJSON,
    OURS,
    REFERENCE,
    XARRAY,
    each,
    reference_writes,
    scaled,
)
from .many import has_xarray

PLAIN = {EQUAL: "headers equal", OWN: "headers differ", ALL_OWN: "all entries differ"}
KINDS = {ORDINARY: "ordinary", **PLAIN}
WANTED = "pressure"
BOTH = (ORDINARY, OWN)
ROUNDS = (1, 5)
"""Some ways take hundreds of times as long as ours."""
SHARE, MERGE_SHARE = 4, 100
"""Of so many files the reference writes one, or merges one."""


def read(kind: str, names: list[str] | None, bench: Bench, folder: Path) -> Trial:
    """Read variables of each file, or all."""
    reports = Reports(bench, folder, kind, names)
    ways = [
        reports.reads(OURS, partial(ds.read, variables=names), reports.ours),
        reports.bare(),
        *map(reports.program_reads, programs()),
        *reports.reference(reports.expected(0), variables=names),
    ]
    return Trial(ways if names else [*ways, *_headers_alone(reports)], n=reports.n, repetitions=ROUNDS)


def _headers_alone(reports: Reports) -> Iterator[Way]:
    """Ways to make objects of the JSON of each header, and nothing else."""
    lines = [Path(path).read_bytes().split(b"\n")[1] for path in reports.ours]
    library = orjson()
    ways = {JSON: json.loads, **({} if library is None else {ORJSON: library.loads})}
    for name, loads in ways.items():
        check = partial(_check_header, name, loads, lines[0])
        yield each(name, loads, lines, check, reports.n, note="of the header alone, in memory")


def _check_header(name: str, loads: Callable[[bytes], Any], line: bytes) -> None:
    expect(f"{name}: variables", WANTED in loads(line), True)


def open_(kind: str, bench: Bench, folder: Path) -> Trial:
    """Open each file, and close it."""
    reports = Reports(bench, folder, kind)
    meta = reports.expected(0)["."]

    def check() -> None:
        with ds.open(reports.ours[0]) as file:
            expect_whole(OURS, {".": {".": file.meta["."]}}, {".": {".": meta["."]}})

    def way(program: Program) -> Way:
        paths = reports.written(program)

        def check_opened() -> None:
            program.open(paths[-1])

        return each(program.name, program.open, paths, check_opened, reports.n, note=program.opening)

    return Trial(
        [
            each(OURS, lambda path: ds.open(path).close(), reports.ours, check, reports.n),
            reports.bare(),
            *map(way, programs()),
            *reports.reference({".": {".": meta["."]}}, variables=[], note="ds.read(path, [])"),
        ],
        n=reports.n,
        repetitions=ROUNDS,
    )


def read_many(kind: str, bench: Bench, folder: Path) -> Trial:
    """Read all files into a list."""
    reports = Reports(bench, folder, kind)

    def loop(paths: Paths) -> list[Any]:
        return [ds.read(path) for path in paths]

    def way(name: str, read: Any, note: str, **options: Any) -> Way:
        return reports.lists(name, read, reports.ours, note, **options)

    return Trial(
        [
            way(OURS, ds.read_many, "ds.read_many(paths)"),
            way(f"{OURS}, one thread", partial(ds.read_many, threads=1), "ds.read_many(paths, threads=1)"),
            way(f"{OURS}, collecting", ds.read_many, "garbage is collected meanwhile", collects=True),
            reports.bare(),
            way(LOOP, loop, "[ds.read(path) for path in paths]"),
            way(f"{LOOP}, collecting", loop, "garbage is collected meanwhile", collects=True),
            *map(reports.program_lists, programs()),
            *reports.reference(reports.expected(0), note="a loop, no list"),
        ],
        n=reports.n,
        repetitions=ROUNDS,
    )


def merge(kind: str, bench: Bench, folder: Path) -> Trial:
    """Read all files as one dataset."""
    reports = Reports(bench, folder, kind)
    stack = {"stack": SCALARS} if kind == ORDINARY else {}
    ours = partial(ds.read_many, dim="time", **stack)
    return Trial(
        [
            reports.merges(OURS, ours, reports.ours, 'ds.read_many(paths, dim="time")'),
            reports.merges(f"{OURS}, one thread", partial(ours, threads=1), reports.ours, "threads=1"),
            reports.bare(),
            *(reports.program_merges(program) for program in programs() if program.name != XARRAY),
            *(_merge_xarray(reports, program) for program in programs() if program.name == XARRAY and has_xarray()),
            *_merge_reference(reports, scalars=not stack),
        ],
        n=reports.n,
        repetitions=ROUNDS,
    )


def _merge_xarray(reports: Reports, program: Program) -> Way:
    open_many = partial(importlib.import_module("xarray").open_mfdataset, decode_times=False, data_vars="all")

    def read(paths: Paths) -> Any:
        with open_many(paths) as file:
            return file.load()

    note = 'open_mfdataset(paths, decode_times=False, data_vars="all").load()'
    return reports.merges(XARRAY, read, reports.written(program), note, scalars=False)  # a single file keeps them


def _merge_reference(reports: Reports, scalars: bool) -> list[Way]:
    worker = reports.bench.reference
    if worker is None:
        return []
    few = reports.folder / "few"
    few.mkdir()
    paths = reports.ours[::MERGE_SHARE]
    for i, path in enumerate(paths):
        ds.write(few / Path(path).name, station(i, reports.kind))
    pickled = reports.folder / "merged.pickle"

    def check() -> None:
        worker.ask("readdir", path=str(few), merge="time", pickled=str(pickled))
        with open(pickled, "rb") as file:
            expect(REFERENCE, reports.values(pickle.load(file)), reports.merged(len(paths), scalars))
        pickled.unlink()

    def run() -> float:
        return float(worker.ask("readdir", path=str(few), merge="time"))

    return [scaled(Way(REFERENCE, run, check, 'ds.readdir(path, merge="time")'), len(paths), reports.n)]


def write(kind: str, bench: Bench, folder: Path) -> Trial:
    """Write files that are whole or absent: one report again and again, or each its own."""
    n = bench.sizes.files
    datasets = [station(i, kind) for i in range(1 if kind == EQUAL else n)]
    temporary = str(folder / "temporary.ds")
    bare = OUR_PROGRAM._replace(
        name=BARE,
        write=lambda path, buffers: peers.write_bare_renamed(path, temporary, buffers),
        writing="open, writev, close, rename",
        made=lambda data: _buffers(data, temporary),
    )
    paths = [str(folder / f"{i:06d}.ds") for i in range(-(-n // SHARE))]
    theirs = reference_writes(bench, folder, paths, list(map(stored, datasets[: len(paths)])), ds.read, expect_report)
    return Trial(
        [
            *(
                writes_into(program, folder / str(i), n, datasets)
                for i, program in enumerate([OUR_PROGRAM, bare, *programs()])
            ),
            *(scaled(way, len(paths), n) for way in theirs),
        ],
        n=n,
        repetitions=ROUNDS,
    )


def _buffers(data: Data, path: str) -> list[Any]:
    """Return the header of a file as bytes, and what follows it."""
    ds.write(path, data)
    written, end = peers.read_bare(path), peers.body_of(path)
    Path(path).unlink()
    return [written[:end], written[end:]]


DEFLATED: dict[str, Any] = {"compression": "zlib", "level": 1, "shuffle": True}


CLASSIC_FILE, DEFLATED_FILE, CDF5 = "classic NetCDF", "netCDF-4 with zlib", "NETCDF3_64BIT_DATA"
NETCDF_FILES = (CLASSIC_FILE, "netCDF-4", DEFLATED_FILE)


def _deflated(data: Data) -> Data:
    """Return a report whose numbers along a dimension are compressed, as if they were read from such a file."""
    meta = {name: dict(entry) for name, entry in data["."].items()}
    for name, value in data.items():
        if name != "." and np.ndim(value) and np.asarray(value).dtype.kind in "fi":
            meta[name][".netcdf"] = {**meta[name].get(".netcdf", {}), **DEFLATED}
    return {**data, ".": meta}


def write_netcdf(how: str, bench: Bench, folder: Path) -> Trial:
    """Write NetCDF files, beside netCDF4."""
    n = bench.sizes.files
    datasets = [station(i, ORDINARY) for i in range(n)]
    ours = OUR_PROGRAM._replace(suffix=".nc", made=_deflated if how == DEFLATED_FILE else itself)
    theirs = WITH_NETCDF4
    if how == DEFLATED_FILE:
        write = partial(peers.write_netcdf, zlib=True, complevel=1, shuffle=True)
        theirs = theirs._replace(write=write, writing="zlib=True, complevel=1")
    if how == CLASSIC_FILE:
        ours = ours._replace(write=partial(ds.write, format=CDF5))
        theirs = theirs._replace(write=partial(peers.write_netcdf, format=CDF5), writing=CDF5)
    ways = [writes_into(each, folder / str(i), n, datasets) for i, each in enumerate((ours, theirs))]
    return Trial(ways, n=n, repetitions=ROUNDS)


GROUP = Group(
    "Station reports",
    "Small files. Ordinary reports are those that users have: 14 variables, of which two have gaps, one is packed and "
    "has gaps, and there are 24 texts, 24 booleans and three scalars; 64 attributes. Plain ones have nine variables of "
    "24 numbers without gaps, and 55 attributes. Their headers are equal; or they differ as those of most archives do, "
    "in station, position and history; or no entry of a variable is that of another file. Times are per file; those "
    "that take long do fewer. All ways read and write values, attributes and dimensions, but for these: to open, some "
    "read nothing; merged are values only, but for ds_format, ds-format and xarray; system calls know bytes; some "
    "programs give missing and packed numbers as they are stored. The collector of garbage is off, unless a row says "
    "otherwise.",
    (
        *(Case(f"stations, read, {words}", partial(read, kind, None)) for kind, words in KINDS.items()),
        *(Case(f"stations, read one variable, {KINDS[kind]}", partial(read, kind, [WANTED])) for kind in BOTH),
        *(Case(f"stations, open and close, {KINDS[kind]}", partial(open_, kind)) for kind in BOTH),
        *(Case(f"stations, read_many, {KINDS[kind]}", partial(read_many, kind)) for kind in (ORDINARY, EQUAL, OWN)),
        *(Case(f'stations, read_many(dim="time"), {words}', partial(merge, kind)) for kind, words in KINDS.items()),
        *(Case(f"stations, write, {KINDS[kind]}", partial(write, kind)) for kind in (ORDINARY, EQUAL, OWN)),
        *(Case(f"stations, write {how}, ordinary", partial(write_netcdf, how)) for how in NETCDF_FILES),
    ),
    threads=f"`ds.read_many` may take {MOST_THREADS} threads, everything else one",
)
