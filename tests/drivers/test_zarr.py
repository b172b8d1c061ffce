"""Zarr: conventions of xarray, storage, addresses, and damaged stores. The contract of formats is in test_contract."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import ds_format as ds
from ds_format import cli
from ds_format.drivers import BUILT_IN, load
from ds_format.drivers.base import LossWarning
from ds_format.drivers.library.options import ROW_SIZE
from ds_format.drivers.zarr_.sink import COMPRESSIONS
from ds_format.errors import DriverError, DsError, FormatError, MissingError, UnsupportedError
from ds_format.testing import require_same

ROOT = Path(__file__).parents[1]
FILES = [*sorted((ROOT / "golden/netcdf").glob("*.nc")), ROOT.parent / "examples/sample.nc"]
NOT_WRITTEN = {"compound", "missing_value", "packed"}
"""xarray cannot write them to Zarr."""
NOT_EQUAL = {"compound", "fill_default", "numeric_types", "packed"}
"""Compound types; default fill values, which are missing for the netCDF4 library and not for xarray; types of numbers
in JSON, with which xarray unpacks."""
CHOSEN = pytest.mark.filterwarnings("ignore")


def require_equal(expected: Any, found: Any) -> None:
    """Compare what xarray shows: dimensions, values, and names of attributes."""
    assert {*expected.variables} == {*found.variables}
    for name, variable in expected.variables.items():
        other = found[name]
        assert (variable.dims, {*variable.attrs}) == (other.dims, {*other.attrs} - {"ds_format"})
        if variable.dtype.kind in "OSTU":
            texts = [[x.decode() if isinstance(x, bytes) else str(x) for x in v.values.flat] for v in (variable, other)]
            assert texts[0] == texts[1]
        else:
            assert variable.dtype == other.dtype
            np.testing.assert_array_equal(variable.values, other.values)


@CHOSEN
@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in NOT_EQUAL], ids=lambda path: path.stem)
def test_xarray_shows_a_real_file_and_its_store_alike(path: Path, tmp_path: Path) -> None:
    ds.convert(path, tmp_path / "a.zarr")
    lost = {"least_significant_digit"}  # the netCDF4 library says by it how values are rounded
    with xr.open_dataset(path, engine="netcdf4") as expected, xr.open_zarr(tmp_path / "a.zarr", chunks=None) as found:
        for variable in (*expected.variables.values(), *found.variables.values()):
            variable.attrs = {name: value for name, value in variable.attrs.items() if name not in lost}
        require_equal(expected, found)
    ds.convert(tmp_path / "a.zarr", tmp_path / "back.nc")
    require_same(ds.read(path), ds.read(tmp_path / "back.nc"))


@CHOSEN
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in NOT_WRITTEN], ids=lambda path: path.stem)
def test_a_store_of_xarray_is_read_as_xarray_shows_it(path: Path, version: Any, tmp_path: Path) -> None:
    store = tmp_path / "a.zarr"
    with xr.open_dataset(path, engine="netcdf4") as opened:
        opened.load().to_zarr(store, zarr_format=version)
    ds.convert(store, tmp_path / "a.ds")
    with xr.open_zarr(store, chunks=None) as expected, xr.open_dataset(tmp_path / "a.ds", engine="ds") as found:
        require_equal(expected, found)


@CHOSEN
def test_groups_are_those_of_a_tree(tmp_path: Path) -> None:
    ds.convert(ROOT / "golden/netcdf/groups.nc", tmp_path / "a.zarr")
    with (
        xr.open_datatree(ROOT / "golden/netcdf/groups.nc", engine="netcdf4") as expected,
        xr.open_datatree(tmp_path / "a.zarr", engine="zarr") as found,
    ):
        assert expected.groups == found.groups
        for group in expected.groups:
            require_equal(expected[group].dataset, found[group].dataset)


def grid(**attributes: Any) -> dict[str, Any]:
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    return {"x": x, ".": {"x": {".dims": ["t", "y", "z"], **attributes}}}


def test_dimensions_of_groups_are_found_around_an_array(tmp_path: Path) -> None:
    root = zarr.create_group(tmp_path / "a.zarr")
    for name, n, dim in (
        ("y", 2, "y"),
        ("g/y", 3, "y"),
        ("g/u", 3, "y"),
        ("g/h/v", 3, "y"),
        ("w", 4, "k"),
        ("g/w", 5, "k"),
    ):
        root.create_array(name, shape=(n,), dtype="i4", dimension_names=[dim])
    root.create_array("n", shape=(1, 1), dtype="i4")
    found = {name: ds.dims(ds.read(tmp_path / "a.zarr"), name) for name in ("y", "g/u", "g/h/v", "w", "g/w", "n")}
    assert found == {"y": ["y"], "g/u": ["g/y"], "g/h/v": ["g/y"], "w": ["k"], "g/w": ["g/k"], "n": ["n_1", "n_2"]}


@pytest.mark.parametrize("name", COMPRESSIONS)
def test_compression(name: str, tmp_path: Path) -> None:
    levels = COMPRESSIONS[name][0]
    options: dict[str, Any] = {"level": 2} if levels else {}
    ds.write(tmp_path / "a.zarr", grid(), compression=name, **options)
    compressors: Any = zarr.open_array(tmp_path / "a.zarr/x").compressors
    codecs = [one.to_dict() for one in compressors]
    shown = [(str(one["name"]), one["configuration"]) for one in codecs]
    assert len(shown) == (name != "none")
    for codec, configuration in shown:
        assert isinstance(configuration, dict)
        assert codec == name.partition("_")[0] and configuration.get("level", configuration.get("clevel")) == 2
        assert configuration.get("cname", "") == name.partition("_")[2]
    require_same(grid(), ds.read(tmp_path / "a.zarr"))


def test_chunks_and_shards(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    ds.write(path, grid(), chunks={"t": 1, "z": 2}, shards={"z": 4, "y": 6})
    array = zarr.open_array(path / "x")
    assert (array.chunks, array.shards) == ((1, 3, 2), (1, 6, 4))
    require_same(grid(), ds.read(path))
    ds.convert(path, tmp_path / "b.zarr")
    assert zarr.open_array(tmp_path / "b.zarr/x").chunks == (1, 3, 2)
    ds.write(path, grid())
    assert zarr.open_array(path / "x").chunks == (2, 3, 4)
    ds.write(tmp_path / "a.nc", grid(**{".netcdf": {"chunks": [1, 3, 4]}}))
    ds.convert(tmp_path / "a.nc", path)
    assert zarr.open_array(path / "x").chunks == (1, 3, 4)


def test_rows_of_chunks_that_are_too_large_are_written_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ds_format.drivers.zarr_.sink.ROW_SIZE", 20)
    assert ROW_SIZE > 20
    ds.write(tmp_path / "a.zarr", grid(), chunks={"z": 3})
    require_same(grid(), ds.read(tmp_path / "a.zarr"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"compression": "zlip"}, DriverError, r"compression: found 'zlip', expected one of zstd, gzip.*none"),
        ({"compression": "gzip", "level": 10}, DriverError, "level: found 10, expected 0 to 9 for gzip"),
        ({"compression": "none", "level": 1}, DriverError, "level: found 1, expected none for none"),
        ({"chunks": {"t": 0}}, DriverError, r'chunks: found 0 for the dimension "t", expected 1 or more'),
        ({"shards": {"t": True}}, DriverError, r'shards: found True for the dimension "t"'),
        ({"chunks": {"q": 1}}, MissingError, r'chunks: found no dimension "q"'),
        ({"chunks": {"t": 2}, "shards": {"t": 3}}, DriverError, "found 3, expected a multiple of 2"),
    ],
)
def test_wrong_options_are_errors(
    options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        ds.write(tmp_path / "a.zarr", grid(), **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", [["a", "", None, "b\0", "\x1a"], [b"a", b"\xff\0", None], [b"a", b"", b"c"]])
def test_text_of_any_content(text: list[Any], tmp_path: Path) -> None:
    array = np.ma.MaskedArray(np.array(text, object), [each is None for each in text])
    ds.write(tmp_path / "a.zarr", {"s": array})
    found = ds.read(tmp_path / "a.zarr")["s"]
    assert found.tolist() == text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stored = zarr.open_array(tmp_path / "a.zarr/s").metadata.to_dict()["data_type"]
    assert (stored == "string") is (b"\xff\0" not in text)


def test_types_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = zarr.create_group(path, zarr_format=2)
        for name, values in {
            "big": np.array([1, 2], ">i4"),
            "fixed": np.array([b"ab", b"c"]),
            "wide": np.array(["ž", "ab"]),
            "day": np.array(["2026-01-02", "NaT"], "M8[D]"),
            "span": np.array([3, 4], "m8[s]"),
            "half": np.array([0.5, 1], "f2"),
            "complex": np.array([1j, 2]),
        }.items():
            root.create_array(name, data=values, fill_value=None if values.dtype.kind not in "mM" else "NaT")
    with pytest.raises(UnsupportedError, match=r'variable "complex": values of type complex128 are not supported'):
        ds.read(path)
    with pytest.warns(LossWarning) as caught:
        found = ds.read(path, skip_unsupported=True)
    assert {str(one.message).partition('variable "')[2].partition('"')[0] for one in caught} == {"complex"}
    shown = {name: data.tolist() for name, data in found.items() if name != "."}
    assert shown == {
        "big": [1, 2],
        "fixed": [b"ab", b"c"],
        "wide": ["ž", "ab"],
        "half": [0.5, 1.0],
        "day": [20455, None],
        "span": [3, 4],
    }
    assert found["half"].dtype == "f2"
    assert ds.attr(found, "units", var="day") == "days since 1970-01-01"
    assert ds.attr(found, "units", var="span") == "seconds"


def test_a_fill_value_that_another_program_changed_is_used(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zarr", grid(_FillValue=np.float32(50)))
    array = zarr.open_array(tmp_path / "a.zarr/x", mode="r+")
    assert array.attrs["_FillValue"] == "AAAAAAAASUA="
    array.attrs["_FillValue"] = "AAAAAAAAGEA="
    os.unlink(tmp_path / "a.zarr/zarr.json")
    zarr.create_group(tmp_path / "a.zarr")
    found = ds.read(tmp_path / "a.zarr")
    assert ds.attr(found, "_FillValue", var="x") == 6 and np.flatnonzero(found["x"].mask).tolist() == [6]


def test_no_number_that_is_present_marks_missing_values(tmp_path: Path) -> None:
    full = np.ma.MaskedArray(np.r_[np.arange(256), 0].astype("u1"), np.arange(257) == 256)
    with pytest.raises(UnsupportedError, match='variable "x": every number of its type is present'):
        ds.write(tmp_path / "a.zarr", {"x": full})
    default = np.ma.MaskedArray([-2147483647, 1], [False, True], dtype="i4")
    with pytest.raises(UnsupportedError, match=r'variable "x": 1 present values equal -2147483647, which was chosen'):
        ds.write(tmp_path / "a.zarr", {"x": default})
    meta = {"x": {".dims": ["i"], ".size": [2], ".type": "int32", ".missing": False}}
    sink = load(BUILT_IN["zarr"]).create(tmp_path / "a.zarr", meta)
    with pytest.raises(UnsupportedError, match=r'found missing values, expected none \(property ".missing"\)'):
        sink.write("x", [default])
    sink.abort()
    assert os.listdir(tmp_path) == []


def test_names_that_arrays_cannot_have(tmp_path: Path) -> None:
    names = [
        "g",
        "g/x",
        "",
        ".",
        "a//b",
        "/",
        "__x",
        "zarr.json",
        "back\\slash",
        "n\0l",
        "%2",
        "ž" * 200,
        "_ARRAY_DIMENSIONS",
    ]
    data = {ds.escape(name): np.array([i]) for i, name in enumerate(names)}
    ds.write(tmp_path / "a.zarr", data)
    found = ds.read(tmp_path / "a.zarr")
    assert [ds.unescape(name) for name in found if name != "."] == names
    assert {name: int(found[name][0]) for name in data} == {name: int(array[0]) for name, array in data.items()}


def test_names_of_attributes(tmp_path: Path) -> None:
    names = [".hidden", "\\back", "/a", "g/a", "g/.b", "none/a", "ds_format", "_FillValue", "_ARRAY_DIMENSIONS", ""]
    entry = {ds.escape(name): name for name in names}
    ds.write(tmp_path / "a.zarr", {"g/x": 1, ".": {"g/x": entry, ".": entry}})
    found = ds.read(tmp_path / "a.zarr")
    assert ds.attrs(found, "g/x") == ds.attrs(found) == {name: name for name in names}


def test_a_variable_without_data_keeps_its_dimensions(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.zarr", {"x": None, ".": {"x": {".dims": ["i"], "units": "m"}}})
    found = ds.read(tmp_path / "a.zarr")
    assert found["x"] is None and found["."]["x"] == {".dims": ["i"], ".size": None, ".type": None, "units": "m"}


def test_only_a_store_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="folder is not empty"):
        ds.write(path, grid())
    (path / "notes.txt").unlink()
    for _ in range(2):
        ds.write(path, grid(), durable=True)
    require_same(grid(), ds.read(path))
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.parametrize("kind", ["file", "array", "folder", "chunk", "metadata", "depth"])
def test_damaged_stores(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    ds.write(path, grid())
    if kind == "chunk":
        (path / "x/c/0/0/0").write_bytes(b"no chunk")
    elif kind in ("metadata", "depth"):
        text = '{"zarr_format": 3, "node_type": "group", "attributes": {"a": ' + "[" * 150 + "]" * 150 + "}}"
        (path / "zarr.json").write_text("{" if kind == "metadata" else text)
    else:
        shutil.rmtree(path)
        if kind == "file":
            path.write_text("{}")
        elif kind == "folder":
            path.mkdir()
        else:
            zarr.create_array(path, shape=(2,), dtype="i4")
    with pytest.raises(FormatError, match=r"a\.zarr") as caught:
        ds.read(path)
    assert kind != "chunk" or 'variable "x"' in str(caught.value)


def test_a_store_at_an_address(tmp_path: Path) -> None:
    obstore, fsspec = pytest.importorskip("obstore"), pytest.importorskip("fsspec")
    path = tmp_path / "a.zarr"
    ds.write(path, grid(), chunks={"t": 1}, shards={"t": 2})
    objects, files = obstore.store.MemoryStore(), fsspec.filesystem("memory")
    for one in filter(Path.is_file, path.rglob("*")):
        obstore.put(objects, f"in/a.zarr/{one.relative_to(path)}", one.read_bytes())
    files.put(str(path), "/in/a.zarr", recursive=True)
    try:
        for name in ("memory://in/a.zarr", "memory://in/a.zarr/"):
            require_same(grid(), ds.read(name))
        require_same(grid(), ds.read("in/a.zarr", store=objects))
        with ds.open("memory://in/a.zarr") as file:
            handle = pickle.loads(pickle.dumps(file["x"].handle()))
        assert handle.read((1, 0, range(2))).tolist() == [12, 13]
        files.pipe("/in/zarr.txt", b"no dataset")
        with pytest.warns(UserWarning, match="neither suffix nor content"):
            ds.convert_many("memory://in/", tmp_path / "out", to="ds", jobs=1)
        require_same(grid(), ds.read(tmp_path / "out/a.ds"))
        assert cli.main(["info", "memory://in/a.zarr"]) == 0
        with pytest.raises(DriverError, match="only be written to local paths"):
            ds.write("memory://in/b.zarr", grid())
        root = json.loads(files.cat("/in/a.zarr/zarr.json"))
        del root["consolidated_metadata"]
        files.pipe("/in/a.zarr/zarr.json", json.dumps(root).encode())
        require_same(grid(), ds.read("memory://in/a.zarr"))
    finally:
        files.rm("/in", recursive=True)


def test_folders_of_stores(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for i in range(2):
        ds.write(tmp_path / f"in/{i}.zarr", grid(i=i))
    for recursive in (False, True):
        found = ds.readdir(tmp_path / "in", recursive=recursive)
        assert [Path(one["filename"]).name for one in found] == ["0.zarr", "1.zarr"]
    records = ds.convert_many(tmp_path / "in", tmp_path / "out", to="zarr", jobs=2)
    assert [record.status for record in records] == ["converted"] * 2
    assert [record.status for record in ds.convert_many(tmp_path / "in", tmp_path / "out", to="zarr", resume=True)] == [
        "skipped"
    ] * 2
    ds.convert_many(tmp_path / "in", tmp_path / "out", to="zarr", overwrite=True, jobs=1)
    for i in range(2):
        require_same(grid(i=i), ds.read(tmp_path / f"out/{i}.zarr"))


def test_a_sink_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r'variable "x": attribute "a": a value of type complex'):
        ds.write(tmp_path / "a.zarr", grid(a=1j))
    with pytest.raises(UnsupportedError, match=r'attribute "a": a value of type complex'):
        ds.write(tmp_path / "a.zarr", {".": {".": {"a": 1j}}})
    with pytest.raises(DsError):
        ds.write(tmp_path / "a.zarr", {"s": np.array(["\ud800"], object)})
    assert os.listdir(tmp_path) == []
