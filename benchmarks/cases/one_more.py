"""What one variable more costs: six plain ones, and with them gaps, texts, packed numbers or booleans."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import ds_format as ds

from ..formats import OUR_PROGRAM
from ..programs import WITH_NETCDF4
from ..reports import Reports, writes_into
from ..runner import Bench, Case, Group
from ..stations import MORE, station
from ..timing import Trial, Way
from ..ways import NETCDF, OURS
from .stations import ROUNDS

FORMATS = {"classic": "NETCDF3_CLASSIC", "netCDF-4": "NETCDF4"}


SHARE = 4
"""Of so many files each case has one: there are many cases."""


def read(kind: str, bench: Bench, folder: Path) -> Trial:
    """Read each file."""
    sizes = bench.sizes._replace(files=-(-bench.sizes.files // SHARE))
    reports = Reports(bench._replace(sizes=sizes), folder, kind)

    def way(words: str, format: str) -> Way:
        paths = reports.paths(f".{words}.nc")
        for i, path in enumerate(paths):
            ds.write(path, station(i, kind), format=format)
        return reports.reads(f"{OURS}, {words}", ds.read, paths)

    ways = [reports.reads(OURS, ds.read, reports.ours), reports.bare(), *(way(*item) for item in FORMATS.items())]
    return Trial([*ways, reports.program_reads(WITH_NETCDF4)], n=reports.n, repetitions=ROUNDS)


def write(kind: str, bench: Bench, folder: Path) -> Trial:
    """Write files atomically, as ds files, and with netCDF4."""
    n = -(-bench.sizes.files // SHARE)
    datasets = [station(i, kind) for i in range(n)]
    programs = {OURS: OUR_PROGRAM, NETCDF: WITH_NETCDF4}
    ways = [writes_into(program, folder / name, n, datasets) for name, program in programs.items()]
    return Trial(ways, n=n, repetitions=ROUNDS)


GROUP = Group(
    "One variable more",
    "Reports of six plain float32 of 24 values with their attributes, and those with a variable of another kind, or "
    "with all of these kinds. Times are per file. netCDF4 reads and writes netCDF-4.",
    (
        *(Case(f"one more, read {words}", partial(read, words)) for words in MORE),
        *(Case(f"one more, write {words}", partial(write, words)) for words in MORE),
    ),
)
