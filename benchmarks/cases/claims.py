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


Make = Callable[[Sizes], tuple[Data, int]]
"""Returns what one of the files holds, and how many there are."""


def write(make: Make, bench: Bench, folder: Path) -> Trial:
    """Write files."""
    data, count = make(bench.sizes)
    some, fewer = _how_many(data, count)
    need_room(folder, 3 * some * (_n_bytes(data) + ROOM))

    def way(name: str, paths: list[str], write: Callable[[str, Data], None], read: Callable[[str], Any]) -> Way:
        def check() -> None:
            write(paths[0], data)
            expect(name, read(paths[0]), data)
            os.unlink(paths[0])

        return each(name, lambda path: write(path, data), paths, check, count)

    ours = way(OURS, _paths(folder, ".ds", some), ds.write, ds.read)
    netcdf = way(NETCDF, _paths(folder, ".nc", fewer), peers.write_netcdf, peers.read_netcdf)
    theirs = reference_writes(bench, folder, _paths(folder, ".ref.ds", some), [data], ds.read)
    return Trial([ours, netcdf, *(_scaled(each, count / some) for each in theirs)], repetitions=_rounds(some))


def read(make: Make, bench: Bench, folder: Path) -> Trial:
    """Read files."""
    data, count = make(bench.sizes)
    some, fewer = _how_many(data, count)
    need_room(folder, 2 * some * (_n_bytes(data) + ROOM))

    def copies(suffix: str, n: int, write: Callable[[str, Data], None]) -> list[str]:
        paths = _paths(folder, suffix, n)
        write(paths[0], data)
        for path in paths[1:]:
            shutil.copyfile(paths[0], path)
        return paths

    def way(name: str, read: Callable[[str], Any], paths: list[str]) -> Way:
        return each(name, read, paths, lambda: expect(name, read(paths[-1]), data), count)

    ours, netcdf = copies(".ds", some, ds.write), copies(".nc", fewer, peers.write_netcdf)
    theirs = reference_reads(bench, folder, ours, data)
    ways = [way(OURS, ds.read, ours), way(NETCDF, peers.read_netcdf, netcdf)]
    return Trial([*ways, *(_scaled(each, count / some) for each in theirs)], repetitions=_rounds(some))


def _how_many(data: Data, count: int) -> tuple[int, int]:
    """Return how many files are written or read, and how many of them by slow programs; their times are scaled up."""
    some = min(count, max(3, 10**9 // _n_bytes(data)))
    return some, max(3, some // 10)


def _rounds(some: int) -> tuple[int, int]:
    """Return one round for so many files that it takes minutes."""
    return (1, 1) if some > 10 else (1, 1000)


def _scaled(way: Way, factor: float) -> Way:
    return way._replace(run=lambda: way.run() * factor)


def _n_bytes(data: Data) -> int:
    return sum(array.nbytes for name, array in data.items() if name != ".")


def _paths(folder: Path, suffix: str, count: int) -> list[str]:
    return [str(folder / f"{i:06d}{suffix}") for i in range(count)]


def _small(n: int, sizes: Sizes) -> tuple[Data, int]:
    return dataset(x=floats(n)), sizes.claimed


def _large(sizes: Sizes) -> tuple[Data, int]:
    return dataset(x=floats(sizes.large)), 10


def size(make: Make, measure: Callable[[str], int], bench: Bench, folder: Path) -> Trial:
    """Return what files take, by what one of them does."""
    data, count = make(bench.sizes)
    need_room(folder, 5 * _n_bytes(data))
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


CLAIMED: dict[str, Make] = {
    **{f"100 000 {name} files": partial(_small, n) for name, n in SIZES.items()},
    "10 large files": _large,
}
FILES: dict[str, Make] = {**CLAIMED, "100 000 station reports": lambda sizes: (report(0, "own"), sizes.claimed)}

GROUP = Group(
    "100 000 files",
    "What the documentation of the format has said of ds and NetCDF. One float64 variable of 10 (tiny), 1000 (small), "
    "or 50 000 000 (large) values. Times are of all files, those of small ones in one round; netCDF4 writes and reads "
    "a tenth of the small ones, and each program three of the large ones. Sizes are of bytes, and of blocks on a disk, "
    "without what folders and inodes take.",
    (
        *(Case(f"{words}, write", partial(write, make)) for words, make in CLAIMED.items()),
        *(Case(f"{words}, read", partial(read, make)) for words, make in CLAIMED.items()),
        *(Case(f"{words}, size", partial(size, make, os.path.getsize)) for words, make in FILES.items()),
        *(Case(f"{words}, on a disk", partial(size, make, _blocks), on_disk=True) for words, make in FILES.items()),
    ),
)
