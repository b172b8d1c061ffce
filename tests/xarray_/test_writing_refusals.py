"""Mistakes of those who write: what is said names the file, the variable, and what was expected."""

import os
import re

import numpy as np
import pytest

xr = pytest.importorskip("xarray", reason="xarray is not installed")

import ds_format as ds  # noqa: E402

from ..numpy_versions import needs_numpy_2  # noqa: E402

TIMES = np.array(["2000-01-01", "2000-01-02"], "M8[ns]")
OBJECTS = {"lists": [[1], [2, 3]], "a list and a number": [1, [2, 3]], "arrays": [np.arange(2), np.arange(3)]}


def example():
    return xr.Dataset({"x": ("t", [1.0, 2.0])}, {"t": TIMES})


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("x", {"dtype": "float6"}),
        ("x", {"scale_factor": "half"}),
        ("x", {"_FillValue": "none"}),
        ("x", {"_FillValue": [1, 2]}),
        ("x", {"chunksizes": "many"}),
        pytest.param("x", {"_FillValue": 99999, "dtype": "i2"}, marks=needs_numpy_2),  # NumPy 1 takes the lowest bits
        ("t", {"units": "dyas since 2000-01-01"}),
        ("t", {"calendar": "mayan"}),
        ("x", None),
        ("x", ["dtype"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_an_encoding_that_means_nothing(tmp_path, name, encoding, chunked):
    dataset = example()
    if chunked:
        pytest.importorskip("dask", reason="dask is not installed")
        dataset = dataset.chunk()
    with pytest.raises(ds.UnsupportedError, match=rf'a\.ds: variable "{name}": .'):
        ds.write(tmp_path / "a.ds", dataset, encoding={name: encoding})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": 3}, "encoding: found 3, expected a dict"),
        ({"encoding": ["x"]}, r"encoding: found \['x'\], expected a dict"),
        ({"unlimited_dims": 3}, "unlimited_dims: found 3, expected names of dimensions"),
    ],
)
def test_options_of_a_wrong_type(tmp_path, options, message):
    with pytest.raises(TypeError, match=message):
        ds.write(tmp_path / "a.ds", example(), **options)


def test_what_is_nothing_of_xarray(tmp_path):
    with pytest.raises(TypeError, match="found an object of type dict, expected a Dataset, DataArray or DataTree"):
        ds.from_xarray({"x": 1})  # type: ignore[arg-type]
    with pytest.raises(ds.UnsupportedError, match=r"a\.ds: a dataset must be a dict, found an object of type Variable"):
        ds.write(tmp_path / "a.ds", xr.Variable("t", [1]))


@pytest.mark.parametrize("values", OBJECTS.values(), ids=OBJECTS)
def test_objects_that_hold_several_values(tmp_path, values):
    array = np.empty(2, object)
    array[:] = values
    with pytest.raises(ds.UnsupportedError, match=r'a\.ds: variable "x": an object array holds .*(list|ndarray)'):
        ds.write(tmp_path / "a.ds", xr.Dataset({"x": ("t", array)}))


@pytest.mark.parametrize("suffix", ["ds", "nc", "json"])
@pytest.mark.parametrize("chunked", [False, True])
def test_what_is_computed_elsewhere_is_written_where_it_was_meant_to(tmp_path, monkeypatch, suffix, chunked):
    pytest.importorskip("dask", reason="dask is not installed")
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    delayed = ds.write(f"a.{suffix}", example().chunk() if chunked else example(), compute=False)
    monkeypatch.chdir(tmp_path / "elsewhere")
    delayed.compute()
    assert os.listdir(tmp_path / "here") == [f"a.{suffix}"] and os.listdir() == []


def test_a_tree_names_what_is_wrong(tmp_path):
    tree = xr.DataTree.from_dict({"/g": example()})
    with pytest.raises(ds.UnsupportedError, match=re.escape('a.ds: variable "g/x": ')):
        ds.write(tmp_path / "a.ds", tree, encoding={"/g": {"x": {"dtype": "float6"}}})
    with pytest.raises(ds.UnsupportedError, match=r"a\.ds: `encoding` of a DataTree: expected a dict by the path"):
        ds.write(tmp_path / "a.ds", tree, encoding=["x"])


@pytest.mark.parametrize("suffix", ["ds", "nc"])
@pytest.mark.parametrize(
    ("values", "encoding"),
    [
        (np.array([1.0, np.nan]), {"dtype": "i2"}),
        (np.array([1.0, np.nan]), {"dtype": "i8", "scale_factor": 0.5}),
        (np.array(["2000-01-01", "NaT"], "M8[ns]"), {"dtype": "i4", "units": "days since 1999-01-01"}),
        (np.array([86400, "NaT"], "m8[s]"), {"dtype": "u1", "units": "days"}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:saving variable x with floating point data as an integer dtype")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:All-NaN slice")  # xarray hides it by what threads take from each other
def test_null_of_dask_is_never_another_value(tmp_path, suffix, values, encoding):
    pytest.importorskip("dask", reason="dask is not installed")
    path = tmp_path / f"a.{suffix}"
    dataset = xr.Dataset({"x": ("t", values, {}, encoding)}).chunk(t=1)
    if suffix == "ds" or values.dtype.kind == "f":  # else times are masked
        with pytest.raises(ds.UnsupportedError, match=r'a\.\w+: variable "x": found NaN or NaT.*needs a `_FillValue`'):
            ds.write(path, dataset)
        assert os.listdir(tmp_path) == []
    dataset["x"].encoding["_FillValue"] = 99
    ds.write(path, dataset)
    assert xr.load_dataset(path, engine="ds" if suffix == "ds" else "netcdf4")["x"].isnull().values.tolist() == [0, 1]
    ds.write(path, dataset.isel(t=[0]))
    assert xr.load_dataset(path, engine="ds" if suffix == "ds" else "netcdf4")["x"].equals(dataset["x"][:1].compute())
