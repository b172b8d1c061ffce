"""Very many small files at once: into a list, and merged into one dataset."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from .. import peers
from ..data import Data, dataset, expect, floats
from ..machine import MOST_THREADS
from ..runner import Bench, Case, Group, need_room
from ..timing import Trial, Way, stopwatch
from ..ways import LOOP, OURS, REFERENCE, XARRAY, calls

PAGE = 4096
"""Bytes that a small file takes on most file systems."""


def read_many(bench: Bench, folder: Path) -> Trial:
    """Read tiny files."""
    n = bench.sizes.many
    need_room(folder, 2 * PAGE * n)
    data = dataset(x=floats(10))
    paths = [str(folder / f"{i:06d}.ds") for i in range(n)]
    for path in paths:
        ds.write(path, data, atomic=False)

    def way(name: str, read: Callable[[Sequence[str]], Any], note: str) -> Way:
        def check() -> None:
            for found in (all_found := read(paths)):
                expect(name, found, data)
            expect(name, len(all_found), n)

        return Way(name, stopwatch(lambda: read(paths)), check, note)

    return Trial(
        [
            way(OURS, ds.read_many, "ds.read_many(paths)"),
            way(f"{OURS}, one thread", partial(ds.read_many, threads=1), "ds.read_many(paths, threads=1)"),
            calls(
                f"{OURS}, merged",
                partial(ds.read_many, paths, dim="n"),
                {"x": np.tile(data["x"], n)},
                note="ds.read_many(paths, dim=name)",
            ),
            way(LOOP, lambda paths: [ds.read(path) for path in paths], "[ds.read(path) for path in paths]"),
        ],
        n=n,
    )


def merge_folder(bench: Bench, folder: Path) -> Trial:
    """Read the files of a folder, and merge them in memory."""
    n = bench.sizes.folder
    need_room(folder, 10 * PAGE * n)
    ours, few, netcdf = (folder / name for name in ("ds", "few", "nc"))
    for path in (ours, few, netcdf):
        path.mkdir()
    for i in range(n):
        data = _day(i)
        ds.write(ours / f"{i:06d}.ds", data)
        peers.write_netcdf(netcdf / f"{i:06d}.nc", data)
        if i < FEW:
            ds.write(few / f"{i:06d}.ds", data)
    expected = _days(n)
    ways = [
        calls(OURS, lambda: ds.readdir(str(ours), merge="time"), expected, note="ds.readdir(path, merge=name)"),
        *_xarray(str(netcdf / "*.nc"), str(netcdf / "00000[0-4].nc")),
        *_reference(bench, folder, str(ours), str(few)),
    ]
    return Trial(ways, repetitions=(1, 1))


FEW = 5
"""Files by which it is checked what programs give that need half a minute for all."""


def _day(i: int) -> Data:
    """Return ten variables of 24 values."""
    time = np.arange(24.0) + 24 * i
    return dataset(["time"], time=time, **{f"v{k}": np.sin(time + k) for k in range(9)})


def _days(n: int) -> dict[str, Any]:
    days = [_day(i) for i in range(n)]
    return {name: np.concatenate([day[name] for day in days]) for name in days[0] if name != "."}


def _xarray(pattern: str, few: str) -> list[Way]:
    if not has_xarray():
        return []
    open_many = importlib.import_module("xarray").open_mfdataset

    def read(pattern: str) -> Any:
        with open_many(pattern) as file:
            return file.load()

    return [
        Way(
            XARRAY,
            stopwatch(lambda: read(pattern)),
            lambda: expect(XARRAY, read(few), _days(FEW)),
            "xarray.open_mfdataset(pattern).load(), of NetCDF files",
        )
    ]


def has_xarray() -> bool:
    """Whether xarray can open many files."""
    return all(importlib.util.find_spec(name) is not None for name in ("xarray", "dask"))


def _reference(bench: Bench, folder: Path, path: str, few: str) -> list[Way]:
    worker = bench.reference
    if worker is None:
        return []

    def check() -> None:
        pickled = folder / "merged.pickle"
        worker.ask("readdir", path=few, merge="time", pickled=str(pickled))
        with open(pickled, "rb") as file:
            expect(REFERENCE, pickle.load(file), _days(FEW))

    return [Way(REFERENCE, lambda: float(worker.ask("readdir", path=path, merge="time")), check)]


GROUP = Group(
    "Many small files at once",
    "50 000 files of one float64 variable of 10 values, read into a list: times per file. 2 000 files of ten float64 "
    "variables of 24 values, merged into one dataset, in one round. xarray takes part where it is installed together "
    "with dask: the dependency group `bench`.",
    (
        Case("read_many", read_many),
        Case("readdir, merged", merge_folder),
    ),
    threads=f"`ds.read_many` may take {MOST_THREADS} threads, everything else one",
)
