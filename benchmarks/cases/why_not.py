"""ds beside other formats, on the same data: many small files, one large array, a part of it, and space on the disk."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

import ds_format as ds

from ..data import Data, expect, expect_whole
from ..disk import settle
from ..formats import COMPRESSED, Format, formats, size_of
from ..reports import Reports, writes_into
from ..runner import Bench, Case, Group, need_room
from ..stations import ORDINARY, ordinary
from ..timing import Trial, Way
from ..ways import NETCDF, OURS, each

DISTINCT = 1000
"""Reports that are written again and again."""
FIELD = "temperature"
N_FIELDS = 100
ROUNDS = (1, 5)
SLABS = 5
"""Fields that are read in a row."""
REPORT_SIZE = 50_000
"""Maximum size of a file of any format, in bytes."""


def write_reports(bench: Bench, folder: Path) -> Trial:
    """Write a file for each report."""
    n = bench.sizes.claimed
    need_room(folder, n * REPORT_SIZE)
    datasets = [ordinary(i) for i in range(min(n, DISTINCT))]
    return Trial(
        [writes_into(each.program, folder / str(i), n, datasets) for i, each in enumerate(formats().values())],
        n=n,
        repetitions=(1, 1),
    )


def read_reports(names: list[str] | None, bench: Bench, folder: Path) -> Trial:
    """Read each report, or one of its variables."""
    n = bench.sizes.claimed
    need_room(folder, n * REPORT_SIZE)
    reports = Reports(bench._replace(sizes=bench.sizes._replace(files=n)), folder, ORDINARY, names)
    programs = [found.program for name, found in formats().items() if name != OURS]
    ours = reports.reads(OURS, partial(ds.read, variables=names), reports.ours, "ds.read")
    return Trial([ours, *map(reports.program_reads, programs)], n=n, repetitions=(1, 1))


def report_size(bench: Bench, folder: Path) -> Trial:
    """Return the blocks of the disk that all reports take."""
    return _sizes(folder, ordinary(0), formats(), bench.sizes.claimed)


def fields(bench: Bench) -> Data:
    """Return a large array as models write it: smooth fields of float32, and a little noise, in steps of 1/64 K."""
    side = max(round((bench.sizes.large / N_FIELDS) ** 0.5), 2)
    rng = np.random.default_rng(4)
    rows, columns = np.linspace(0, 6, side)[:, None], np.linspace(0, 12, side)
    values = np.empty((N_FIELDS, side, side), np.float32)
    for i in range(N_FIELDS):
        values[i] = 270 + 20 * np.sin(rows + i / 9) * np.cos(columns - i / 7) + rng.normal(0, 0.2, (side, side))
    return {
        FIELD: np.round(values * 64) / np.float32(64),
        ".": {FIELD: {".dims": ["time", "y", "x"], "units": "K"}, ".": {"title": "fields"}},
    }


def write_large(bench: Bench, folder: Path) -> Trial:
    """Write the large array."""
    data = _large(bench, folder)

    every = _large_formats().values()
    ways = [writes_into(found.program._replace(share=1), folder / str(i), 1, [data]) for i, found in enumerate(every)]
    return Trial(ways, size=data[FIELD].nbytes, repetitions=(1, 3))


def read_large(bench: Bench, folder: Path) -> Trial:
    """Read the large array whole."""
    data = _large(bench, folder)

    def way(found: Format) -> Way:
        path = _written(found, folder, data)
        program = found.program

        def check() -> None:
            expect_whole(program.name, program.value(program.read(path, None)), data)

        return each(program.name, lambda path: program.read(path, None), [path], check, 1, note=program.reading)

    return Trial([way(found) for found in _large_formats().values()], size=data[FIELD].nbytes, repetitions=ROUNDS)


def read_field(bench: Bench, folder: Path) -> Trial:
    """Read one field of a hundred, each time from a file that is opened for it."""
    data = _large(bench, folder)

    def way(found: Format) -> Way:
        path = _written(found, folder, data)
        name = found.program.name

        def check() -> None:
            expect(name, found.part(path, FIELD, 50), data[FIELD][50])

        return each(
            name, lambda i: np.asarray(found.part(path, FIELD, i)), range(48, 48 + SLABS), check, SLABS, note=found.how
        )

    ways = [way(found) for found in _large_formats().values()]
    return Trial(ways, n=SLABS, size=data[FIELD][0].nbytes, repetitions=ROUNDS)


def large_size(bench: Bench, folder: Path) -> Trial:
    """Return the blocks of the disk that the large array takes."""
    return _sizes(folder, _large(bench, folder), _large_formats(), 1)


def _large(bench: Bench, folder: Path) -> Data:
    data = fields(bench)
    need_room(folder, 12 * data[FIELD].nbytes)
    return data


def _large_formats() -> dict[str, Format]:
    every = formats()
    return {OURS: every.pop(OURS), NETCDF: every.pop(NETCDF), COMPRESSED.program.name: COMPRESSED, **every}


def _written(found: Format, folder: Path, data: Data) -> str:
    path = folder / f"{found.program.name.replace(' ', '-')}{found.program.suffix}"
    found.program.write(str(path), found.program.made(data))
    return str(path)


def _sizes(folder: Path, data: Data, every: dict[str, Format], n: int) -> Trial:
    def way(found: Format) -> Way:
        path = _written(found, folder, data)
        settle(str(each) for each in [Path(path), *Path(path).rglob("*")] if each.is_file())
        return Way(found.program.name, lambda: size_of(path) * n / 1e6, lambda: None)

    return Trial([way(found) for found in every.values()], unit="MB", repetitions=(1, 1))


GROUP = Group(
    "Why not another format?",
    "The same data in other formats, each by its own library with its defaults, unless a row says otherwise. Station "
    "reports are 100 000 ordinary ones, in one round; libraries that take long write and "
    "read some of them, scaled to all. The large array has 100 smooth fields of float32, 200 MB. Sizes are of blocks "
    "on a disk.",
    (
        Case("why not, 100 000 reports, write", write_reports),
        Case("why not, 100 000 reports, read", partial(read_reports, None)),
        Case("why not, 100 000 reports, read one variable", partial(read_reports, ["pressure"])),
        Case("why not, 100 000 reports, on a disk", report_size, on_disk=True),
        Case("why not, a large array, write", write_large),
        Case("why not, a large array, read", read_large),
        Case("why not, a large array, one field of a hundred", read_field),
        Case("why not, a large array, on a disk", large_size, on_disk=True),
    ),
)
