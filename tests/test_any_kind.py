"""Kinds of values, attributes and properties that random datasets hardly have, in all formats."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import FORMATS
from ds_format.testing import require_same

from .drivers.netcdf_compare import differences
from .formats import DATASETS, SUFFIX, SUFFIXES, rows
from .holdings import HOLDINGS
from .numpy_versions import NUMPY_2

UNSUPPORTED = {
    "long": np.zeros(2, "g"),
    "complex": np.zeros(2, "c8"),
    "date": np.array([1], "M8[ps]"),
    "compound": np.zeros(2, "i4,f4"),
    "surrogate": np.array(["a", "\ud800"], object),
    "mixed": np.array(["a", b"a"], object),
    "other objects": np.array(["a", 1], object),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_no_format_holds_is_refused_by_all(name: str, suffix: str, tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match=rf'a{suffix}: variable "{name}": '):
        ds.write(tmp_path / f"a{suffix}", {"x": np.zeros(2), name: UNSUPPORTED[name]})
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::ds_format.LossWarning")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_times_are_numbers_in_all_formats(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    ds.write(path, {"t": np.array(["1970-01-02", "1970-01-04"], "M8[ns]"), ".": {"t": {".dims": ["t"]}}})
    found = ds.read(path)
    assert found["t"].tolist() == [1, 3]
    if "units" in found["."]["t"]:  # samples and CSV files have no attributes
        assert found["."]["t"]["units"] == "days since 1970-01-01"


ODD_ATTRIBUTES = [
    *(
        (1, 2),
        [np.int8(1), np.int8(2)],
        [np.float32(0.1)],
        np.array("a"),
        np.array(True),
        np.str_("a"),
        np.array(["a", "b"]),
    ),
    *(
        np.zeros(0, "U1"),
        np.zeros((0, 2)),
        [],
        "",
        ["", ""],
        ["a"],
        [1],
        1 << 70,
        [1, 2.5],
        [True],
        {"a": np.arange(2)},
    ),
    *(
        "a\0",
        "a\0b",
        "\udcff",
        "\ud800",
        ["a", 1],
        [[1], [2, 3]],
        float("inf"),
        np.zeros(2, "f2"),
        np.array([1, 2], ">i2"),
    ),
]


@pytest.mark.parametrize("value", ODD_ATTRIBUTES, ids=repr)
def test_odd_attributes(value: Any, tmp_path: Path) -> None:
    """What ds files make of an attribute, the others make of it, too."""
    ds.write(tmp_path / "a.ds", {"x": 1, ".": {"x": {"a": value}, ".": {"a": value}}})
    dataset = ds.read(tmp_path / "a.ds")
    for format in [name for name, suffix in SUFFIX.items() if suffix in DATASETS and suffix != ".ds"]:
        for given in (dataset, {**dataset, ".": {"x": {"a": value}, ".": {"a": value}}}):
            path = tmp_path / f"a{SUFFIX[format]}"
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                ds.write(path, given)
            passage = HOLDINGS[format](dataset)
            passage.require_warnings(caught)
            require_same(passage.dataset, ds.read(path))


@pytest.mark.parametrize("value", [1j, np.datetime64("2000"), {1}, {1: 2}, np.longdouble(1), object(), np.ma.masked])
@pytest.mark.parametrize("suffix", DATASETS)
def test_attributes_that_no_format_holds(value: Any, suffix: str, tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match=rf'a{suffix}: variable "x": attribute "a": '):
        ds.write(tmp_path / f"a{suffix}", {"x": 1, ".": {"x": {"a": value}}})
    with pytest.raises(ds.UnsupportedError, match=rf'a{suffix}: attribute "a": '):
        ds.write(tmp_path / f"a{suffix}", {"x": 1, ".": {".": {"a": value}}})
    assert not list(tmp_path.iterdir())


TIMES: dict[str, Any] = {
    "t": np.array([2451544.5, 2451545.0]),
    ".": {"t": {".dims": ["t"], ".time": True, "a": 1}, ".": {}},
}


@pytest.mark.parametrize("suffix", DATASETS)
def test_times_stay_times(suffix: str, tmp_path: Path) -> None:
    """Where `.time` is not kept, units and calendar say the same."""
    path, again = tmp_path / f"a{suffix}", tmp_path / "b.ds"
    ds.write(path, TIMES)
    ds.convert(path, again)
    found = ds.read(again, jd=True)
    assert found["t"].tolist() == TIMES["t"].tolist()
    assert found["."]["t"][".time"] is True
    if suffix in (".nc", ".h5"):
        assert (ds.attrs(ds.read(again), "t") or {})["calendar"] == "proleptic_gregorian"


@pytest.mark.parametrize("suffix", sorted({*DATASETS} - {".nc", ".h5"}))
@pytest.mark.parametrize("first", [".nc", ".h5"])
def test_storage_is_kept_on_the_way_back(first: str, suffix: str, tmp_path: Path) -> None:
    name = {".nc": ".netcdf", ".h5": ".hdf5"}[first]
    storage = {name: {"chunks": [2, 3], "compression": {".nc": "zlib", ".h5": "gzip"}[first], "level": 3}}
    ds.write(tmp_path / f"a{first}", {"x": np.zeros((4, 6)), ".": {"x": storage}})
    ds.convert(tmp_path / f"a{first}", tmp_path / f"b{suffix}")
    ds.convert(tmp_path / f"b{suffix}", tmp_path / f"c{first}")
    written, found = (ds.read(tmp_path / f"{stem}{first}")["."] for stem in "ac")
    assert found == written
    assert found["x"][name].items() >= storage[name].items()


def test_storage_is_kept_from_netcdf_to_hdf5_and_back(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 6)
        file.createDimension("unused", 5)
        file.createGroup("g")
        options: Any = {"compression": "zlib", "complevel": 3, "shuffle": True, "fletcher32": True, "endian": "big"}
        file.createVariable("v", ">i4", ("time", "x"), chunksizes=(2, 3), **options)[:] = np.arange(24).reshape(4, 6)
        enum = file.createEnumType("i1", "weather", {"sun": 0, "rain": 1})
        file.createVariable("e", enum, ("x",))[:] = [0, 1, 0, 1, 0, 1]
    ds.convert(tmp_path / "a.nc", tmp_path / "b.h5")
    meta = ds.read(tmp_path / "b.h5")["."]
    expected = {"chunks": [2, 3], "maxshape": [None, 6], "compression": "gzip", "level": 3, "endian": "big"}
    assert meta["v"][".hdf5"] == {**expected, "shuffle": True, "fletcher32": True}
    assert meta["e"][".hdf5"]["enum"] == {"sun": 0, "rain": 1}
    assert meta["."][".hdf5"] == {"dimensions": {"unused": 5}, "groups": ["g"]}
    with pytest.warns(ds.LossWarning, match='variable "e": left out: the names of its HDF5 enumeration'):
        ds.convert(tmp_path / "b.h5", tmp_path / "c.nc")
    found = differences(tmp_path / "a.nc", tmp_path / "c.nc")
    assert [line for line in found if not line.startswith(("v: fill: ", "e: ", " enums: "))] == []


MOST_DIMS = 64 if NUMPY_2 else 32
"""Dimensions that an array can have."""


@pytest.mark.parametrize(
    ("suffix", "limit"),
    rows(arrow=1, binpickle=64, csv=1, datadings=64, ds=64, hdf5=32, json=64, netcdf=32, parquet=1, zarr=32, zds=64),
)
def test_many_dimensions(suffix: str, limit: int, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    limit = min(limit, MOST_DIMS)
    if suffix == ".nc" and not NUMPY_2:
        limit -= 1  # the library makes arrays with one more
    dims = [f"d{i}" for i in range(limit)] if limit > 1 else ["i"]
    ds.write(path, {"x": np.ones([1] * limit, "i8"), ".": {"x": {".dims": dims}}})
    assert ds.read(path)["x"].shape == (1,) * limit
    if limit < MOST_DIMS:
        with pytest.raises(ds.UnsupportedError if NUMPY_2 else ds.DsError, match='variable "y": '):
            ds.write(path, {"y": np.ones([1] * (limit + 1))})
        assert list(ds.read(path)) == ["x", "."]


@pytest.mark.parametrize(
    ("suffix", "order"),
    rows(**dict.fromkeys(FORMATS, "b g/a a g/0") | {"netcdf": "b a g/a g/0", "hdf5": "b a g/a g/0", "csv": None}),
)
def test_the_order_of_variables(suffix: str, order: str, tmp_path: Path) -> None:
    ds.write(tmp_path / f"a{suffix}", {"b": 1, "g/a": 2, "a": 3, "g/0": 4})
    assert list(ds.read(tmp_path / f"a{suffix}")) == [*order.split(), "."]
