"""The golden files: what is in them, and that all of it comes back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.api.conversion import convert
from ds_format.drivers.hdf5 import HDF5Warning
from ds_format.errors import UnsupportedError

from ...golden_ds import as_list, value
from ...same import same_data, same_value
from .files import GOLDEN, read_all

NAMES = sorted(path.stem for path in GOLDEN.glob("*.h5"))
WARNING = ["attributes", "groups"]
"""Files of which something is left out, or held differently."""

pytestmark = pytest.mark.filterwarnings("ignore::ds_format.drivers.hdf5.HDF5Warning")


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = value(json.loads((GOLDEN / f"{name}.expected.json").read_text()))
    return found


def test_no_golden_file_is_lost() -> None:
    assert len(NAMES) == len(list(GOLDEN.glob("*.expected.json"))) == 11
    assert all((GOLDEN / f"{name}.h5").stat().st_size < 20_000 for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_in_them(name: str) -> None:
    meta, data = read_all(GOLDEN / f"{name}.h5", skip_unsupported=True)
    told = expected(name)
    assert list(meta) == [*told["variables"], "."] or name == "netcdf"
    assert same_value(plain(meta["."]), told["dataset_attrs"])
    for key, variable in told["variables"].items():
        assert same_value(as_list(data[key]), variable["data"]), key
        assert meta[key][".type"] == variable["type"], key
        assert meta[key][".size"] == variable["size"], key
        assert meta[key].get(".dims") == variable["dims"], key
        assert same_value(plain(meta[key]), variable["attrs"]), key


def plain(properties: dict[str, Any]) -> dict[str, Any]:
    return {key: as_list(value) for key, value in properties.items() if not key.startswith(".")}


@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_the_variable(name: str) -> None:
    meta, data = read_all(GOLDEN / f"{name}.h5", skip_unsupported=True)
    _, blocks = read_all(GOLDEN / f"{name}.h5", 24, skip_unsupported=True)
    for key, whole in data.items():
        if meta[key][".size"] is None or 0 in meta[key][".size"]:
            assert blocks[key] == []
            continue
        assert all(block.ndim == len(meta[key][".size"]) for block in blocks[key])
        flat = np.ma.concatenate([np.ma.asarray(block).reshape(-1) for block in blocks[key]])
        array: Any = np.ma.asarray(whole, dtype=object if isinstance(whole, (str, bytes)) else None)
        assert same_data(flat, array.reshape(-1)), key


@pytest.mark.parametrize("name", NAMES)
def test_all_comes_back(name: str, tmp_path: Path) -> None:
    for suffix in ("h5", "ds"):
        convert(GOLDEN / f"{name}.h5", tmp_path / f"a.{suffix}", skip_unsupported=True)
        convert(tmp_path / f"a.{suffix}", tmp_path / "b.h5")
        meta, data = read_all(GOLDEN / f"{name}.h5", skip_unsupported=True)
        found_meta, found = read_all(tmp_path / "b.h5")
        assert found_meta.keys() == meta.keys()
        for key, properties in meta.items():
            for each in (properties, found_meta[key]):
                each.pop(".missing", None)
            assert same_value(properties, found_meta[key]), key
        assert all(same_data(data[key], found[key]) for key in data)


@pytest.mark.parametrize("name", NAMES)
def test_warnings_say_what_is_lost(name: str, recwarn: pytest.WarningsRecorder) -> None:
    ds.open(GOLDEN / f"{name}.h5")
    assert {type(warning.message) for warning in recwarn} == ({HDF5Warning} if name in WARNING else set())
    messages = "\n".join(str(warning.message) for warning in recwarn)
    for told in {
        "attributes": [
            'variable "x": left out: attribute "reference", its type is not supported by ds',
            'variable "x": left out: attribute "compound", its type is not supported by ds',
        ],
        "groups": [
            'groups.h5: left out: "nowhere", a soft link to "/none", which leads nowhere',
            'left out: "outside", a link that leads nowhere',
            'left out: "g/h/up", a link to the group "g", which is listed under that name',
        ],
    }.get(name, []):
        assert told in messages


def test_what_ds_lacks_is_refused_when_it_is_asked_for() -> None:
    path = GOLDEN / "unsupported.h5"
    with ds.open(path) as file:
        assert file["ok"][:].tolist() == [0, 1]
        assert file["compound"].shape is None
        for name, what in {
            "compound": "a compound type",
            "complex": "a compound type",
            "opaque": "an opaque type",
            "ragged": "a ragged type",
            "array": "an array type",
            "references": "a type of references",
            "extended": "the type float128",
        }.items():
            with pytest.raises(UnsupportedError, match=rf'unsupported\.h5: variable "{name}": {what} is not supported'):
                file[name][...]
            with pytest.raises(UnsupportedError, match=rf'unsupported\.h5: variable "{name}": {what} is not supported'):
                _ = file[name].dtype


def test_what_ds_lacks_can_be_left_out(tmp_path: Path) -> None:
    with pytest.warns(HDF5Warning, match='variable "ragged": left out: a ragged type'):
        convert(GOLDEN / "unsupported.h5", tmp_path / "a.ds", skip_unsupported=True)
    assert list(ds.read(tmp_path / "a.ds")) == ["ok", "."]
    with pytest.raises(UnsupportedError, match='variable "compound"'):
        convert(GOLDEN / "unsupported.h5", tmp_path / "b.ds")
    assert not (tmp_path / "b.ds").exists()


def test_how_a_file_stores_is_kept() -> None:
    meta, _ = read_all(GOLDEN / "storage.h5")
    assert meta["gzip"][".hdf5"] == {"chunks": [4, 4], "compression": "gzip", "level": 9, "shuffle": True}
    assert meta["lzf"][".hdf5"] == {"chunks": [3, 10], "compression": "lzf", "fletcher32": True, "endian": "big"}
    assert meta["growing"][".hdf5"] == {"chunks": [1, 10], "maxshape": [None, 10]}
    meta, _ = read_all(GOLDEN / "kinds.h5")
    assert meta["enum"][".hdf5"] == {"enum": {"BLUE": 2, "RED": 1}}
    meta, _ = read_all(GOLDEN / "groups.h5")
    assert meta["."][".hdf5"] == {"groups": ["empty"]}
    meta, _ = read_all(GOLDEN / "netcdf.h5")
    assert meta["."][".hdf5"] == {"dimensions": {"unused": 7}}


def test_attributes_have_their_types() -> None:
    meta, _ = read_all(GOLDEN / "attributes.h5")
    x = meta["x"]
    types = {"int16": "int16", "big": "uint32", "matrix": "float64", "half": "float16", "bool": "bool"}
    for name, dtype in types.items():
        assert x[name].dtype == dtype and x[name].dtype.isnative
    assert x["none"].dtype == "int16" and x["enum"].dtype == "uint8"
    assert [key for key in x if key[0] != "."][:4] == ["int16", "big", "matrix", "half"]


def test_a_netcdf_file_is_the_same_by_both_drivers(tmp_path: Path) -> None:
    for name in ("netcdf", "netcdf_strings"):
        copy = tmp_path / f"{name}.nc"
        copy.write_bytes((GOLDEN / f"{name}.h5").read_bytes())
        one, other = ds.read(GOLDEN / f"{name}.h5"), ds.read(copy)
        assert one.keys() == other.keys()
        for key in one:
            if key != ".":
                assert same_data(one[key], other[key]), key
            mine, theirs = (
                {name: value for name, value in each["."][key].items() if name not in (".hdf5", ".netcdf")}
                for each in (one, other)
            )
            assert same_value(mine, theirs), key


WRITE = """
import numpy as np, ds_format as ds
ds.write("a.h5", {
    "time": np.arange(2.0), "t": np.arange(6, dtype="i2").reshape(2, 3), "s": np.array(["a", "bc"]),
    "g/x": np.array([True, False]), "none": None,
    ".": {"time": {".dims": ["time"], "units": "days"}, "t": {".dims": ["time", "x"], "scale": 2, "names": ["u", "v"]},
          "s": {".dims": ["time"]}, "g/x": {".dims": ["time"]}, ".": {"title": "T", "g/note": "n"}}})
"""

READ = """
import ds_format as ds
d = ds.read("b.h5")
assert d["t"].tolist() == [[0, 1, 2], [3, 4, 5]] and d["time"].tolist() == [0, 1], d
assert [x.decode() for x in d["s"].tolist()] == ["a", "bc"] and d["g/x"].tolist() == [True, False], d
assert d["."]["t"]["scale"] == 2, d
"""


def test_there_and_back(reference_python: str, tmp_path: Path) -> None:
    subprocess.run([reference_python, "-I", "-c", WRITE], check=True, cwd=tmp_path)
    found = ds.read(tmp_path / "a.h5")
    assert same_data(found["t"], np.arange(6, dtype="i2").reshape(2, 3))
    assert found["s"].tolist() == [b"a", b"bc"]  # the reference writes text as byte strings
    assert same_data(found["g/x"], np.array([True, False]))
    assert found["none"] is None
    assert found["."]["t"][".dims"] == ["time", "x"]
    assert ds.attrs(found, "t") == {"scale": 2, "names": ["u", "v"]}
    assert ds.attrs(found) == {"title": "T", "g/note": "n"}
    ds.write(tmp_path / "b.h5", found)
    subprocess.run([reference_python, "-I", "-c", READ], check=True, cwd=tmp_path)
