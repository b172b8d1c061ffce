"""References for Zarr: of one large file, and of many netCDF-4 files, which kerchunk scans by h5py."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

import ds_format as ds

from ..runner import Bench, Case, Group, SkippedError
from ..timing import Trial
from ..ways import OURS, each

KERCHUNK = "kerchunk"
GRID, FILES = "references, a grid", "references, netCDF-4 files"
PART = 100
"""Files that kerchunk scans; the time is scaled up."""


def grid(bench: Bench, folder: Path) -> Trial:
    """Make references of a ds file with one large variable."""
    path = folder / "grid.ds"
    values = np.zeros((max(bench.sizes.kernel // 312_500, 1), 250, 500), "f4")
    ds.write(path, {"x": values, ".": {"x": {".dims": ["time", "lat", "lon"]}}})

    def check() -> None:
        places = [place for place in ds.references(path)["refs"].values() if isinstance(place, list)]
        assert sum(size for _, _, size in places) == values.nbytes

    return Trial([each(OURS, ds.references, [path], check, 1)])


def files(bench: Bench, folder: Path) -> Trial:
    """Make references of files of one time each, with two compressed grids; kerchunk does not join them."""
    if importlib.util.find_spec("kerchunk") is None:
        raise SkippedError("needs kerchunk")
    translator = importlib.import_module("kerchunk.hdf").SingleHdf5ToZarr
    paths = [str(folder / f"{i:04}.nc") for i in range(bench.sizes.files)]
    for i, path in enumerate(paths):
        _write(path, i)

    def scan(path: str) -> Any:
        return translator(path).translate()

    def check_ours() -> None:
        refs = ds.references(paths, "time")["refs"]
        for i in (0, len(paths) - 1):
            assert refs[f"a/{i}.0.0"] == [paths[i], *scan(paths[i])["refs"]["a/0.0.0"][1:]]

    def check() -> None:
        assert "a/0.0.0" in scan(paths[0])["refs"]

    n = len(paths)
    ours = each(OURS, lambda given: ds.references(given, "time"), [paths], check_ours, 1)
    return Trial([ours, each(KERCHUNK, scan, paths[:PART], check, n)])


def _write(path: str, i: int) -> None:
    values = np.random.default_rng(i).random((1, 30, 60), "f4")
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", None), ("lat", 30), ("lon", 60)):
            file.createDimension(name, size)
        for name in ("a", "b"):
            variable = file.createVariable(name, "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 30, 60))
            variable.units = "K"
            variable[:] = values
        time = file.createVariable("time", "f8", ("time",), chunksizes=(1,))
        time.units = "days since 2000-01-01"
        time[:] = [i]
        for name, size in (("lat", 30), ("lon", 60)):
            file.createVariable(name, "f4", (name,))[:] = np.arange(size)


GROUP = Group(
    "References",
    "Kerchunk references of a file with one float32 grid, and of netCDF-4 files of one time each, with two compressed "
    "grids. kerchunk scans each file by `SingleHdf5ToZarr`, and does not join them.",
    (Case(GRID, grid), Case(FILES, files)),
)
