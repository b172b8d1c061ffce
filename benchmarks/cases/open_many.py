"""Many small files as one dataset of xarray."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from ..data import Data, expect, settled
from ..machine import MOST_THREADS
from ..reports import joined, values_of
from ..runner import Bench, Case, Group, SkippedError, need_room
from ..stations import SCALARS, ordinary, report
from ..timing import Trial, Way, stopwatch
from ..ways import OURS, READ_MANY, XARRAY, scaled
from .many import has_xarray

ROOM = 60_000
"""Bytes that a report takes as both files."""
SHARE = 10
"""Of so many files xarray opens one: it takes hundreds of times as long."""
NAME, ORDINARY_NAME = "open_many, 2 000 small files", "open_many, 2 000 ordinary stations"


def reports(make: Callable[[int], Data], stack: dict[str, Any], bench: Bench, folder: Path) -> Trial:
    """Open reports of stations, and load them."""
    if not has_xarray():
        raise SkippedError("needs xarray and dask")
    n = bench.sizes.folder
    need_room(folder, ROOM * n)
    datasets = [make(i) for i in range(n)]
    paths = [_written(folder / f"{i:06d}.ds", data) for i, data in enumerate(datasets)]
    few = [_written(folder / f"{i:06d}.nc", data) for i, data in enumerate(datasets[::SHARE])]
    one_form = [settled(data) for data in datasets]
    expected, few_expected = joined(one_form), joined(one_form[::SHARE], scalars=not stack)
    opened = partial(ds.open_many, paths, "time", **stack, decode_times=False)

    def way(name: str, work: Callable[[], Any], note: str, values: Data = expected) -> Way:
        return Way(name, stopwatch(work), lambda: expect(name, values_of(work(), datasets[0]["."]), values), note)

    theirs = way(XARRAY, partial(_xarray, few), 'open_mfdataset(paths, engine="netcdf4").load()', few_expected)
    ways = [
        way(OURS, partial(opened, load=True), "ds.open_many(paths, dim, load=True)"),
        way(READ_MANY, partial(ds.read_many, paths, dim="time", **stack), "ds.read_many(paths, dim): no xarray"),
        Way(f"{OURS}, opened", stopwatch(opened), lambda: None, "ds.open_many(paths, dim): values are not read"),
        scaled(theirs, len(few), n),
    ]
    if not stack:  # these take long, and are not about kinds of variables
        dask = 'ds.open_many(paths, dim, chunks="auto").load()'
        ways.append(way(f"{OURS}, one by one", lambda: opened().load(), "ds.open_many(paths, dim).load()"))
        ways.append(way(f"{OURS}, dask", lambda: opened(chunks="auto").load(), dask))
    return Trial(ways, n=n, repetitions=(1, 5))


def _report(i: int) -> Data:
    """Return a report of ten variables."""
    data = report(i, "own")
    meta = {".dims": ["time"], "long_name": "quality", "flag_values": [0, 1], "flag_meanings": "good bad"}
    values = (np.arange(len(data["time"])) % 7 == i % 7).astype("i1")
    return {**data, "quality": values, ".": {**data["."], "quality": meta}}


def _written(path: Path, data: Data) -> str:
    ds.write(path, data)
    return str(path)


def _xarray(paths: Sequence[str]) -> Any:
    """Open files in the way that is the fastest."""
    options = {"combine": "nested", "concat_dim": "time", "data_vars": "minimal", "coords": "minimal"}
    options |= {"compat": "override", "join": "override", "engine": "netcdf4"}
    with importlib.import_module("xarray").open_mfdataset(paths, decode_times=False, **options) as file:
        return file.load()


GROUP = Group(
    "Many small files as one dataset of xarray",
    "Reports of stations with one more variable, ten in all, headers differ; times per file. xarray opens the same "
    "data as NetCDF, a tenth of the files, with all that it need not compare left out. Ours compares all of it. Times "
    "are not decoded. Ordinary stations have three scalars, which get the dimension; from xarray they are those of the "
    "first file.",
    (
        Case(ORDINARY_NAME, partial(reports, ordinary, {"stack": SCALARS})),
        Case(NAME, partial(reports, _report, {})),
    ),
    threads=f"may take {MOST_THREADS} threads",
)
