"""What the documentation of the format has claimed of 100 000 files: how fast, and how large they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ds_format as ds

from .. import disk, peers
from ..data import Data, dataset, expect, floats
from ..runner import Bench, Case, Group, need_room
from ..sizes import Sizes
from ..stations import report
from ..timing import Trial, Way
from ..ways import CLASSIC, NETCDF, OURS, REFERENCE, each, reference_reads, reference_writes
from .small import SIZES

ROOM = 20_000
"""Bytes that a file takes at most, whoever wrote it."""


def write(n: int, bench: Bench, folder: Path) -> Trial:
    """Write files of n values."""
    count = bench.sizes.claimed
    need_room(folder, 3 * ROOM * count)
    data = dataset(x=floats(n))

    def way(name: str, suffix: str, write: Callable[[str, Data], None], read: Callable[[str], Any]) -> Way:
        paths = _paths(folder, suffix, count)

        def check() -> None:
            write(paths[0], data)
            expect(name, read(paths[0]), data)
            os.unlink(paths[0])

        return each(name, lambda path: write(path, data), paths, check, count)

    ours = way(OURS, ".ds", ds.write, ds.read)
    netcdf = way(NETCDF, ".nc", peers.write_netcdf, peers.read_netcdf)
    theirs = reference_writes(bench, folder, _paths(folder, ".ref.ds", count), [data], ds.read)
    return Trial([ours, netcdf, *theirs], repetitions=(1, 1))


def read(n: int, bench: Bench, folder: Path) -> Trial:
    """Read files of n values."""
    count = bench.sizes.claimed
    need_room(folder, 2 * ROOM * count)
    data = dataset(x=floats(n))

    def copies(suffix: str, write: Callable[[str, Data], None]) -> list[str]:
        paths = _paths(folder, suffix, count)
        write(paths[0], data)
        for path in paths[1:]:
            shutil.copyfile(paths[0], path)
        return paths

    def way(name: str, read: Callable[[str], Any], paths: list[str]) -> Way:
        return each(name, read, paths, lambda: expect(name, read(paths[-1]), data), count)

    ours, netcdf = copies(".ds", ds.write), copies(".nc", peers.write_netcdf)
    theirs = reference_reads(bench, folder, ours, data)
    return Trial([way(OURS, ds.read, ours), way(NETCDF, peers.read_netcdf, netcdf), *theirs], repetitions=(1, 1))


def _paths(folder: Path, suffix: str, count: int) -> list[str]:
    return [str(folder / f"{i:06d}{suffix}") for i in range(count)]


def _small(n: int, sizes: Sizes) -> tuple[Data, int]:
    return dataset(x=floats(n)), sizes.claimed


def size(make: Callable[[Sizes], tuple[Data, int]], measure: Callable[[str], int], bench: Bench, folder: Path) -> Trial:
    """Return what files take, by what one of them does."""
    data, count = make(bench.sizes)
    need_room(folder, 5 * sum(array.nbytes for name, array in data.items() if name != "."))
    ours, netcdf, classic, theirs = (str(folder / name) for name in ("x.ds", "x.nc", "x.nc3", "ref.ds"))
    ds.write(ours, data)
    peers.write_netcdf(netcdf, data)
    peers.write_netcdf(classic, data, "NETCDF3_CLASSIC")
    for way in reference_writes(bench, folder, [theirs], [data], ds.read):
        way.check()
    written = {OURS: ours, NETCDF: netcdf, CLASSIC: classic, REFERENCE: theirs}
    paths = {name: path for name, path in written.items() if Path(path).exists()}
    disk.settle(paths.values())

    def way_of(name: str, path: str) -> Way:
        return Way(name, lambda: measure(path) * count / 1e6, lambda: expect(name, ds.read(path), data))

    return Trial([way_of(*item) for item in paths.items()], unit="MB", repetitions=(1, 1))


def _blocks(path: str) -> int:
    """Return the bytes that a file takes on the disk."""
    return os.stat(path).st_blocks * 512


FILES: dict[str, Callable[[Sizes], tuple[Data, int]]] = {
    **{f"100 000 {name} files": partial(_small, n) for name, n in SIZES.items()},
    "100 000 station reports": lambda sizes: (report(0, "own"), sizes.claimed),
    "10 large files": lambda sizes: (dataset(x=floats(sizes.large // 10)), 10),
}
"""Words → one of the files, and how many there are."""

GROUP = Group(
    "100 000 files",
    "What the documentation of the format has said of ds and NetCDF. One float64 variable of 10 (tiny), 1000 (small), "
    "or 5 000 000 (large) values. Times are of all files, in one round. Sizes are of bytes, and of blocks on a disk, "
    "without what folders and inodes take.",
    (
        *(Case(f"100 000 {name} files, write", partial(write, n)) for name, n in SIZES.items()),
        *(Case(f"100 000 {name} files, read", partial(read, n)) for name, n in SIZES.items()),
        *(Case(f"{words}, size", partial(size, make, os.path.getsize)) for words, make in FILES.items()),
        *(Case(f"{words}, on a disk", partial(size, make, _blocks), on_disk=True) for words, make in FILES.items()),
    ),
)
