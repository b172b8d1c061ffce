"""Reports of stations: small files as they are, with metadata, all equal or each its own."""

from __future__ import annotations

import importlib
import json
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import ds_format as ds

from .. import peers
from ..data import Data, expect, expect_whole
from ..documents import orjson
from ..machine import MOST_THREADS
from ..programs import Program, programs
from ..reports import Paths, Reports, writes_into
from ..runner import Bench, Case, Group
from ..stations import report
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

EQUAL, OWN, ALL_OWN = "equal", "own", "all own"
HEADERS = {EQUAL: "headers equal", OWN: "headers differ", ALL_OWN: "all entries differ"}
WANTED = "pressure"
ROUNDS = (1, 5)
"""Some ways take hundreds of times as long as ours."""
SHARE, MERGE_SHARE = 4, 100
"""Of so many files the reference writes one, or merges one."""


def read(headers: str, names: list[str] | None, bench: Bench, folder: Path) -> Trial:
    """Read variables of each file, or all."""
    reports = Reports(bench, folder, headers, names)
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
    expect(name, sorted(loads(line)), sorted(report(0, EQUAL)))


def open_(bench: Bench, folder: Path) -> Trial:
    """Open each file, and close it."""
    reports = Reports(bench, folder, OWN)
    meta = reports.expected(0)["."]

    def check() -> None:
        with ds.open(reports.ours[0]) as file:
            expect_whole(OURS, {".": file.meta}, {".": meta})

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


def read_many(headers: str, bench: Bench, folder: Path) -> Trial:
    """Read all files into a list."""
    reports = Reports(bench, folder, headers)

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


def merge(headers: str, bench: Bench, folder: Path) -> Trial:
    """Read all files as one dataset."""
    reports = Reports(bench, folder, headers)
    ours = partial(ds.read_many, dim="time")
    return Trial(
        [
            reports.merges(OURS, ours, reports.ours, 'ds.read_many(paths, dim="time")'),
            reports.merges(f"{OURS}, one thread", partial(ours, threads=1), reports.ours, "threads=1"),
            reports.bare(),
            *(reports.program_merges(program) for program in programs() if program.name != XARRAY),
            *(_merge_xarray(reports, program) for program in programs() if program.name == XARRAY and has_xarray()),
            *_merge_reference(reports),
        ],
        n=reports.n,
        repetitions=ROUNDS,
    )


def _merge_xarray(reports: Reports, program: Program) -> Way:
    open_many = importlib.import_module("xarray").open_mfdataset

    def read(paths: Paths) -> Any:
        with open_many(paths, decode_times=False) as file:
            return file.load()

    return reports.merges(XARRAY, read, reports.written(program), "open_mfdataset(paths, decode_times=False).load()")


def _merge_reference(reports: Reports) -> list[Way]:
    worker = reports.bench.reference
    if worker is None:
        return []
    few = reports.folder / "few"
    few.mkdir()
    paths = reports.ours[::MERGE_SHARE]
    for i, path in enumerate(paths):
        ds.write(few / Path(path).name, report(i, reports.headers))
    pickled = reports.folder / "merged.pickle"

    def check() -> None:
        worker.ask("readdir", path=str(few), merge="time", pickled=str(pickled))
        with open(pickled, "rb") as file:
            expect(REFERENCE, pickle.load(file), reports.merged(len(paths)))
        pickled.unlink()

    def run() -> float:
        return float(worker.ask("readdir", path=str(few), merge="time"))

    return [scaled(Way(REFERENCE, run, check, 'ds.readdir(path, merge="time")'), len(paths), reports.n)]


def write(headers: str, bench: Bench, folder: Path) -> Trial:
    """Write files that are whole or absent: one report again and again, or each its own."""
    n = bench.sizes.files
    datasets = [report(i, headers) for i in range(1 if headers == EQUAL else n)]
    temporary = str(folder / "temporary.ds")
    bare = Program(
        BARE,
        ".ds",
        lambda path, buffers: peers.write_bare_renamed(path, temporary, buffers),
        ds.read,
        peers.read_bare,
        writing="open, writev, close, rename",
        made=lambda data: _buffers(data, temporary),
    )
    paths = [str(folder / f"{i:06d}.ds") for i in range(-(-n // SHARE))]
    theirs = reference_writes(bench, folder, paths, datasets[: len(paths)], ds.read, expect_whole)
    ours = bare._replace(name=OURS, write=ds.write, writing="ds.write", made=lambda data: data)
    return Trial(
        [
            *(
                writes_into(program, folder / str(i), n, datasets)
                for i, program in enumerate([ours, bare, *programs()])
            ),
            *(scaled(way, len(paths), n) for way in theirs),
        ],
        n=n,
        repetitions=ROUNDS,
    )


def _buffers(data: Data, path: str) -> list[Any]:
    """Return the header of a file as bytes, and its arrays."""
    ds.write(path, data)
    buffers = [peers.read_bare(path)[: peers.body_of(path)], *(data[name] for name in data if name != ".")]
    Path(path).unlink()
    return buffers


GROUP = Group(
    "Station reports",
    "Small files as they are: nine variables of 24 values, each with five attributes, ten attributes of the dataset, "
    "2.8 kB of header. Headers are equal; or they differ as those of most archives do, in station, position and "
    "history; or no entry of a variable is that of another file. Times are per file; those that take long do fewer. "
    "All ways read and write values, attributes and dimensions, but for these: to open, some read nothing; merged are "
    "values only, but for ds_format, ds-format and xarray; and system calls know bytes. The collector of garbage is "
    "off, unless a row says otherwise.",
    (
        *(Case(f"stations, read, {words}", partial(read, headers, None)) for headers, words in HEADERS.items()),
        Case("stations, read one variable", partial(read, OWN, [WANTED])),
        Case("stations, open and close", open_),
        *(Case(f"stations, read_many, {HEADERS[headers]}", partial(read_many, headers)) for headers in (EQUAL, OWN)),
        *(Case(f'stations, read_many(dim="time"), {words}', partial(merge, key)) for key, words in HEADERS.items()),
        Case("stations, write, headers equal", partial(write, EQUAL)),
        Case("stations, write, headers differ", partial(write, OWN)),
    ),
    threads=f"`ds.read_many` may take {MOST_THREADS} threads, everything else one",
)
