"""Arrays of xarray as values of a dataset: they keep what a Dataset of them keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import ds_format as ds

TIMES = np.array(["2000-01-01", "2000-01-02"], "M8[ns]")


def whole() -> xr.Dataset:
    rain = xr.Variable(("time", "x"), np.arange(6.0).reshape(2, 3), {"units": "mm"})
    x = xr.Variable("x", [1, 2, 3], {"units": "m"})
    return xr.Dataset({"rain": rain}, {"time": TIMES, "x": x, "height": 2.5, "place": ("x", ["a", "b", "c"])})


def same(path: Path, dataset: dict[str, Any]) -> ds.Dataset:
    """Write a dataset, check that it is read as `whole()`, and return it."""
    ds.write(path, dataset)
    with xr.open_dataset(path, engine="ds") as found:
        xr.testing.assert_identical(found.load(), whole())
    return ds.read(path)


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_dimensions_attributes_and_coordinates_are_kept(tmp_path: Path, suffix: str) -> None:
    path, x = tmp_path / f"a.{suffix}", whole()
    found = same(path, {"rain": x["rain"]})
    ds.write(tmp_path / f"b.{suffix}", x)
    expected = ds.read(tmp_path / f"b.{suffix}")
    assert found["."] == expected["."]
    same(path, {"time": x["time"], "rain": x["rain"]})
    same(path, {"rain": x["rain"], "x": [1, 2, 3], "time": TIMES})
    ds.write(path, {"rain": x["rain"].variable, "y": [1.0]})
    assert ds.read(path)["."]["rain"][".dims"] == ["time", "x"]
    assert ds.loads(ds.dumps({"rain": x["rain"]}))["."]["rain"]["units"] == "mm"


def test_given_metadata_have_priority(tmp_path: Path) -> None:
    path, x = tmp_path / "a.ds", whole()
    entries = {
        "rain": {"units": "cm", ".dims": ["t", "x"]},
        "height": {"long_name": "height"},
        "time": {"units": "hours since 2000-01-01"},
        ".": {"title": "Rain"},
    }
    ds.write(path, {"rain": x["rain"], ".": entries})
    found = ds.read(path)["."]
    assert (found["rain"]["units"], found["rain"][".dims"]) == ("cm", ["t", "x"])
    assert (found["height"]["long_name"], found["."]["title"]) == ("height", "Rain")
    ds.write(path, {"rain": x["rain"], "time": [0, 24], ".": {"time": entries["time"]}})
    assert ds.read(path)["time"].tolist() == [0, 24]
    assert x["rain"].attrs == {"units": "mm"}


def test_what_differs_is_refused(tmp_path: Path) -> None:
    path, x = tmp_path / "a.ds", whole()
    later = x["rain"].assign_coords(time=TIMES + np.timedelta64(1, "D"))
    for dataset, name, message in (
        ({"rain": x["rain"], "snow": later}, "time", 'the coordinate of "snow"'),
        ({"rain": x["rain"], "x": [1, 2, 4]}, "x", "the coordinate of the same name"),
        ({"rain": x["rain"], "time": [0, 1]}, "time", "the coordinate of the same name"),
        ({"time": x["rain"]}, "time", 'the coordinate of "time"'),
        ({"all": x}, "all", "found a Dataset, expected an array"),
        ({"rain": x["rain"], ".": {"rain": {".dims": ["t"]}}}, "rain", "found 1 dimension names"),
    ):
        with pytest.raises(ds.UnsupportedError, match=rf'a\.ds: variable "{name}": .*{message}'):
            ds.write(path, dataset)
    with pytest.raises(ds.UnsupportedError, match=r"a\.ds: .*conflicting sizes"):
        ds.write(path, {"a": xr.DataArray([1, 2], dims="n"), "b": xr.DataArray([1], dims="n")})
    assert not path.exists()
