"""Threads of this package and of xarray read NetCDF files at once. This is a program, because it may crash.

    python -m tests.drivers.beside_xarray FOLDER SECONDS

xarray does some work without its locks. Except opening, this is done before the threads start. Prints how often each
thread did its work.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import dask.array
import numpy as np
import xarray

import ds_format as ds

N_FILES = 150
"""Files that a thread of xarray writes at most."""
VALUES = np.arange(4000.0, dtype="f4").reshape(50, 80)


def write(path: Path) -> None:
    names = [f"v{i}" for i in range(4)]
    properties = {".dims": ["t", "x"], "units": "K", ".netcdf": {"compression": "zlib", "level": 1, "chunks": [10, 80]}}
    ds.write(path, {**dict.fromkeys(names, VALUES), ".": dict.fromkeys(names, properties)})


def reader(folder: Path) -> Callable[[], None]:
    path = folder / "read.nc"
    write(path)

    def work() -> None:
        assert np.array_equal(ds.read(path)["v3"], VALUES)

    return work


def writer(folder: Path) -> Callable[[], None]:
    path = folder / "written.nc"

    def work() -> None:
        write(path)
        with ds.open(path) as file:
            assert np.array_equal(file["v0"][10:20], VALUES[10:20])

    return work


def xarray_reader(folder: Path) -> Callable[[], None]:
    path = folder / "xarray_read.nc"
    write(path)
    opened = xarray.open_dataset(path, engine="netcdf4", cache=False)

    def work() -> None:
        for variable in opened.values():
            assert np.array_equal(variable.to_numpy(), VALUES)

    return work


def xarray_writer(folder: Path) -> Callable[[], None]:
    lazy = xarray.Dataset({"v0": (("t", "x"), dask.array.from_array(VALUES, chunks=(10, 80)))})
    left = [
        lazy.to_netcdf(folder / f"xarray{i}.nc", engine="netcdf4", compute=False, encoding={"v0": {"zlib": True}})
        for i in range(N_FILES)
    ]

    def work() -> None:
        if left:
            left.pop().compute(scheduler="synchronous")
        else:
            time.sleep(0.1)

    return work


def main(folder: str, seconds: str) -> None:
    """See above."""
    works = [make(Path(folder)) for make in (reader, writer, xarray_reader, xarray_writer)]
    counts = [0] * len(works)
    end = time.monotonic() + float(seconds)

    def run(i: int) -> None:
        while time.monotonic() < end:
            works[i]()
            counts[i] += 1

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*counts)


if __name__ == "__main__":
    main(*sys.argv[1:])
