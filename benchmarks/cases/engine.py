"""A file of fifty variables, or a report of a station, opened by xarray."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ds_format as ds

from ..data import Data, expect, settled
from ..runner import Bench, Case, Group, SkippedError
from ..stations import ORDINARY, OWN, station
from ..timing import Trial, Way
from ..ways import H5NETCDF, NETCDF, OURS, ZARR, each

N_FIELDS = 47
SHAPE = (24, 10, 10)


def fields() -> Data:
    """Return fields with coordinates and with attributes as climate models write them; some values are missing."""
    dims = ["time", "lat", "lon"]
    data: Data = {name: np.arange(n, dtype="f4") for name, n in zip(dims, SHAPE, strict=True)}
    meta: dict[str, Any] = {name: {".dims": [name], "units": "degrees", "standard_name": name} for name in dims}
    meta["time"].update(units="hours since 2000-01-01", calendar="standard")
    for i in range(N_FIELDS):
        values = np.random.default_rng(i).normal(280, 10, SHAPE).astype("f4")
        data[f"v{i}"] = np.ma.MaskedArray(values, values > 295)
        meta[f"v{i}"] = {
            ".dims": dims,
            "_FillValue": np.float32(1e20),
            "units": "K",
            "long_name": f"field number {i}",
            "standard_name": "air_temperature",
            "cell_methods": "time: mean",
        }
    meta["."] = {"Conventions": "CF-1.11", "title": "fields", "history": "written by a benchmark " * 8}
    return {**data, ".": meta}


def opened(make: Callable[[], Data], bench: Bench, folder: Path, *, load: bool, ours: str = "x.ds") -> Trial:
    """Open a file, and perhaps load all of it. Ours is a ds file, or the NetCDF file that others open."""
    if importlib.util.find_spec("xarray") is None:
        raise SkippedError("needs xarray")
    data = make()
    paths = {OURS: str(folder / ours), NETCDF: str(folder / "x.nc")}
    for path in set(paths.values()):
        ds.write(path, data)
    repeat = max(bench.sizes.calls // 200, 1)
    expected = _settled(data, data["."])
    xarray = importlib.import_module("xarray")

    def way(name: str, engine: str, path: str) -> Way:
        def check() -> None:
            expect(name, _settled(_load(xarray, engine, path).variables, data["."]), expected)

        note = f'xarray.open_dataset(path, engine="{engine}")' + (".load()" if load else "")
        work = partial(_load if load else _open, xarray, engine)
        return each(name, work, [path] * repeat, check, repeat, note=note)

    engines = [(OURS, "ds", paths[OURS]), (NETCDF, "netcdf4", paths[NETCDF])]
    if importlib.util.find_spec("h5netcdf") is not None:
        engines.append((H5NETCDF, "h5netcdf", paths[NETCDF]))
    if importlib.util.find_spec("zarr") is not None:
        store = str(folder / "x.zarr")
        with xarray.open_dataset(paths[NETCDF], decode_cf=False) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # consolidated metadata are not in the standard; they make it faster
            file.to_zarr(store)
        engines.append((ZARR, "zarr", store))
    return Trial([way(*engine) for engine in engines], n=repeat)


def _open(xarray: Any, engine: str, path: str) -> None:
    xarray.open_dataset(path, engine=engine).close()


def _load(xarray: Any, engine: str, path: str) -> Any:
    with xarray.open_dataset(path, engine=engine) as file:
        return file.load()


def _settled(variables: Mapping[Any, Any], meta: Data) -> Data:
    """Return all variables but the time, which xarray decodes."""
    return settled({**{name: variables[name] for name in meta if name not in ("time", ".")}, ".": meta})


MAKES: Mapping[str, Callable[[], Data]] = {
    "fifty": fields,
    "an ordinary station": partial(station, 0, ORDINARY),
    "a plain station": partial(station, 0, OWN),
}
GROUP = Group(
    "A file in xarray",
    "Fifty variables of float32, 47 of them of 2400 values with missing ones, with their attributes: opened and "
    "closed, and loaded before. Then reports of stations. The netCDF-4 file is the same for all engines but that of "
    "Zarr.",
    (
        *(
            Case(f"xarray, {verb} {of} of {words}", partial(opened, make, load=verb == "load", ours=ours))
            for words, make in MAKES.items()
            for of, ours in {"a file": "x.ds", "a netCDF-4 file": "x.nc"}.items()
            for verb in ("open", "load")
        ),
    ),
)
