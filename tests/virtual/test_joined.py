"""References of many files: values as of `open_many`, and files that cannot be joined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format import cli
from ds_format.errors import DsError, MissingError, UnsupportedError

from .conftest import kerchunk, masked, require_equal

Changes = dict[str, Any]


def write_day(folder: Path, day: int, suffix: str = "ds", n: int = 4, **changes: Any) -> str:
    """Write a file of `n` times, with some variables or metadata changed; None removes them."""
    data: dict[str, Any] = {
        "time": np.arange(n) + 4.0 * day,
        "grid": np.arange(n * 3000, dtype="f4").reshape(n, 50, 60) + day,
        "gaps": masked(np.arange(n * 600.0).reshape(n, 600)),
        "lat": np.arange(50.0),
        "name": np.array([f"n{day}{i}" for i in range(n)], object),
    }
    dims = {"time": ["time"], "grid": ["time", "lat", "lon"], "gaps": ["time", "k"], "lat": ["lat"], "name": ["time"]}
    meta: dict[str, Any] = {key: {".dims": names} for key, names in dims.items()}
    meta["time"]["units"] = "days since 2000-01-01"
    for key, change in changes.items():
        if isinstance(change, dict):
            meta[key] |= change
        elif change is None:
            del data[key], meta[key]
        else:
            data[key] = change
    path = folder / f"{day}.{suffix}"
    ds.write(path, {**data, ".": meta})
    return str(path)


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_values_are_those_of_open_many(tmp_path: Path, suffix: str) -> None:
    paths = [write_day(tmp_path, day, suffix) for day in range(5)]
    found = ds.references(paths, "time")
    require_equal(ds.open_many(paths, "time"), kerchunk(found))
    assert found["refs"]["time/0"].startswith("base64:")
    assert [key for key in found["refs"] if key.startswith("lat/") and key[4] != "."] == ["lat/0"]
    require_equal(ds.open_many(paths, "time"), kerchunk(ds.references(str(tmp_path / "*"), "time")))


def test_files_may_have_other_lengths_if_chunks_divide_them(tmp_path: Path) -> None:
    paths = [write_day(tmp_path, day, n=n, gaps=None, time=np.arange(n) + 9.0 * day) for day, n in enumerate((4, 6, 9))]
    found = ds.references(paths, "time")
    assert json.loads(found["refs"]["grid/.zarray"])["chunks"] == [1, 50, 60]
    require_equal(ds.open_many(paths, "time"), kerchunk(found))
    paths = [write_day(tmp_path, day, n=n, gaps=None, time=np.arange(n) + 9.0 * day) for day, n in enumerate((4, 6, 2))]
    assert json.loads(ds.references(paths, "time")["refs"]["grid/.zarray"])["chunks"] == [2, 50, 60]


def test_a_new_dimension_and_an_inner_one(tmp_path: Path) -> None:
    paths = [write_day(tmp_path, day, time=np.arange(4.0)) for day in range(3)]
    require_equal(ds.open_many(paths, "run"), kerchunk(ds.references(paths, "run")))
    for day, path in enumerate(paths):
        values = np.arange(4 * 700 * 5, dtype="f4").reshape(4, 700, 5) * day
        ds.write(path, {"x": values, ".": {"x": {".dims": ["a", "time", "b"]}}})
    require_equal(ds.open_many(paths, "time"), kerchunk(ds.references(paths, "time")))


def test_chunks_of_the_last_file_may_be_partial(tmp_path: Path) -> None:
    paths = []
    for day, n in enumerate((4, 4, 3)):
        paths.append(str(tmp_path / f"{day}.nc"))
        with netCDF4.Dataset(paths[-1], "w") as file:
            file.createDimension("time", None)
            file.createDimension("lat", 1000)
            x = file.createVariable("x", "i2", ("time", "lat"), zlib=True, chunksizes=(2, 300))
            x[:] = np.arange(n * 1000).reshape(n, 1000) + day
    require_equal(ds.open_many(paths, "time"), kerchunk(ds.references(paths, "time")))
    with pytest.raises(UnsupportedError, match=r'2\.nc: variable "x": found 3 positions, expected a multiple of 2'):
        ds.references([paths[2], paths[0]], "time")


ODD = np.arange(12000, dtype="f4").reshape(4, 50, 60)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": ODD.astype("f8")}, 'variable "grid": found values of type <f8, but <f4 in .*0.ds'),
        ({"gaps": np.zeros((4, 600))}, 'variable "gaps": found values of type|variable "gaps": found the codecs none'),
        ({"time": {"units": "hours since 2000-01-01"}}, 'variable "time": found units .hours since'),
        ({"grid": {"_FillValue": np.float32(5)}}, 'variable "grid": found the attribute _FillValue'),
        ({"lat": np.arange(50.0) + 1}, 'variable "lat": other values than in .*name the others in `variables`'),
        ({"grid": {"units": "km"}}, 'variable "grid": units: found .km., .*name the others in `variables`'),
        ({"name": None}, 'variable "name"'),
    ],
)
def test_files_that_cannot_be_joined_are_named(
    tmp_path: Path, changes: Changes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [write_day(tmp_path, 0), write_day(tmp_path, 1, **changes)]
    with pytest.raises(DsError, match=r"1\.ds: " + message) as error:
        ds.references(paths, "time")
    assert not [word for word in ("stack", "compat", "drop_variables", "units=") if word in str(error.value)]
    output = tmp_path / "refs.json"
    output.write_text("old")
    assert cli.main(["virtualize", *paths, "-o", str(output), "dim:", "time"]) == 1
    assert "1.ds" in capsys.readouterr().err
    assert output.read_text() == "old"


def test_packing_that_differs_is_refused(tmp_path: Path) -> None:
    packed: Changes = {"grid": (ODD % 100).astype("i2")}
    paths = []
    for day in range(2):
        paths.append(write_day(tmp_path, day, "nc", **packed))
        with netCDF4.Dataset(paths[-1], "a") as file:
            file["grid"].scale_factor = 0.1 + day
    with pytest.raises(UnsupportedError, match=r'1\.nc: variable "grid": found scale_factor .*cannot convert'):
        ds.references(paths, "time")


def test_arguments(tmp_path: Path) -> None:
    paths = [write_day(tmp_path, day) for day in range(2)]
    with pytest.raises(TypeError, match="dim: found None for 2 files"):
        ds.references(paths)
    with pytest.raises(TypeError, match="dim: found 3, expected the name of a dimension"):
        ds.references(paths, 3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        ds.references([])
    for given, dim in ((paths[0], None), (paths, "time")):
        with pytest.raises(MissingError, match=r'0\.ds: variable "gird": variable not found'):
            ds.references(given, dim, variables=["gird"])
    found = ds.references(paths, "time", "s3://b", variables="grid")
    assert found["refs"]["grid/1.0.0"][0] == "s3://b/1.ds"


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [write_day(tmp_path, day) for day in range(2)]
    output = tmp_path / "refs.json"
    for words in ([*paths, str(output)], [*paths, "-o", str(output)], ["-o", str(output), *paths]):
        output.unlink(missing_ok=True)
        assert cli.main(["virtualize", *words, "dim:", "time"]) == 0
        require_equal(ds.open_many(paths, "time"), kerchunk(json.loads(output.read_text())))
    assert json.loads(output.read_text()) == ds.references(paths, "time")
    assert cli.main(["virtualize", *paths]) == 1
    assert "expected an output that ends in .json" in capsys.readouterr().err
    assert cli.main(["virtualize", *paths, str(output)]) == 1
    assert "DIM is missing" in capsys.readouterr().err
