"""Files of all formats that have references, and readers of these."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import xarray as xr
import zarr

import ds_format as ds
from ds_format.virtual.registered import Zarr2Codec, Zarr3Codec


@pytest.fixture(autouse=True, scope="session")
def codecs() -> None:
    """Register the codecs, which entry points do where the package is installed as it is here."""
    numcodecs.register_codec(Zarr2Codec)
    zarr.registry.register_codec("ds_format", Zarr3Codec)


def masked(values: Any) -> Any:
    """Return values of which each third one is missing."""
    array = np.asarray(values)
    return np.ma.MaskedArray(array, np.arange(array.size).reshape(array.shape) % 3 == 0)


def dataset() -> dict[str, Any]:
    """Return a dataset with variables that NetCDF has, too, too large to be part of references."""
    n = 3000
    arrays = {
        "grid": (["time", "lat", "lon"], np.random.default_rng(0).random((6, 30, 40)).astype("f4")),
        "zeros": (["n"], np.zeros(n, "i4")),
        "small": (["time"], np.zeros(6, "i2")),
        "scalar": ([], np.float64(3.5)),
        "zero": ([], np.int16(0)),
        "floats": (["n"], masked(np.arange(n) / 8)),
        "singles": (["n"], masked(np.arange(n, dtype="f4"))),
        "integers": (["n"], masked(np.arange(n, dtype="i2"))),
        "filled": (["n"], masked(np.arange(n, dtype="i4"))),
        "flags": (["m"], np.arange(20000) % 7 == 0),
        "text": (["n"], np.array(["", "a", "bé"] * (n // 3), object)),
        "word": ([], "hello"),
        "time": (["time"], np.arange(6.0)),
        "lat": (["lat"], np.linspace(-90, 90, 30)),
        "empty": (["none", "lat"], np.zeros((0, 30))),
    }
    meta: dict[str, Any] = {name: {".dims": dims} for name, (dims, _) in arrays.items()}
    meta["time"] |= {"units": "days since 2000-01-01", "calendar": "standard"}
    meta["filled"]["_FillValue"] = np.int32(-5)
    meta["grid"] |= {"units": "K", "numbers": np.array([1.5, 2.5]), "valid_max": np.float32(1)}
    meta["."] = {"title": "a title", "count": np.int16(3)}
    return {**{name: values for name, (_, values) in arrays.items()}, ".": meta}


def write(path: Path, data: dict[str, Any], **options: Any) -> str:
    """Write a dataset, in a format by its suffix; `.nc3` is classic NetCDF."""
    if path.suffix == ".nc3":
        path, options = path.with_suffix(".nc"), {"format": "NETCDF3_64BIT_DATA", **options}
        data = {key: value for key, value in data.items() if key != "empty"}
        data["."] = {key: value for key, value in data["."].items() if key != "empty"}
    ds.write(path, data, **options)
    return str(path)


@pytest.fixture(params=["ds", "nc3", "nc", "compressed"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Write the dataset in one format."""
    if request.param == "compressed":
        yield write(tmp_path / "a.nc", dataset(), compression="zlib", level=2, shuffle=True)
    else:
        yield write(tmp_path / f"a.{request.param}", dataset())


def kerchunk(references: Any) -> xr.Dataset:
    """Open references, which are strict JSON, by the engine of kerchunk."""
    pytest.importorskip("kerchunk", reason="kerchunk is not installed")
    found: xr.Dataset = xr.open_dataset(json.loads(strict(references)), engine="kerchunk")
    return found


def strict(references: Any) -> str:
    """Return references as JSON; NaN is an error, also in the text of values."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    for key, value in references["refs"].items():
        if key.rpartition("/")[2] in (".zarray", ".zattrs", ".zgroup"):
            json.loads(value, parse_constant=refuse)
    return json.dumps(references, allow_nan=False)


def plain(values: Any) -> list[Any]:
    """Return text as a list of `str`, where missing text is empty."""
    items = np.asarray(values, object).ravel().tolist()
    return ["" if one != one else one.decode().rstrip("\0") if isinstance(one, bytes) else one for one in items]


def require_equal(expected: xr.Dataset, found: xr.Dataset) -> None:
    """Compare names, dimensions, types and values."""
    assert {*expected.variables} == {*found.variables}
    for name, variable in expected.variables.items():
        other = found[name]
        assert variable.dims == other.dims, name
        if variable.dtype.kind in "OST" and not (variable.dtype.kind == "O" and other.dtype.kind == "f"):
            assert plain(variable.values) == plain(other.values), name
        elif variable.dtype.kind == "O":  # booleans with missing ones
            np.testing.assert_array_equal(variable.values.astype("f4"), other.values)
        else:
            assert variable.dtype == other.dtype, name
            np.testing.assert_array_equal(variable.values, other.values, err_msg=str(name))
