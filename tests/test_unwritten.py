"""Values that the NetCDF library left unwritten, and values that became missing since: the mark `fill` in `.netcdf`."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers

GOLDEN = Path(__file__).parent / "golden" / "ds" / "of_0.1.0" / "fill_mark.ds"
FORMATS = ["NETCDF3_CLASSIC", "NETCDF4"]
MARKED = {"fill": "default"}
INT_FILL = -2147483647
SIZES = [4, 300_000]
"""Values of a small file, and of one that is read and written in blocks."""


def make(path: Path, kind: Any = "NETCDF3_CLASSIC", n: int = 4) -> str:
    """Write a file in which `unwritten` and `named` have values that nobody wrote."""
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.createDimension("t", n)
        file.createVariable("whole", "f4", ("t",))[:] = np.arange(n)
        file.createVariable("unwritten", "f4", ("t",))[: n // 2] = np.arange(n // 2)
        named = file.createVariable("named", "i4", ("t",))
        named.missing_value = np.int32(-1)
        named[: n // 2] = np.arange(n // 2)
        scalar = file.createVariable("scalar", "i4", ())
        scalar.missing_value = np.int32(-1)
    return str(path)


def raw(path: Any) -> dict[str, Any]:
    """Return what a NetCDF file stores."""
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return {name: variable[...] for name, variable in file.variables.items()}


def fills(path: Any) -> dict[str, Any]:
    with netCDF4.Dataset(path) as file:
        return {name: getattr(variable, "_FillValue", None) for name, variable in file.variables.items()}


def record(path: Any, name: str) -> Any:
    with ds.open(path) as file:
        return file.meta[name].get(".netcdf", {})


@pytest.fixture(params=["convert", "read and write"])
def copy(request: pytest.FixtureRequest) -> Any:
    if request.param == "convert":
        return ds.convert
    return lambda source, target: ds.write(target, ds.read(source))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("n", SIZES)
def test_unwritten_values_come_back(tmp_path: Path, kind: str, n: int, copy: Any) -> None:
    source = make(tmp_path / "a.nc", kind, n)
    copy(source, tmp_path / "b.ds")
    assert record(tmp_path / "b.ds", "whole")["fill"] == "unused"
    assert record(tmp_path / "b.ds", "unwritten")["fill"] == "default"
    assert record(tmp_path / "b.ds", "named")["mark"] == INT_FILL
    for again in (ds.convert, lambda a, b: ds.write(b, ds.read(a))):
        again(tmp_path / "b.ds", tmp_path / "c.nc")
        expected = raw(source)
        assert all(np.array_equal(values, expected[name]) for name, values in raw(tmp_path / "c.nc").items())
        assert fills(tmp_path / "c.nc") == dict.fromkeys(expected)


@pytest.mark.parametrize("n", SIZES)
def test_a_part_keeps_the_mark(tmp_path: Path, n: int) -> None:
    source = make(tmp_path / "a.nc", n=n)
    ds.convert(source, tmp_path / "a.ds")
    part = {"t": slice(1, n)}
    ds.convert(tmp_path / "a.ds", tmp_path / "b.ds", sel=part)
    ds.write(tmp_path / "c.ds", ds.read(tmp_path / "a.ds", sel=part))
    for name in ("b.ds", "c.ds"):
        assert record(tmp_path / name, "unwritten")["fill"] == "default"
        assert record(tmp_path / name, "whole")["fill"] == "unused"
        ds.convert(tmp_path / name, tmp_path / "d.nc")
        assert fills(tmp_path / "d.nc")["unwritten"] is None
    opened = drivers.open_source(tmp_path / "a.ds", drivers.FORMATS["ds"])
    block = np.ma.concatenate(list(opened.blocks("unwritten", 1000)))
    assert np.array_equal(np.ma.getdata(block), raw(source)["unwritten"])


@pytest.mark.parametrize("n", SIZES)
def test_the_engine_shows_what_netcdf4_shows(tmp_path: Path, n: int, copy: Any) -> None:
    xr = pytest.importorskip("xarray")
    source = make(tmp_path / "a.nc", "NETCDF4", n)
    copy(source, tmp_path / "b.ds")
    for masks in (True, False):
        with (
            xr.open_dataset(source, engine="netcdf4", mask_and_scale=masks) as expected,
            xr.open_dataset(tmp_path / "b.ds", engine="ds", mask_and_scale=masks) as found,
        ):
            xr.testing.assert_equal(found, expected)
            assert {name: found[name].dtype for name in found} == {name: expected[name].dtype for name in expected}
    with xr.open_dataset(tmp_path / "b.ds", engine="ds", default_fill="missing") as found:
        assert np.isnan(found["named"][-1]) and np.isnan(found["scalar"])


@pytest.mark.parametrize("suffix", ["nc", "ds"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["whole", "unwritten", "named"])
@pytest.mark.parametrize("by_ds", [False, True])
def test_values_masked_since_are_missing(tmp_path: Path, suffix: str, n: int, name: str, by_ds: bool) -> None:
    xr = pytest.importorskip("xarray")
    source: Any = make(tmp_path / "a.nc", n=n)
    if by_ds:
        ds.convert(source, tmp_path / "a.ds")
        source = tmp_path / "a.ds"
    dataset = ds.read(source)
    dataset[name] = np.ma.masked_where(np.arange(n) == 1, dataset[name])
    out = tmp_path / f"out.{suffix}"
    ds.write(out, dataset)
    with xr.open_dataset(out, engine="ds" if suffix == "ds" else "netcdf4") as found:
        values = dataset[name].astype("f8")
        if (name, suffix) == ("named", "nc"):  # a file of NetCDF can tell them apart
            values = np.ma.MaskedArray(values.data, np.arange(n) == 1)
        expected = values.filled(np.nan)
        np.testing.assert_array_equal(found[name].values, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in `named` values are missing in two ways
        mask = np.ma.getmaskarray(ds.read(out)[name])
    np.testing.assert_array_equal(mask, np.ma.getmaskarray(dataset[name]))


def test_reading_a_variable_without_any_sets_no_mark(tmp_path: Path) -> None:
    source = make(tmp_path / "a.nc")
    for dataset in (
        ds.read(source),
        ds.from_netcdf(source),
        ds.read_many([source])[0],
        ds.read_many([source], dim="t"),
    ):
        assert dataset["."]["whole"][".netcdf"] == {"fill": "unused"}
        assert dataset["."]["unwritten"][".netcdf"] == MARKED
    part = ds.read(source, sel={"t": [0, 1]})
    assert part["."]["unwritten"][".netcdf"] == {"fill": "unused"}


@pytest.mark.parametrize("suffix", ["nc", "ds"])
def test_what_a_file_lacks_is_missing(tmp_path: Path, suffix: str) -> None:
    xr = pytest.importorskip("xarray")
    paths = [make(tmp_path / "0.nc"), str(tmp_path / "1.nc")]
    with netCDF4.Dataset(paths[1], "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("t", 4)
        file.createVariable("whole", "f4", ("t",))[:] = [5, 6, 7, 8]
    if suffix == "ds":
        for path in paths:
            ds.convert(path, path + ".ds")
        paths = [path + ".ds" for path in paths]
    ds.merge_files("t", paths, tmp_path / "merged.nc")
    ds.merge_files("t", paths, tmp_path / "merged.ds")
    ds.write(tmp_path / "read.nc", ds.read_many(paths, dim="t"))
    ds.write(tmp_path / "memory.nc", ds.merge([ds.read(path) for path in paths], "t"))
    for name in ("merged.nc", "merged.ds", "read.nc", "memory.nc"):
        with xr.open_dataset(tmp_path / name, engine="ds" if name.endswith("ds") else "netcdf4") as found:
            assert np.isnan(found["unwritten"][4:]).all()
            assert np.isnan(found["named"][4:]).all()
            assert found["unwritten"].mean() == 0.5
            assert found["whole"].values.tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    with ds.open_many(paths, "t", missing="fill") as found:
        assert np.isnan(found["unwritten"][4:]).all()


def test_only_parts_that_agree_keep_the_mark(tmp_path: Path) -> None:
    paths = [make(tmp_path / "a.nc"), make(tmp_path / "b.nc")]
    ds.merge_files("t", paths, tmp_path / "both.ds")
    assert record(tmp_path / "both.ds", "unwritten") == MARKED
    own = ds.read(paths[1])
    own["unwritten"] = np.ma.MaskedArray(np.arange(4, dtype="f4"), [False, False, False, True])
    own["."]["unwritten"] = {".dims": ["t"]}
    ds.write(tmp_path / "b.ds", own)
    ds.convert(paths[0], tmp_path / "a.ds")
    ds.merge_files("t", [tmp_path / "a.ds", tmp_path / "b.ds"], tmp_path / "mixed.ds")
    assert record(tmp_path / "mixed.ds", "unwritten") == {}


def test_a_file_of_0_1_0(tmp_path: Path) -> None:
    path = shutil.copy(GOLDEN, tmp_path / "old.ds")
    dataset = ds.read(path)
    assert dataset["unwritten"].tolist() == [1, 2, None, None]
    assert dataset["named"].tolist() == [1, 2, None, 4]
    dataset["whole"] = np.ma.masked_equal(dataset["whole"], 2)
    ds.write(tmp_path / "new.nc", dataset)
    found = raw(tmp_path / "new.nc")
    fill = fills(tmp_path / "new.nc")
    assert fill["unwritten"] is None and fill["whole"] == found["whole"][1]
    assert found["named"].tolist() == [1, 2, -1, 4]
    ds.convert(path, tmp_path / "same.nc")
    assert raw(tmp_path / "same.nc")["unwritten"][2] == netCDF4.default_fillvals["f4"]
    assert raw(tmp_path / "same.nc")["named"].tolist() == [1, 2, -1, 4]


def test_a_value_like_the_default_fill_value_in_a_pre_filled_variable_is_told(tmp_path: Path) -> None:
    value = netCDF4.default_fillvals["f4"]
    for i, fill in enumerate(("default", "unused")):
        meta = {".dims": ["t"], ".netcdf": {"fill": fill}}
        ds.write(tmp_path / f"{i}.json", {"x": np.array([1, value], "f4"), ".": {"x": meta}})
        with pytest.warns(ds.LossWarning, match="1 present values equal"):
            ds.convert(tmp_path / f"{i}.json", tmp_path / f"{i}.nc")
