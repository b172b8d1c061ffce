"""Lists and objects deep inside of one another, in all that is walked over: an error that says so, or what is right."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import cli
from ds_format.cli.records.printing import shown
from ds_format.codec.attributes import to_json
from ds_format.codec.header import DEPTH, is_too_deep
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.writer import FileWriter
from ds_format.zds import ZDSStore
from ds_format.zds.documents import difference, has_infinity, schema_of
from ds_format.zds.query import same
from ds_format.zds.tables import flat

KINDS = ["lists", "objects", "both"]
DEPTHS = [DEPTH + 1, 400, 600, 900, 2000, 100_000]
DEEP = "nested too deeply"


def nested(depth: int, kind: str = "lists", value: Any = 1) -> Any:
    for i in range(depth):
        value = {"a": value} if kind == "objects" or (kind == "both" and i % 2) else [value]
    return value


def text(depth: int, kind: str = "lists") -> str:
    parts = [('{"a":', "}") if kind == "objects" or (kind == "both" and i % 2) else ("[", "]") for i in range(depth)]
    return "".join(left for left, _ in parts) + "1" + "".join(right for _, right in reversed(parts))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_how_deep_is_too_deep(kind: str) -> None:
    assert not is_too_deep(1) and not is_too_deep([]) and not is_too_deep({"a": [1, (2,)]})
    assert not is_too_deep(nested(DEPTH, kind)) and is_too_deep(nested(DEPTH + 1, kind))
    assert not is_too_deep(nested(DEPTH + 2, kind), 2) and is_too_deep(nested(DEPTH + 3, kind), 2)
    assert is_too_deep(nested(1_000_000, kind))


def test_what_is_shared_is_looked_at_once_for_each_depth() -> None:
    twice: Any = ()
    for _ in range(DEPTH - 1):
        twice = (twice, twice)
    assert not is_too_deep(twice) and is_too_deep(((twice, twice), twice))
    knot: list[Any] = []
    knot.append(knot)
    assert is_too_deep(knot)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_headers_of_ds_files(depth: int, kind: str, tmp_path: Path) -> None:
    head = '{".offset":0,".len":8,".size":[1],".type":"float64",".missing":false,".endian":"l"'
    path = tmp_path / "a.ds"
    deep = text(depth, kind)
    path.write_text(f'ds-1.0\n{{"x":{head},"deep":{deep}}},"y":{head}}}}}\n' + "\0" * 8)
    if depth < 900:  # then the decoder of JSON refuses the whole header
        with ds.open(path) as file:
            assert list(file) == ["x", "y"] and file["y"][:].tolist() == [0]
        assert ds.read(path, "y")["y"].tolist() == [0]
        assert cli.main(["ls", "-l", str(path)]) == 0
    for use in (ds.read, lambda path: ds.read(path, "x"), lambda path: ds.read_many([path])):
        with pytest.raises(ds.FormatError, match=rf"a\.ds: .*{DEEP}"):
            use(path)
    assert any(DEEP in problem.message for problem in ds.verify(path))
    for entry in (
        f'"x":{head}}},".":{{"deep":{deep}}}',
        f'"x":{head},".dims":{deep}}}',
        f'"x":{head.replace("[1]", deep)}}}',
    ):
        path.write_text(f"ds-1.0\n{{{entry}}}\n" + "\0" * 8)
        with pytest.raises(ds.FormatError, match=rf"{DEEP}|\.dims: found|\.size: found"):
            ds.read(path)
        assert ds.verify(path)
        for command in ("ls", "verify", "meta"):
            assert cli.main([command, str(path)]) in (0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_that_are_just_not_too_deep(kind: str, tmp_path: Path) -> None:
    deep = nested(DEPTH, kind)
    dataset = {"x": np.zeros(2), ".": {"x": {".dims": ["t"], "deep": deep}, ".": {"deep": deep}}}
    for ending in ("ds", "nc", "json", "h5", "bpk"):
        if ending == "h5":
            pytest.importorskip("h5py")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ds.LossWarning)
            ds.write(tmp_path / f"a.{ending}", dataset)
        found = ds.read(tmp_path / f"a.{ending}")
        assert ds.attrs(found, "x") == {"deep": deep} == ds.attrs(found, None), ending
        assert repr(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_attributes_that_are_written(depth: int, kind: str, tmp_path: Path) -> None:
    deep = nested(depth, kind)
    with pytest.raises(ds.UnsupportedError, match=f'attribute "deep": {DEEP}'):
        to_json({"deep": deep})
    for ending in ("ds", "nc", "json", "h5", "bpk"):
        if ending == "h5":
            pytest.importorskip("h5py")
        for meta in ({"x": {"deep": deep}}, {".": {"deep": deep}}):
            with pytest.raises(ds.UnsupportedError):
                ds.write(tmp_path / f"a.{ending}", {"x": np.zeros(2), ".": meta})
            assert not list(tmp_path.iterdir())


def test_objects_in_arrays_are_looked_into() -> None:
    items = np.empty(1, object)
    items[0] = nested(600)
    with pytest.raises(ds.UnsupportedError, match=DEEP):
        to_json({"deep": items})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_json_files(depth: int, kind: str, tmp_path: Path) -> None:
    path, deep = tmp_path / "a.json", text(depth, kind)
    for content in (
        f'{{"x":[1],".":{{"x":{{"deep":{deep}}}}}}}',
        f'{{".":{{".":{{"deep":{deep}}}}}}}',
        f'{{"x":[1],".":{{"x":{{".dims":{deep}}}}}}}',
        f'{{"x":{deep}}}',
        deep,
    ):
        path.write_text(content)
        with pytest.raises((ds.FormatError, ds.UnsupportedError), match=r"a\.json: "):
            ds.read(path)
        assert ds.verify(path)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("ending", ["nc", "h5"])
def test_json_in_attributes(ending: str, depth: int, tmp_path: Path) -> None:
    """Of a NetCDF or HDF5 file that says it is one of this package: the attribute stays the text that it is."""
    path, deep = tmp_path / f"a.{ending}", text(depth)
    if ending == "h5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file.attrs["deep"], file.attrs["ds_format"] = deep, '{"json":["deep"]}'
            file.create_group("g").attrs["ds_format"] = deep
    else:
        netcdf = pytest.importorskip("netCDF4")
        with netcdf.Dataset(path, "w") as file:
            file.setncatts({"deep": deep, "ds_format": '{"json":["deep"]}'})
            file.createVariable("x", "f8").setncattr("ds_format", deep)
    assert (ds.attrs(ds.read(path), None) or {})["deep"] == deep


@pytest.mark.parametrize("kind", KINDS)
def test_documents(kind: str, tmp_path: Path) -> None:
    """As deep as the format allows."""
    deep, other = nested(505, kind), nested(505, kind, 2)
    assert same(deep, nested(505, kind)) and not same(deep, other) and not same(deep, nested(505, kind, True))
    assert difference(schema_of(deep), schema_of(other)) is None
    assert str(difference(schema_of(deep), schema_of(nested(505, kind, "x")))).endswith(
        ": found a string, expected a number"
    )
    assert not has_infinity(deep) and has_infinity(nested(505, kind, float("inf")))
    with ZDSStore.open(tmp_path / "a", mode="w") as store:
        store.put("a", {"x": deep})
        assert store.get("a") == {"_id": "a", "x": deep}
        with pytest.raises(ValueError, match=DEEP):
            list(store.scan(where={"x": {"in": [nested(5000, kind)]}}))
    assert cli.main(["records", "info", str(tmp_path / "a")]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ds.UnsupportedError, match="variable"):
            ds.read(tmp_path / "a")


def test_members_in_the_order_of_the_document() -> None:
    assert list(flat({"a": {"b": 1, "c": {"d": 2}, "e": 3}, "f": {}, "g": nested(505, "objects")}).items())[:4] == [
        ("a.b", 1), ("a.c.d", 2), ("a.e", 3), ("f", {}),
    ]  # fmt: skip
    assert schema_of({"b": 1, "a": ["x"], "_id": "a", "c": {"e": None, "d": []}}) == {
        "b": "a number", "a": ["a string"], "c": {"e": "null", "d": []},
    }  # fmt: skip
    assert list(schema_of({"b": 1, "a": 1, "c": {"e": 1, "d": 1}})) == ["b", "a", "c"]
    assert difference({"a": {"x": "null"}, "b": "null"}, {"a": {}, "c": "null"}) == "a.x: not found"
    assert difference({"a": {}}, {"a": {"y": "null"}, "c": "null"}) == "a.y: not expected"


@pytest.mark.parametrize("kind", KINDS)
def test_samples(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep, path = nested(1000, kind), str(tmp_path / "a.msgpack")
    with FileWriter(path) as writer:
        writer.write({"key": "a", "x": deep})
    with MsgpackReader(path) as reader, pytest.raises(ds.UnsupportedError, match=r"too deeply to be printed"):
        shown(reader[0], None)
    for words in (["records", "cat", path], ["-j", "records", "get", path, "a"]):
        assert cli.main(words) == 1
        assert "too deeply" in capsys.readouterr().err
    with pytest.raises(ds.UnsupportedError, match='variable "x"'):
        ds.read(path)
    assert shown(nested(200, kind), None) == nested(200, kind)
