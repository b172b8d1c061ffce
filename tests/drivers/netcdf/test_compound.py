"""Variables of compound types: read into memory as structured arrays, refused by name where ds has no such type."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.cli.main import main

from ...formats import SUFFIXES

PLAIN = np.dtype([("a", "i4"), ("b", "f8")], align=True)
NESTED = np.dtype([("p", PLAIN), ("name", "S1", (3,)), ("v", "f4", (2, 2))], align=True)
REFUSED = 'a.nc: variable "g/rows": the compound type "pair" is not supported by ds'


def rows(n: int) -> Any:
    values = np.zeros(n, PLAIN)
    values["a"], values["b"] = np.arange(n), np.arange(n) / 2
    return values


@pytest.fixture
def path(tmp_path: Path) -> Path:
    where = tmp_path / "a.nc"
    with netCDF4.Dataset(where, "w") as file:
        file.createDimension("n", 6)
        file.createDimension("c", 3)
        pair = file.createCompoundType(PLAIN, "pair")
        group = file.createGroup("g")
        nested = group.createCompoundType(NESTED, "nested")
        group.createVariable("rows", pair, ("n",), zlib=True, chunksizes=(4,))[:] = rows(6)
        group["rows"].units = "1"
        one = np.zeros((), NESTED)
        one["p"], one["name"], one["v"] = rows(6)[3], [b"x", b"y", b"z"], [[1, 2], [3, 4]]
        group.createVariable("one", nested, ())
        group["one"].set_auto_chartostring(False)
        group["one"][...] = one
        file.createVariable("number", "f8", ("n",))[:] = np.arange(6)
        file.createVariable("letters", "S1", ("n", "c"))[:] = b"q"
        file.createVariable("of_letters", pair, ("c",))[:] = rows(3)
    return where


def test_read(path: Path) -> None:
    found = ds.read(path)
    assert found["g/rows"].dtype == PLAIN and found["g/rows"].tolist() == rows(6).tolist()
    one = found["g/one"]
    assert one.dtype == NESTED and one["p"].tolist() == (3, 1.5) and one["v"].tolist() == [[1, 2], [3, 4]]
    assert b"".join(one["name"]) == b"xyz"
    entry = found["."]["g/rows"]
    assert (entry[".type"], entry[".dims"], entry[".size"], entry["units"]) == ("compound", ["n"], [6], "1")
    assert entry[".netcdf"] == {
        "compound": {"name": "pair", "size": 16, "fields": {"a": "int32", "b": "float64"}},
        "chunks": [4],
        "compression": "zlib",
        "level": 4,
        "shuffle": True,
    }
    record = found["."]["g/one"][".netcdf"]["compound"]
    fields = {"p": {"a": "int32", "b": "float64"}, "name": ["char", [3]], "v": ["float32", [2, 2]]}
    assert record == {"name": "g/nested", "size": NESTED.itemsize, "fields": fields}
    assert (ds.type(found, "g/rows"), ds.size(found, "g/rows"), "compound" in repr(found)) == ("compound", [6], True)
    assert [*ds.read(path, ["number"], skip_unsupported=True)] == ["number", "."]


def test_parts(path: Path) -> None:
    assert ds.read(path, ["g/rows"], sel={"n": [5, 0]})["g/rows"].tolist() == rows(6)[[5, 0]].tolist()
    assert ds.read(path, ["g/rows"], between={"number": (2, 4)})["g/rows"].tolist() == rows(6)[2:4].tolist()
    assert ds.from_netcdf(path, ["g/rows"], sel={"n": 2})["g/rows"].tolist() == (2, 1.0)
    with ds.open(path) as file:
        variable = file["g/rows"]
        assert variable.dtype == PLAIN and variable[-1].tolist() == (5, 2.5)
        assert np.concatenate([*variable.blocks(24)]).tolist() == rows(6).tolist()
        handle = pickle.loads(pickle.dumps(variable.handle()))
    assert (handle.dtype, handle[1:3].tolist()) == (PLAIN, rows(6)[1:3].tolist())


def test_characters_are_joined_alike_in_memory_and_in_a_conversion(path: Path, tmp_path: Path) -> None:
    ds.convert(path, tmp_path / "b.ds", ["letters"])
    assert ds.read(path)["letters"].shape == ds.read(tmp_path / "b.ds")["letters"].shape == (6, 3)


@pytest.mark.parametrize("selector", [{"at": {"g/rows": 1}}, {"between": {"g/rows": (1, 2)}}], ids=str)
def test_they_select_nothing(path: Path, selector: Any) -> None:
    with pytest.raises(
        ds.UnsupportedError, match='variable "g/rows": its values have fields, expected numbers or text'
    ):
        ds.read(path, **selector)


@pytest.mark.filterwarnings("ignore")  # of the other variables
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_target_takes_them(path: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"b{suffix}"
    with pytest.raises(ds.UnsupportedError, match=f"{REFUSED}; `--skip-unsupported` leaves it out"):
        ds.convert(path, target, ["g/rows", "number"])
    with pytest.raises(
        ds.UnsupportedError, match=rf'b{suffix}: variable "g/rows": dtype: found fields a, b, expected float16'
    ):
        ds.write(target, ds.read(path, ["g/rows", "number"]))
    assert not target.exists()
    with pytest.warns(ds.LossWarning, match=f'variable "g/rows": left out: {REFUSED.rpartition(": ")[2]}'):
        ds.convert(path, target, ["g/rows", "number"], skip_unsupported=True)
    assert ds.read(target)["number"].tolist() == [*range(6)]


@pytest.mark.parametrize("command", ["cat", "stats", "plot"])
def test_commands_refuse_them(path: Path, command: str, capsys: Any) -> None:
    assert main([command, "g/rows", str(path)]) == 1
    assert REFUSED in capsys.readouterr().err


def test_commands_name_the_type(path: Path, capsys: Any) -> None:
    assert main(["ls", "-l", str(path)]) == 0
    assert "g/rows compound { n }" in capsys.readouterr().out
    assert main(["type", "g/rows", str(path)]) == 0
    assert capsys.readouterr().out == "compound\n"
    assert main(["info", str(path)]) == 0
    assert "rows  compound  96 B" in capsys.readouterr().out
    assert main(["info", "-j", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)["variables"]["g/rows"]
    assert (found["type"], found["error"], found["storage"]["compound"]["name"]) == ("compound", None, "pair")


@pytest.mark.filterwarnings("ignore:.*left out")  # variables of the group
def test_many_files_leave_them_out(path: Path) -> None:
    pytest.importorskip("xarray", reason="needs xarray (extra xarray)")
    with pytest.warns(ds.LossWarning, match='variable "of_letters": left out: the compound type "pair"'):
        found = ds.open_many([path, path], "n")
    assert [*found] == ["number", "letters"] and found["number"].shape == (12,)
