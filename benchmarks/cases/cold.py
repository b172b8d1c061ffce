"""Reports of stations from a disk, which no cache holds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import ds_format as ds

from .. import disk
from ..programs import WITH_NETCDF4
from ..reports import Paths, Reports
from ..runner import Bench, Case, Group, SkippedError
from ..stations import ORDINARY
from ..timing import Trial, Way
from ..ways import LOOP, OURS
from .stations import ROUNDS

THREADS = (1, 2, 4)


def read(bench: Bench, folder: Path) -> Trial:
    """Read all files, in the order in which they were written."""
    reports = Reports(bench, folder, ORDINARY)
    theirs = reports.paths(WITH_NETCDF4.suffix, WITH_NETCDF4.share)

    def many(threads: int) -> Way:
        def read(paths: Paths) -> Any:
            return ds.read_many(paths, threads=threads)

        name = OURS if threads == 1 else f"{OURS}, {threads} threads"
        return reports.lists(name, read, reports.ours, f"ds.read_many(paths, threads={threads})", prepare=forget)

    forget = partial(disk.forget, reports.ours)
    ways = [
        *map(many, THREADS),
        reports.reads(LOOP, ds.read, reports.ours, prepare=forget),
        reports.bare(prepare=forget),
        reports.program_reads(WITH_NETCDF4, prepare=partial(disk.forget, theirs)),
    ]
    disk.settle([*reports.ours, *theirs])
    forget()
    if any(map(disk.is_cached, reports.ours)):
        raise SkippedError("the system does not forget the bytes of files")
    return Trial(ways, n=reports.n, repetitions=ROUNDS)


GROUP = Group(
    "Station reports from a disk",
    "Ordinary reports, after the system was made to forget their bytes "
    "(`posix_fadvise(DONTNEED)`). It still knows the folder and where files lie, which only root can have it forget; "
    "and what the disk itself remembers is its own matter. Times are per file.",
    (Case("stations, from a disk", read, on_disk=True),),
    threads="as many threads as a row says, or one",
)
