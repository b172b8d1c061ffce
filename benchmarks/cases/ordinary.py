"""Ordinary stations: small files with gaps, packed numbers, text, flags and scalars, as users have them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from .. import peers
from ..data import Data, expect
from ..runner import Bench, Case, Group
from ..stations import ordinary
from ..timing import Trial, Way
from ..ways import NETCDF, OURS, each

FORMATS = {"ds": None, "classic": "NETCDF3_CLASSIC", "netCDF-4": "NETCDF4"}
SOME = 8
"""Of so many files the netCDF4 library reads or writes one."""


def _made(folder: Path, form: str, n: int) -> list[str]:
    """Write stations, and return the paths."""
    options: Any = {} if FORMATS[form] is None else {"format": FORMATS[form]}
    paths = [str(folder / f"{i:05d}.{'nc' if options else 'ds'}") for i in range(n)]
    for i, path in enumerate(paths):
        ds.write(path, ordinary(i), **options)
    return paths


def _checked(name: str, found: Any) -> None:
    """Compare a station with what was written: its first file."""
    wanted = ordinary(0)
    for key in ("temperature", "humidity", "time"):
        expect(f"{name}: {key}", found[key], wanted[key])
    scale, offset = (wanted["."]["pressure"][key] for key in ("scale_factor", "add_offset"))
    expect(
        f"{name}: pressure", np.ma.filled(found["pressure"], -1), np.ma.filled(wanted["pressure"] * scale + offset, -1)
    )


def read(form: str, bench: Bench, folder: Path) -> Trial:
    """Read each file."""
    n = bench.sizes.files
    ours, (ds_folder, nc_folder) = [], (folder / "ours", folder / "netcdf")
    for each_folder in (ds_folder, nc_folder):
        each_folder.mkdir()
    ours = _made(ds_folder, form, n)
    theirs = _made(nc_folder, "classic" if form == "classic" else "netCDF-4", -(-n // SOME))
    return Trial(
        [
            each(OURS, ds.read, ours, lambda: _checked(OURS, ds.read(ours[0])), n),
            each(
                NETCDF, peers.read_netcdf, theirs, lambda: _checked(NETCDF, peers.read_netcdf(theirs[0])), len(theirs)
            ),
        ],
        n=n,
    )


def read_many(form: str, bench: Bench, folder: Path) -> Trial:
    """Read all files into a list."""
    paths = _made(folder, form, bench.sizes.files)

    def work() -> list[Any]:
        return ds.read_many(paths, threads=1)

    def loop() -> list[Any]:
        return [ds.read(path) for path in paths]

    def way(name: str, run: Any) -> Way:
        return each(name, lambda _: run(), [""], lambda: _checked(name, run()[0]), len(paths))

    return Trial([way(OURS, work), way("loop", loop)], n=len(paths))


def write(bench: Bench, folder: Path) -> Trial:
    """Write each station as a ds file, and with netCDF4 as netCDF-4."""
    made = [ordinary(i) for i in range(min(bench.sizes.files, 500))]
    plain = [_storable(data) for data in made[:: SOME * 4]]
    ours, theirs = str(folder / "ours.ds"), str(folder / "theirs.nc")

    def check() -> None:
        ds.write(ours, made[0])
        _checked(OURS, ds.read(ours))

    return Trial(
        [
            each(OURS, partial(ds.write, ours), made, check, len(made)),
            each(NETCDF, partial(peers.write_netcdf, theirs), plain, lambda: None, len(plain)),
        ],
        n=len(made),
    )


def _storable(data: Data) -> Data:
    """Return a station as a program that uses netCDF4 has it: numbers with fill values, text as str."""
    arrays: dict[str, Any] = {}
    meta = {key: {k: v for k, v in entry.items() if k != ".netcdf"} for key, entry in data["."].items()}
    for key, value in data.items():
        if key != ".":
            fill = meta[key].pop("_FillValue", None)
            array = np.asarray(value.filled(fill) if isinstance(value, np.ma.MaskedArray) else value)
            is_text = array.dtype.kind in "OS"
            arrays[key] = (
                np.array([one.decode() for one in array.ravel()], object).reshape(array.shape) if is_text else array
            )
    return {**arrays, ".": meta}


GROUP = Group(
    "Ordinary stations",
    "A report of one station for one day, as users have them: of fourteen variables, two have gaps, one is packed and "
    "has gaps, and there are 24 texts, 24 flags and three scalars. Times are per file. netCDF4 reads values only; "
    "ds_format reads attributes, too.",
    (
        *(Case(f"read ordinary stations, {form}", partial(read, form)) for form in FORMATS),
        *(Case(f"read_many of ordinary stations, {form}", partial(read_many, form)) for form in FORMATS),
        Case("write ordinary stations", write),
    ),
)
