"""Characters that share a dimension with other variables, which are one-byte strings, and those that are joined."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers.library.catalog import joinable
from ds_format.drivers.netcdf import NetCDFWarning

from .files import leave_to_library

GOLDEN = Path(__file__).parents[2] / "golden" / "ds" / "of_0.1.0" / "joined_flags.ds"
FLAGS = [b"A", b"", b"C"]
PAIRS = [[b"A", b""], [b"B", b"C"], [b" ", b"Z"]]
NAMES = [b"abcd", b"ef", b"ijkl"]


def make(path: Path, kind: Any, start: int = 0) -> str:
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("time", None if kind == "NETCDF3_CLASSIC" else 3)
        file.createDimension("level", 2)
        file.createDimension("length", 4)
        file.createVariable("x", "f4", ("time",))[:] = np.arange(3) + start
        file.createVariable("y", "i2", ("level",))[:] = [1, 2]
        file.createVariable("flag", "S1", ("time",))[:] = np.array(FLAGS, "S1")
        file.createVariable("pair", "S1", ("time", "level"))[:] = np.array(PAIRS, "S1")
        file.createVariable("name", "S1", ("time", "length"))[:] = netCDF4.stringtochar(np.array(NAMES, "S4"))
        file.createVariable("one", "S1", ())[...] = b"q"
    return str(path)


@pytest.fixture(params=["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4"])
def paths(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    return [make(tmp_path / f"{i}.nc", request.param, 3 * i) for i in range(2)]


@pytest.mark.parametrize(
    ("variables", "joined"),
    [
        ({"flag": ("S1", ["t"]), "x": ("f4", ["t"])}, set()),
        ({"flag": ("S1", ["t"])}, {"t"}),
        ({"flag": ("S1", ["t", "n"]), "x": ("f4", ["t"])}, {"n"}),
        ({"flag": ("S1", ["t", "n"]), "other": ("S1", ["n", "t"])}, set()),
        ({"flag": ("S1", ["t", "n"]), "n": ("S1", ["k"])}, {"k"}),
        ({"flag": ("S1", ["t", "t"])}, set()),
        ({"flag": ("S1", []), "text": ("O", ["t"])}, set()),
    ],
)
def test_where_characters_are_joined(variables: dict[str, tuple[str, list[str]]], joined: set[str]) -> None:
    assert joinable(variables, [(dims, code) for code, dims in variables.values()]) == joined
    xr = pytest.importorskip("xarray")
    data = {
        name: (dims, np.zeros([2] * len(dims), {"S1": "S1", "O": "O"}.get(code, code)))
        for name, (code, dims) in variables.items()
        if len({*dims}) == len(dims) and (name in dims or all(name not in other for _, other in variables.values()))
    }
    if len(data) == len(variables):
        found = xr.decode_cf(xr.Dataset({name: xr.Variable(*pair) for name, pair in data.items()}))
        gone = {dims[-1] for name, (dims, _) in data.items() if dims and found[name].dims != tuple(dims)}
        assert gone == joined


def check(dataset: Any, n: int = 1) -> None:
    assert dataset["flag"].tolist() == FLAGS * n
    assert dataset["pair"].tolist() == PAIRS * n
    assert dataset["name"].tolist() == NAMES * n
    assert dataset["."]["flag"][".dims"] == ["time"] and dataset["."]["name"][".dims"] == ["time"]


def test_all_readers(paths: list[str], tmp_path: Path) -> None:
    check(ds.read(paths[0]))
    check(ds.from_netcdf(paths[0]))
    assert ds.read(paths[0])["one"] == b"q"
    for dataset in ds.read_many(paths):
        check(dataset)
    check(ds.read_many(paths, dim="time"), 2)
    assert ds.read(paths[0], "flag", sel={"time": [0]})["flag"].tolist() == FLAGS[:1]
    assert ds.read(paths[0], range_={"time": (1, None)})["pair"].tolist() == PAIRS[1:]
    with ds.open(paths[0]) as file:
        assert file["flag"].shape == (3,) and file["pair"][2, 1] == b"Z"
        assert file["flag"].handle().read((range(1, 3),)).tolist() == FLAGS[1:]
    for suffix in ("nc", "ds"):
        ds.merge_files("time", paths, tmp_path / f"merged.{suffix}")
        check(ds.read(tmp_path / f"merged.{suffix}"), 2)


def test_the_hdf5_driver(tmp_path: Path) -> None:
    """It reads netCDF-4 files by the same rule, and HDF5 files hold such variables as they are."""
    pytest.importorskip("h5py", reason="h5py is not installed")
    path = make(tmp_path / "x.nc", "NETCDF4")
    os.rename(path, tmp_path / "x.h5")
    check(ds.read(tmp_path / "x.h5"))
    assert ds.read(tmp_path / "x.h5", "flag", sel={"time": [0]})["flag"].tolist() == FLAGS[:1]
    for name in ("a.ds", "b.h5", "c.nc"):
        ds.convert(tmp_path / "x.h5", tmp_path / name)
        check(ds.read(tmp_path / name))
    ds.convert(tmp_path / "b.h5", tmp_path / "d.nc")
    check(ds.read(tmp_path / "d.nc"))


def test_there_and_back(paths: list[str], tmp_path: Path) -> None:
    ways: list[Any] = [ds.convert, lambda a, b: ds.write(b, ds.read(a))]
    for i, copy in enumerate(ways):
        copy(paths[0], tmp_path / f"{i}.ds")
        check(ds.read(tmp_path / f"{i}.ds"))
        copy(tmp_path / f"{i}.ds", tmp_path / f"back{i}.nc")
        with netCDF4.Dataset(paths[0]) as expected, netCDF4.Dataset(tmp_path / f"back{i}.nc") as found:
            assert {*found.dimensions} == {*expected.dimensions}
            for name, variable in expected.variables.items():
                assert found[name].dimensions == variable.dimensions
                assert found[name][...].tolist() == variable[...].tolist()


def test_as_xarray_has_them(paths: list[str], tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    ds.convert(paths[0], tmp_path / "a.ds")
    with xr.open_dataset(tmp_path / "a.ds", engine="ds") as found, xr.open_dataset(paths[0]) as expected:
        xr.testing.assert_identical(found, expected)
    with ds.open_many(paths, "time") as many:
        assert many["flag"].values.tolist() == FLAGS * 2
        assert many["pair"].dims == ("time", "level")


def test_text_is_joined_although_another_variable_has_its_dimension(tmp_path: Path) -> None:
    words = np.array(["žluť", "b"], object)
    data = {"text": words, "x": np.arange(6.0), "raw": np.array([b"ab", b"c"], object)}
    meta = {"text": {".dims": ["n"]}, "x": {".dims": ["string6"]}, "raw": {".dims": ["n"]}, ".": {}}
    ds.write(tmp_path / "a.nc", {**data, "string2": np.int32(1), ".": meta}, format="NETCDF3_CLASSIC")
    found = ds.read(tmp_path / "a.nc")
    assert found["text"].tolist() == words.tolist()
    assert found["raw"].tolist() == [b"ab", b"c"]


def test_a_file_of_0_1_0(tmp_path: Path) -> None:
    path = shutil.copy(GOLDEN, tmp_path / "old.ds")
    assert ds.read(path)["flag"] == b"ABC"
    ds.convert(path, tmp_path / "back.nc")
    assert ds.read(tmp_path / "back.nc")["flag"].tolist() == [b"A", b"B", b"C"]
    with netCDF4.Dataset(tmp_path / "back.nc") as file:
        assert file["flag"].dimensions == ("time",)


MARKED = [[b"1", b" "], [b" ", b" "], [b"X", b""]]
MASK = [[False, True], [True, True], [False, False]]


def make_marked(path: Path, kind: Any, n: int) -> np.ndarray[Any, Any]:
    """Make a file as those of floats, with flags that are blank where there is no value; return the characters."""
    raw = np.array(MARKED * n, "S1")
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("time", 3 * n)
        file.createDimension("level", 2)
        file.createDimension("length", 4)
        file.createVariable("flag", "S1", ("time", "level"), fill_value=b" ")[:] = raw
        file.createVariable("x", "f4", ("time", "level"))[:] = np.ones(raw.shape, "f4")
        file.createVariable("name", "S1", ("time", "length"), fill_value=b" ")[:] = np.full((3 * n, 4), b" ")
        for name, value in (("gone", b"X"), ("there", b"a")):
            file.createVariable(name, "S1", (), fill_value=b"X")[...] = value
    return raw


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF4"])
@pytest.mark.parametrize("n", [1, pytest.param(11_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("by_library", [False, True])
def test_characters_equal_to_the_fill_value_are_missing(tmp_path: Path, kind: Any, n: int, by_library: bool) -> None:
    path = tmp_path / "x.nc"
    raw = make_marked(path, kind, n)
    if by_library and kind == "NETCDF4":
        leave_to_library(path)
    with netCDF4.Dataset(path) as file:
        expected = file["flag"][...]
    assert np.ma.getmaskarray(expected).tolist() == MASK * n
    ds.convert(path, tmp_path / "y.ds")
    for source in (path, tmp_path / "y.ds"):
        found = ds.read(source)
        with ds.open(source) as file:
            blocks = np.ma.concatenate([block.ravel() for block in file["flag"].blocks(1000)])
            handle: Any = file["flag"].handle()
            handled = handle[1:3]
        for values in (found["flag"], blocks.reshape(expected.shape), ds.read_many([source], "flag")[0]["flag"]):
            assert np.array_equal(np.ma.getmaskarray(values), np.ma.getmaskarray(expected))
            assert values.compressed().tolist() == expected.compressed().tolist()
        assert np.ma.getmaskarray(handled).tolist() == MASK[1:3]
        assert ds.attrs(found, "flag") == {"_FillValue": " "}
        assert found["name"].tolist() == [b"    "] * 3 * n  # a blank is part of a name
        assert np.ma.is_masked(found["gone"]) and found["there"] == b"a"
    both = ds.read_many([path, tmp_path / "y.ds"], dim="time")["flag"]
    assert np.ma.getmaskarray(both).tolist() == MASK * n * 2
    ds.convert(tmp_path / "y.ds", tmp_path / "z.nc")
    with netCDF4.Dataset(tmp_path / "z.nc") as file, netCDF4.Dataset(path) as original:
        file.set_auto_mask(False)
        assert np.array_equal(file["flag"][...], raw)
        assert (file["flag"].dimensions, file["flag"].__dict__) == (("time", "level"), {"_FillValue": b" "})
        assert [*file.variables] == [*original.variables]


def test_a_present_character_that_means_missing_in_a_file_is_told(tmp_path: Path) -> None:
    entry = {".dims": ["t"], "_FillValue": " ", ".netcdf": {"char": {}}}
    flags = np.ma.MaskedArray(np.array([b"a", b" ", b"c"], object), [False, False, True])
    with pytest.warns(NetCDFWarning, match="\"x\": 1 present values equal b' ', which means missing"):
        ds.write(tmp_path / "x.nc", {"x": flags, "y": np.arange(3), ".": {"x": entry, "y": {".dims": ["t"]}}})
    assert ds.read(tmp_path / "x.nc")["x"].tolist() == [b"a", None, None]
