"""One large dask array: written by two worker processes, and read by threads."""

from __future__ import annotations

import importlib
import importlib.util
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from .. import peers
from ..data import UnequalError, dataset, expect, floats
from ..runner import Bench, Case, Group, SkippedError, need_room
from ..timing import Trial, Way, stopwatch
from ..ways import ALONE, BARE, OURS, calls, remove

CHUNKS = 32
"""Of the array."""


def write(bench: Bench, folder: Path) -> Trial:
    """Write a new file from two processes, which have the chunks in memory."""
    da, distributed, xarray = _needed("dask.array", "distributed", "xarray")
    parallel = importlib.import_module("ds_format.xarray_.parallel")
    n = bench.sizes.chunked // 8 // CHUNKS * CHUNKS
    need_room(folder, 8 * n * 4)
    half = floats(n // 2)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0)
    client = distributed.Client(cluster)
    array = da.random.default_rng(1).random(n, chunks=n // CHUNKS).persist()
    distributed.wait(array)
    path, bare = str(folder / "x.ds"), str(folder / "x.bin")

    def ours() -> None:
        parallel.write(path, {"x": {".dims": ["n"], "units": "m"}}, {"x": array})

    def check() -> None:
        ours()
        with xarray.open_dataset(path, engine="ds", chunks={"n": n // CHUNKS}) as file:
            if not (file["x"].data == array).all().compute():
                raise UnequalError(f"{OURS}: {path} has other values")

    def alone() -> None:
        with open(bare, "wb") as file:
            half.tofile(file)
            half.tofile(file)

    def tofile(name: str, work: Callable[[], object], note: str) -> Way:
        def check() -> None:
            work()
            expect(name, np.fromfile(bare, count=half.size), half)

        return Way(name, stopwatch(work, lambda: remove([path, bare])), check, note)

    way = Way(OURS, stopwatch(ours, lambda: remove([path, bare])), check, "two workers of a LocalCluster")
    weakref.finalize(ours, cluster.close)
    weakref.finalize(ours, client.close)
    return Trial(
        [
            way,
            tofile(BARE, lambda: half.tofile(bare), "ndarray.tofile of half, in one process"),
            tofile(ALONE, alone, "ndarray.tofile of all, in one process"),
        ],
        size=8 * n,
    )


def mean(bench: Bench, folder: Path) -> Trial:
    """Compute the mean of a file, chunk by chunk."""
    da, xarray = _needed("dask.array", "xarray")
    n = bench.sizes.chunked // 8
    need_room(folder, 8 * n * 2)
    path = str(folder / "x.ds")
    data = dataset(x=floats(n))
    ds.write(path, data)
    expected = data["x"].mean()
    chunk = -(-n // CHUNKS)

    def ours() -> Any:
        with xarray.open_dataset(path, engine="ds", chunks={"n": chunk}) as file:
            return np.float32(file["x"].data.mean().compute())  # the last digits depend on how the sums are split

    def mapped() -> Any:
        values = np.memmap(path, "<f8", "r", peers.offset_of(path, "x"), (n,))
        return np.float32(da.from_array(values, chunks=chunk, name=False).mean().compute())  # else dask hashes them all

    return Trial(
        [
            calls(OURS, ours, np.float32(expected), note='xarray.open_dataset(path, engine="ds", chunks=...)'),
            calls(BARE, mapped, np.float32(expected), note="dask.array.from_array(np.memmap(path), name=False)"),
        ],
        size=8 * n,
    )


def _needed(*names: str) -> list[Any]:
    """Return modules, or raise SkippedError if one is not installed."""
    for name in names:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            raise SkippedError(f"needs {name.partition('.')[0]}: the dependency group `bench`")
    return [importlib.import_module(name) for name in names]


GROUP = Group(
    "dask",
    "One float64 variable of 2 GB, in 32 chunks. It is written by two worker processes that have its chunks in memory, "
    "and read by the threads of one process. Linux lets one process at a time write to one file, whatever its "
    "parts: so the time of `tofile` of all is the least that two can reach.",
    (
        Case("dask, write", write),
        Case("dask, mean", mean),
    ),
    threads="as many threads as processors, or two processes",
)
