"""Reading parts and blocks, and files of other programs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import hdf5
from ds_format.drivers.hdf5 import HDF5Warning
from ds_format.errors import FormatError, UnsupportedError

from ...same import same_data
from ...strategies import grid
from .files import read_all


def make(path: Path, **datasets: Any) -> Path:
    with h5py.File(path, "w", track_order=True) as file:
        for name, data in datasets.items():
            file[name] = data
    return path


def test_only_what_is_wanted_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.arange(1_000_000).reshape(1000, 10, 100)
    path = make(tmp_path / "a.h5", x=data)
    read: list[int] = []
    original = h5py.Dataset.__getitem__

    def counting(self: Any, index: Any) -> Any:
        found = original(self, index)
        read.append(np.size(found))
        return found

    monkeypatch.setattr(h5py.Dataset, "__getitem__", counting)
    with ds.open(path) as file:
        for index, most in [
            ((5,), 1000),
            ((slice(10, 20), 3), 1000),
            ((slice(10, 20), 3, [7, 1, 7]), 100),
            (([0, 999], slice(None, None, -1)), 2000),
            ((slice(0, 1000, 250), [9, 0], slice(90, 100)), 4 * 10 * 10),
            (([], 0), 0),
        ]:
            read.clear()
            assert same_data(file["x"][index], grid(data, index))
            assert sum(read) <= most, index


def test_blocks_follow_chunks(tmp_path: Path) -> None:
    data = np.arange(10_000).reshape(100, 100)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=data, chunks=(30, 100), compression="gzip")
    source = hdf5.open(tmp_path / "a.h5")
    blocks = list(source.blocks("x", 40_000))
    assert [len(block) for block in blocks] == [30, 30, 30, 10]
    assert same_data(np.concatenate(blocks), data)
    blocks = list(source.blocks("x", 5_000))
    assert max(block.nbytes for block in blocks) <= 5_000
    source.close()


def test_memory_stays_bounded_in_chunks_that_are_longer_than_blocks(tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 2**31, (4, 1_000_000), "i4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=data, chunks=(1, 1_000_000), compression="lzf")
    ds.convert(tmp_path / "a.h5", tmp_path / "b.h5")
    assert same_data(ds.read(tmp_path / "b.h5")["x"], data)


def test_a_filter_that_is_not_installed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((10,))
        plist.set_filter(32_999, h5py.h5z.FLAG_OPTIONAL)
        h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((10,)), plist)
        file["ok"] = 1
    with ds.open(tmp_path / "a.h5") as file:
        assert file["ok"][...] == 1
        assert file["x"].shape == (10,)
        with pytest.raises(
            UnsupportedError, match=r'a\.h5: variable "x": its values are encoded with the filter 32999, which'
        ):
            file["x"][...]


def test_several_sentinels_are_kept_by_ds_files(tmp_path: Path) -> None:
    path = make(tmp_path / "a.h5", x=np.array([1, -9, -8], "i2"))
    with h5py.File(path, "a") as file:
        file["x"].attrs["_FillValue"] = np.int16(-9)
        file["x"].attrs["missing_value"] = np.array([-9, -8], "i2")
    assert ds.read(path)["x"].tolist() == [1, None, None]
    ds.convert(path, tmp_path / "a.ds")
    found = ds.read(tmp_path / "a.ds")
    assert np.ma.getdata(found["x"]).tolist() == [1, -9, -8] and ".netcdf" not in found["."]["x"]
    with pytest.warns(HDF5Warning, match=r'variable "x": missing values are marked in 2 ways \(1 are -9, 1 are -8\)'):
        ds.convert(tmp_path / "a.ds", tmp_path / "b.h5")


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.array([b"\xff"], object), dtype=h5py.string_dtype())
        file.attrs["a"] = np.bytes_(b"caf\xe9")
    with ds.open(path) as opened:
        assert opened.attrs["a"].encode("utf-8", "surrogateescape") == b"caf\xe9"
        with pytest.raises(FormatError, match=r"a\.h5: variable \"x\": found the bytes b'\\xff', expected UTF-8"):
            opened["x"][...]


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        h5py.h5d.create(file.id, b"caf\xe9", h5py.h5t.NATIVE_INT32, space)
        h5py.h5a.create(file.id, b"\xe9", h5py.h5t.NATIVE_INT32, space).write(np.array(5, "i4"))
    found = ds.read(path)
    assert found["caf\udce9"] == 0 and found["."]["."]["\udce9"] == 5
    ds.write(tmp_path / "b.h5", found)
    assert ds.read(tmp_path / "b.h5") == found


@pytest.mark.filterwarnings("ignore:.*a link to the group")
def test_many_links_to_one_group(tmp_path: Path) -> None:
    # whoever follows them all reads 2 to the 40 variables
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        group = file
        for i in range(40):
            inner = group.create_group(f"a{i}")
            group[f"b{i}"] = inner
            group = inner
        group["x"] = 1
    with pytest.warns(HDF5Warning, match=r'left out: "b0", a link to the group "a0", which is listed under that name'):
        names = list(ds.open(path))
    assert names == ["/".join(f"a{i}" for i in range(40)) + "/x"]


def test_deep_groups(tmp_path: Path) -> None:
    name = "/".join(["g"] * 1500 + ["x"])
    ds.write(tmp_path / "a.h5", {name: 1})
    assert list(ds.open(tmp_path / "a.h5")) == [name]


def test_a_link_to_another_file(tmp_path: Path) -> None:
    make(tmp_path / "b.h5", x=np.arange(3))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["y"] = h5py.ExternalLink("b.h5", "/x")
        file["all"] = h5py.ExternalLink("b.h5", "/")
    found = ds.read(tmp_path / "a.h5")
    assert found["y"].tolist() == found["all/x"].tolist() == [0, 1, 2]


def test_a_scale_that_is_there_no_more(tmp_path: Path) -> None:
    path = make(tmp_path / "a.h5", x=np.arange(2), y=np.zeros((2, 2)))
    with h5py.File(path, "a") as file:
        file["x"].make_scale("x")
        file["y"].dims[1].attach_scale(file["x"])
    assert ds.read(path)["."]["y"][".dims"] == ["y_1", "x"]
    with h5py.File(path, "a") as file:
        del file["x"]
    assert ".dims" not in ds.read(path)["."]["y"]


def test_two_variables_of_one_name(tmp_path: Path) -> None:
    path = make(tmp_path / "a.h5", x=1, _nc4_non_coord_x=2)
    with pytest.warns(HDF5Warning, match='left out: "_nc4_non_coord_x", another variable has the name "x"'):
        assert ds.read(path)["x"] == 1


MARKERS = """
[] { 5 {"dims":5} {"dims":["a","b"]} {"type":"complex"} {"type":5} {"name":5} {"names":5} {"attributes":5}
{"json":["a"]} {"missing":"a"} {"empty":1}
"""


@pytest.mark.parametrize("marker", ["", *MARKERS.split(), "[" * 100_000], ids=lambda marker: marker[:20])
def test_wrong_markers_say_nothing(marker: str, tmp_path: Path) -> None:
    path = make(tmp_path / "a.h5", x=np.arange(2))
    with h5py.File(path, "a") as file:
        file["x"].attrs["ds_format"] = marker
    assert ds.read(path) == {"x": pytest.approx(np.arange(2)), ".": {"x": {".size": [2], ".type": "int64"}, ".": {}}}


def test_a_marker_whose_type_does_not_hold_the_values(tmp_path: Path) -> None:
    path = make(tmp_path / "a.h5", x=np.array([1, 300], "i2"))
    with h5py.File(path, "a") as file:
        file["x"].attrs["ds_format"] = '{"type": "int8"}'
    with pytest.raises(FormatError, match=r'a\.h5: variable "x": found values of type int16 that do not fit int8'):
        ds.read(path)


@pytest.mark.filterwarnings("ignore:.*is written as JSON text")
def test_netcdf_files_of_this_package(tmp_path: Path) -> None:
    data = {"b": np.array([True, False]), "m": np.ma.masked_equal([1.0, 2.0], 1), "n": None, ".": {"b": {"a": 1}}}
    ds.write(tmp_path / "a.nc", {**data, ".": {"b": {"a": [[1, 2]]}}})
    (tmp_path / "a.h5").write_bytes((tmp_path / "a.nc").read_bytes())
    one, other = ds.read(tmp_path / "a.nc"), ds.read(tmp_path / "a.h5")
    assert same_data(other["b"], data["b"]) and same_data(other["m"], data["m"]) and other["n"] is None
    assert one["."]["b"]["a"] == other["."]["b"]["a"] == [[1, 2]]


def test_metadata_need_no_values(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (10**12,), "f8", chunks=(1000,), fillvalue=3)
    meta, _ = hdf5.open(tmp_path / "a.h5").meta, None
    assert meta["x"][".size"] == [10**12]
    with ds.open(tmp_path / "a.h5") as opened:
        assert opened["x"][10**11 : 10**11 + 2].tolist() == [3, 3]


def test_read_all_of_nothing(tmp_path: Path) -> None:
    make(tmp_path / "a.h5")
    assert read_all(tmp_path / "a.h5") == ({".": {}}, {})


READ = """
import json, sys, ds_format as ds
print(json.dumps({key: entry.get(".dims") for key, entry in ds.read(sys.argv[1])["."].items()}))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ds.write(
        tmp_path / "x.h5",
        {
            "t": np.arange(2.0),
            "x": np.zeros((2, 3)),
            "text": np.array(["a", "b"], object),
            "g/y": np.zeros((4, 3)),
            "twice": np.zeros((3, 3)),
            "none": np.zeros((2, 2)),
            "scalar": 5,
            ".": {
                "t": {".dims": ["t"], "units": "s"},
                "x": {".dims": ["t", "délka"]},
                "text": {".dims": ["t"]},
                "g/y": {".dims": ["g/i", "délka"]},
                "twice": {".dims": ["délka", "délka"]},
                "none": {".dims": ["t", "a\0b"]},
            },
        },
    )
    return tmp_path / "x.h5"


def dims(dataset: dict[str, Any]) -> dict[str, Any]:
    return {key: entry.get(".dims") for key, entry in dataset["."].items() if key != "."}


def test_labels_of_all_variables(path: Path) -> None:
    with h5py.File(path) as file:
        assert [dim.label for dim in file["x"].dims] == ["t", "délka"]
        assert [dim.label for dim in file["t"].dims] == ["t"]
        assert file["g/y"].attrs["DIMENSION_LABELS"].tolist() == ["g/i", "délka"]
        assert "DIMENSION_LABELS" not in file["scalar"].attrs
        assert "DIMENSION_LABELS" not in file["none"].attrs


def test_the_reference_reads_them(path: Path, reference_python: str) -> None:
    words = [reference_python, "-I", "-c", READ, str(path)]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    expected = dims(ds.read(path))
    del expected["none"]
    assert {key: found[key] for key in expected} == expected


def test_nobody_sees_them_as_attributes(path: Path, tmp_path: Path) -> None:
    found = ds.read(path)
    assert dims(found)["g/y"] == ["g/i", "délka"]
    assert ds.attrs(found, "x") == {}
    shutil.copy(path, tmp_path / "x.nc")
    as_netcdf = ds.read(tmp_path / "x.nc")
    for key in ("t", "x", "g/y", "text"):
        assert dims(as_netcdf)[key] == dims(found)[key]
        assert ds.attrs(as_netcdf, key) == ds.attrs(found, key)
    assert "DIMENSION_LABELS" not in str(as_netcdf["."]["t"])


def test_an_attribute_of_this_name_stays(tmp_path: Path) -> None:
    meta = {"x": {".dims": ["t"], "DIMENSION_LABELS": "of mine"}}
    for suffix in ("h5", "nc"):
        ds.write(tmp_path / f"x.{suffix}", {"x": [1, 2], ".": meta})
        found = ds.read(tmp_path / f"x.{suffix}")
        assert ds.attrs(found, "x") == {"DIMENSION_LABELS": "of mine"}
        assert dims(found) == {"x": ["t"]}


def test_an_attribute_that_is_named_like_the_mark_of_booleans(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("i", 2)
        for name, value in (("x", np.array([1, 2], "i4")), ("y", "bool"), ("z", "int")):
            variable = file.createVariable(name, "i1", ("i",))
            variable[:] = [0, 1]
            variable.setncattr("dtype", value)
    found = ds.read(path)
    assert [found[name].dtype.name for name in "xyz"] == ["int8", "bool", "int8"]
    assert ds.attr(found, "dtype", var="x").tolist() == [1, 2] and ds.attr(found, "dtype", var="z") == "int"
