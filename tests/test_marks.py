"""Several numbers that mark missing values in a NetCDF file: each comes back value by value from a ds file."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format import drivers
from ds_format.api.creation import created
from ds_format.drivers.base import LossWarning
from ds_format.drivers.ds.header import entries
from ds_format.drivers.netcdf.classic.recalled import ClassicMemory
from ds_format.drivers.netcdf.hdf5.recalled import NetCDF4Memory
from ds_format.model.marks import Marks, StoredMarks

FORMATS = {"NETCDF3_CLASSIC": ["i1", "i2", "i4", "f4", "f8"], "NETCDF3_64BIT_DATA": ["u1", "u2", "u4", "u8", "i8"]}
FORMATS["NETCDF4"] = FORMATS["NETCDF3_CLASSIC"] + FORMATS["NETCDF3_64BIT_DATA"]
SHAPE = (4, 3)
PART = {"t": slice(1, None), "x": [2, 0]}


def raw(path: Any) -> dict[str, Any]:
    """Return the numbers of a file as they are stored."""
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        return {name: variable[...] for name, variable in file.variables.items()}


def same(found: Any, expected: Any) -> None:
    """Check that arrays are equal, with NaN."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(np.asarray(found[name]), array, err_msg=name)
        assert np.asarray(found[name]).dtype == array.dtype


def make(path: Path, code: str, values: Any, format: Any = "NETCDF4", fill: Any = None, **attributes: Any) -> str:
    """Write a file with values, of which the last row is not written, in dimensions of which the first is unlimited."""
    with netCDF4.Dataset(path, "w", format=format) as file:
        file.createDimension("t", None)
        file.createDimension("x", values.shape[1])
        for name, dims in {"v": ("t", "x"), "length": ("t", "x"), "scalar": ()}.items():
            variable = file.createVariable(name, code, dims, fill_value=fill)
            variable.set_auto_maskandscale(False)
            variable.setncatts(attributes if name != "length" else {})
            variable[...] = values[0, 0] if name == "scalar" else values[:-1] if name == "v" else np.ones_like(values)
    return str(path)


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the arguments of `make`."""
    format = draw(st.sampled_from([*FORMATS]))
    code = draw(st.sampled_from(FORMATS[format]))
    marks = [-9.5, np.nan, 0, 1e30] if code[0] == "f" else [99, 0, 7, 100]
    marks = draw(st.lists(st.sampled_from(marks), min_size=1, max_size=4, unique=True))
    values = draw(st.lists(st.sampled_from([*marks, 1, 2]), min_size=12, max_size=12))
    attributes: dict[str, Any] = {"missing_value": np.array(marks, code)}
    fill = draw(st.sampled_from([None, False, marks[-1], 5]))
    if draw(st.booleans()):
        attributes["scale_factor"] = 0.5
    return {"code": code, "values": np.array(values, code).reshape(SHAPE), "format": format, "fill": fill, **attributes}


def settings(dataset: Any) -> dict[str, Any]:
    return {key: repr(sorted(entry.get(".netcdf", {}).items())) for key, entry in dataset["."].items() if key != "."}


def merged(values: dict[str, Any], n: int) -> dict[str, Any]:
    return {name: np.concatenate([array] * n) if array.ndim else array for name, array in values.items()}


@given(files())
def test_each_number_comes_back(tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("marks")
    a, b, c = folder / "a.nc", str(folder / "b.ds"), str(folder / "c.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(a, **arguments)
        expected, part = raw(a), {}
        for name, array in expected.items():
            part[name] = array[1:, [2, 0]] if array.ndim else array
        read = ds.read(a, unpack=False)
        for write in (lambda: ds.convert(a, b), lambda: ds.write(b, read)):
            write()
            for found in (ds.read(b, unpack=False), ds.read(b, ["length"], full=True, unpack=False)):
                assert settings(found) == settings(read)
            ds.convert(b, c)
            same(raw(c), expected)
        ds.convert(b, folder / "part.ds", sel=PART)
        ds.convert(folder / "part.ds", c)
        same(raw(c), part)
        ds.write(c, ds.read(b, sel=PART, unpack=False))
        same(raw(c), part)
        ds.merge_files("t", [b, str(a), b], folder / "merged.ds")
        ds.convert(folder / "merged.ds", c)
        same(raw(c), merged(expected, 3))
        ds.write(c, ds.read_many([b, b, str(a)], dim="t", unpack=False))
        same(raw(c), merged(expected, 3))


@pytest.mark.filterwarnings("ignore:.*multiple fill values")
@given(files())
def test_xarray_shows_each_number(tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any]) -> None:
    xr = pytest.importorskip("xarray")
    folder = tmp_path_factory.mktemp("marks")
    a, b = make(folder / "a.nc", **arguments), str(folder / "b.ds")
    ds.convert(a, b)
    for masks in (False, True):
        with xr.open_dataset(a, engine="netcdf4", mask_and_scale=masks) as expected:
            for path in (a, b):
                found = xr.open_dataset(path, engine="ds", mask_and_scale=masks)
                xr.testing.assert_identical(found, expected)
                xr.testing.assert_identical(found.isel(PART), expected.isel(PART))
                assert found["v"][2, 1].values == pytest.approx(expected["v"][2, 1].values, nan_ok=True, rel=0)
                assert ".netcdf" not in found["v"].encoding or "mark" not in found["v"].encoding[".netcdf"]
            several = xr.concat([expected, expected], "t", data_vars="minimal")
            for paths in ([a, a], [b, b], [a, b]):
                xr.testing.assert_equal(ds.open_many(paths, "t", mask_and_scale=masks), several)
    shown = ds.to_xarray(ds.read(b, unpack=False), mask_and_scale=False)
    same({name: shown[name].values for name in shown}, raw(a))


N = 600_000
"""Values of a file that is converted in blocks."""


@pytest.mark.parametrize("checksum", [False, True])
def test_large_files_are_converted_in_blocks(tmp_path: Path, checksum: bool) -> None:
    values = np.arange(N, dtype="i4").reshape(-1, 3) + 10
    values[:60_000], values[100_000:100_100], values[150_000:, 1] = -1, -2, -3
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("t", len(values))
        file.createDimension("x", 3)
        for name in ("one", "two"):
            file.createVariable(name, "i4", ("t", "x")).missing_value = np.array([-1, -2, -3], "i4")
            file[name][:] = values
    for source, target in (("a.nc", "b.ds"), ("b.ds", "c.ds")):
        ds.convert(tmp_path / source, tmp_path / target, checksum=checksum)
        assert ds.verify(tmp_path / target, checksum=checksum) == []
        mark = entries(tmp_path / target)["one"][".netcdf"]["mark"]
        assert mark["numbers"][:3] == [-1, -2, -3] and mark["runs"][::2] == [0, 1, 2]
        assert sum(mark["runs"][1::2]) == N
    ds.convert(tmp_path / "c.ds", tmp_path / "d.nc")
    same(raw(tmp_path / "d.nc"), {"one": values, "two": values})
    with ds.open(tmp_path / "c.ds") as opened:
        assert np.ma.getdata(opened["one"][150_000:150_002, 1]).tolist() == [-3, -3]


def test_one_number_is_kept_as_before(tmp_path: Path) -> None:
    def mark(values: list[int], **attributes: Any) -> Any:
        meta = {"v": {".dims": ["n"], **attributes}}
        array = np.ma.MaskedArray(np.array(values, "i4"), mask=[True, False, True])
        ds.write(tmp_path / "v.ds", {"v": array, ".": meta})
        return entries(tmp_path / "v.ds")["v"].get(".netcdf", {}).get("mark")

    assert mark([-1, 5, -1], missing_value=[-1, -2]) is None
    assert mark([-1, 5, -1], missing_value=-1, _FillValue=-1) is None
    assert mark([-2, 5, -2], missing_value=[-1, -2]) == -2
    assert mark([-1, 5, -1], missing_value=[-1, 0]) == -1  # otherwise it is read as 0
    assert mark([8, 5, 8], missing_value=[-1, -2]) is None  # masked in memory
    assert mark([-2, 5, 8], missing_value=[-1, -2]) == {"numbers": [-1, -2], "runs": [1, 2, 0, 1]}
    assert mark([0, 5, 8], missing_value=[[1, 2], [3]]) is None


def test_too_many_places(tmp_path: Path) -> None:
    values = np.tile(np.array([-1, -2, 3], "i2"), 20_000)
    meta = {"v": {".dims": ["n"], "missing_value": np.array([-1, -2], "i2")}}
    array = np.ma.MaskedArray(values, mask=values < 0)
    message = (
        r'v\.ds: variable "v": missing values are marked in 2 ways \(20000 are -1, 20000 are -2\), at too many places'
    )
    with pytest.warns(LossWarning, match=message):
        ds.write(tmp_path / "v.ds", {"v": array, ".": meta})
    entry = {**meta["v"], ".size": [60_000], ".type": "int16"}
    with pytest.warns(LossWarning, match=message), created(tmp_path / "v.ds", {"v": entry, ".": {}}) as sink:
        sink.write("v", np.split(array, 6))
    assert entries(tmp_path / "v.ds")["v"][".netcdf"] == {"mark": -1}
    assert ds.read(tmp_path / "v.ds")["v"].tolist() == array.tolist()
    meta["v"]["missing_value"] = np.array([-1, 0], "i2")
    with pytest.warns(LossWarning):
        ds.write(tmp_path / "v.ds", {"v": np.ma.MaskedArray(np.where(values == -2, 0, values), array.mask), ".": meta})
    ds.convert(tmp_path / "v.ds", tmp_path / "v.nc")
    assert np.unique(raw(tmp_path / "v.nc")["v"]).tolist() == [-1, 3]


def test_other_programs_read_such_files(tmp_path: Path, reference_python: str) -> None:
    array = np.ma.MaskedArray(np.array([-1, -2, 3, -1], "i2"), mask=[True, True, False, True])
    ds.write(tmp_path / "v.ds", {"v": array, ".": {"v": {".dims": ["n"], "missing_value": [-1, -2]}}})
    code = "import sys, ds_format as ds; d = ds.read(sys.argv[1]); print(d['v'].tolist()); ds.write(sys.argv[2], d)"
    again = str(tmp_path / "again.ds")
    done = subprocess.run(
        [reference_python, "-c", code, str(tmp_path / "v.ds"), again], capture_output=True, check=True
    )
    assert done.stdout.split(b"\n")[0] == b"[None, None, 3, None]"
    for path in (tmp_path / "v.ds", again):  # it keeps what it does not know
        assert np.ma.getdata(ds.read(path)["v"]).tolist() == [-1, -2, 3, -1]


@pytest.mark.parametrize("suffix", ["json", "h5", "bpk"])
def test_formats_that_do_not_tell_numbers_apart_say_so(tmp_path: Path, suffix: str) -> None:
    a = make(tmp_path / "a.nc", "i2", np.array([[1, -9], [-8, 2], [-9, 3], [0, 0]], "i2"), missing_value=[-9, -8])
    with pytest.warns(LossWarning, match=rf'b\.{suffix}: variable "v": missing values are marked in 3 ways \(2 are -9'):
        ds.convert(a, tmp_path / f"b.{suffix}")


@pytest.mark.parametrize(
    "mark",
    [
        {"numbers": [-1, -2], "runs": [0, 1]},
        {"numbers": [-1, -2], "runs": [0, 2, 2, 1]},
        {"numbers": [-1, -2], "runs": [0, 4, 1, -1]},
        {"numbers": [-1, -2], "runs": [0, 3, 1]},
        {"numbers": [-1, "a"], "runs": [0, 3]},
        {"numbers": [-1, 1e9], "runs": [0, 3]},
        {"numbers": -1, "runs": [0, 3]},
        {"numbers": [-1], "runs": [0, True, 0, 2]},
        {"numbers": [-1], "runs": [0, 1 << 70]},
        {"numbers": [], "runs": []},
        {"numbers": [-1], "runs": [-1, 3]},
        {"numbers": [[-1], [2, 3]], "runs": [0, 3]},
        {},
    ],
    ids=str,
)
def test_an_invalid_description_is_passed_over(tmp_path: Path, mark: Any) -> None:
    meta = {"v": {".dims": ["n"], "missing_value": [-1, -2], ".netcdf": {"mark": mark, "endian": "big"}}}
    ds.write(
        tmp_path / "v.ds", {"v": np.ma.MaskedArray(np.array([0, 5, 0], "i2"), mask=[True, False, True]), ".": meta}
    )
    assert json.loads((tmp_path / "v.ds").read_bytes().split(b"\n")[1])["v"][".netcdf"]["mark"] == mark
    dataset = ds.read(tmp_path / "v.ds")
    assert dataset["v"].tolist() == [None, 5, None] and dataset["."]["v"][".netcdf"] == {"endian": "big"}
    with ds.open(tmp_path / "v.ds") as opened:
        assert np.ma.is_masked(opened["v"][0]) and opened.meta["v"][".netcdf"] == {"endian": "big"}
    assert drivers.meta(tmp_path / "v.ds")["v"][".netcdf"] == {"endian": "big"}


@given(st.lists(st.sampled_from([-1, -2, -3, 4, 5]), max_size=60), st.integers(1, 60))
def test_blocks_give_the_description_of_the_whole(values: list[int], step: int) -> None:
    entry = {"missing_value": np.array([-1, -2, -3], "i2"), ".size": [len(values)], ".type": "int16"}
    array = np.array(values, "i2")
    masked = np.ma.MaskedArray(array, mask=array < 0)
    whole, blocks = Marks(entry, array.dtype), Marks(entry, array.dtype)
    whole.see(masked)
    for i in range(0, len(values), step):
        blocks.see(masked[i : i + step])
    stored = blocks.stored()
    assert stored == whole.stored()
    marks = StoredMarks.of(stored[0])
    blank = np.ma.MaskedArray(np.where(masked.mask, -1, array), masked.mask)
    if marks is not None:
        marks.restore(blank)
    assert np.ma.getdata(blank).tolist() == values


@pytest.mark.parametrize("kind", ["NETCDF3_CLASSIC", "NETCDF4"])
@pytest.mark.parametrize("code", ["f4", "i2"])
def test_what_marks_values_in_files_before_does_not_matter(tmp_path: Path, kind: Any, code: str) -> None:
    """Metadata depend on the numbers that mark missing values, and are remembered by these."""
    unwritten = netCDF4.default_fillvals[code]
    marks: list[list[Any]] = [
        [-9],
        [unwritten],
        [],
        [-8],
        [-9, unwritten],
        [-9],
        [-8, -8],
        [unwritten, unwritten],
        [-9, -8],
    ]
    if code == "f4":
        marks += [[np.nan], [np.nan, -9], [np.nan]]
    paths = []
    for i, of_file in enumerate(marks):
        paths.append(tmp_path / f"{i}.nc")
        with netCDF4.Dataset(paths[-1], "w", format=kind) as file:
            file.createDimension("x", 4)
            variable = file.createVariable("v", code, ("x",))
            variable.missing_value = np.array([-9, -8, np.nan] if code == "f4" else [-9, -8], code)
            variable.set_auto_mask(False)
            variable[:] = np.array([*of_file, 1, 2, 3, 4][:4], code)

    def fresh(path: Path) -> Any:
        ClassicMemory.idle.clear()
        NetCDF4Memory.idle.clear()
        return ds.read(path)

    for path in paths * 2:
        found, expected = ds.read(path), fresh(path)
        assert repr(dict(found)) == repr(dict(expected)), path
        found["."]["v"][".netcdf"]["fill"] = "spoiled"
