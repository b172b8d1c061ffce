"""What is written, to the byte; what is refused; and that what fails changes nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import signal
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.errors import FormatError, MissingError, UnsupportedError
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.store import ZDSStore
from ds_format.zds.validation import validate

NAN = float("nan")
TIME = np.datetime64("2020-01-01")
REFUSED = [NAN, float("inf"), "\ud800", {"a": object()}, {1: 2}, b"bytes", {"s"}, 1j, TIME, np.array([NAN])]


def data_of(path: Path, collection: str = "default") -> Path:
    return path / "collections" / collection / "meta" / "data.jsonl"


def documents_of(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "collections/default/docs").iterdir())


def files_of(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_bytes(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put("b", {"z": 1, "_id": "b", "a": [1.0, 1e22, -0.0, True, None, 'é\n"\x7f']})
        store.put("a", {"n": np.int16(5), "m": np.array([[1, 2]]), "t": (1, "x"), "big": 10**30})
    assert (
        data_of(tmp_path).read_bytes()
        == (
            '{"_id":"b","z":1,"a":[1.0,1e+22,-0.0,true,null,"é\\n\\"\x7f"]}\n'
            '{"_id":"a","n":5,"m":[[1,2]],"t":[1,"x"],"big":1000000000000000000000000000000}\n'
        ).encode()
    )
    index = data_of(tmp_path).with_name("index.bin").read_bytes()
    assert index == b"b\t0\t59\na\t59\t80\n"
    assert sorted(files_of(tmp_path)) == [
        "collections/default/meta/data.jsonl", "collections/default/meta/index.bin",
        "collections/default/meta/manifest.json", "zds.json",
    ]  # fmt: skip


def test_manifests(tmp_path: Path) -> None:
    path = tmp_path / "animals"
    with ZDSStore.open(path, "train", mode="w") as store:
        store.put("a", {})
        store.collection("test").put("b", {})
    manifest_path = path / "collections/train/meta/manifest.json"
    manifest, told = json.loads(manifest_path.read_bytes()), json.loads((path / "zds.json").read_bytes())
    assert list(manifest) == ["version", "collection", "strict", "created_at", "doc_count", "schema_count"]
    assert manifest["created_at"].endswith("Z")
    assert manifest == {**manifest, "version": "0.1.0", "collection": "train", "strict": False, "doc_count": 1}
    assert (told["version"], told["name"]) == ("1.0", "animals")
    assert told["collections"] == {"test": {"count": 1}, "train": {"count": 1}}
    manifest_path.write_text(json.dumps({**manifest, "created_at": "2001-01-01T00:00:00Z", "own": [1]}))
    told |= {"description": "all", "collections": {"train": {"count": 7, "x": 1}}}
    (path / "zds.json").write_text(json.dumps(told))
    with ZDSStore.open(path, "train", mode="a") as store:
        store.put("c", {})
    manifest, told = json.loads(manifest_path.read_bytes()), json.loads((path / "zds.json").read_bytes())
    assert (manifest["created_at"], manifest["doc_count"], manifest["own"]) == ("2001-01-01T00:00:00Z", 2, [1])
    assert told["collections"] == {"test": {"count": 1}, "train": {"count": 2, "x": 1}} and told["description"] == "all"


@pytest.mark.parametrize("name", ["animals", "animals.zds"])
def test_name_and_description(name: str, tmp_path: Path) -> None:
    path = tmp_path / name

    def told() -> dict[str, Any]:
        data = (path / "zds.json").read_bytes() if path.is_dir() else zipfile.ZipFile(path).read("zds.json")
        found: dict[str, Any] = json.loads(data)
        return found

    with ZDSStore.open(path, mode="w") as store:
        store.put("a", {})
    assert told()["name"] == "animals" and "description" not in told()
    with ZDSStore.open(path, mode="a") as store:
        store.describe(name="Zoo", description="all that live there")
    with ZDSStore.open(path, mode="a") as store:
        store.put("b", {})
        store.describe(description="žirafy")
        with pytest.raises(TypeError, match="name: found int, expected str"):
            store.describe(name=5)  # type: ignore[arg-type]
    assert (told()["name"], told()["description"]) == ("Zoo", "žirafy")
    assert told()["collections"] == {"default": {"count": 2}}
    with ZDSStore.open(path) as store, pytest.raises(UnsupportedError, match="open for reading only"):
        store.describe(name="x")
    assert validate(path, strict=True) == []


def test_the_number_of_schemas_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "collections/default/meta/manifest.json"
    for strict, told, mode, expected in [
        (False, 3, "a", 3), (False, "3", "a", 0), (False, -1, "a", 0), (True, 3, "a", 1), (False, 3, "w", 0),
    ]:  # fmt: skip
        with ZDSStore.open(tmp_path, mode="w") as store:
            store.put_many({"_id": f"d{i}"} for i in range(5))
        path.write_text(json.dumps({**json.loads(path.read_bytes()), "strict": strict, "schema_count": told}))
        with ZDSStore.open(tmp_path, mode=mode) as store:  # type: ignore[arg-type]
            store.put("x", {})
        assert json.loads(path.read_bytes())["schema_count"] == expected, (strict, told, mode)


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("layout", ["jsonl", "docs"])
def test_what_is_no_json(tmp_path: Path, value: Any, layout: Any) -> None:
    with ZDSStore.open(tmp_path, mode="w", layout=layout) as store:
        store.put("a", {"x": 1})
        for document in ({"x": value}, {"x": [value]}, {"y": 1, "z": {"w": value}}):
            with pytest.raises(UnsupportedError):
                store.put("a", document)
            with pytest.raises(UnsupportedError):
                store.put_many([("b", document)])
        assert list(store.scan()) == [{"_id": "a", "x": 1}]


def test_depth(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(511):
        deep = [deep]
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put("a", {"x": deep})
        with pytest.raises(UnsupportedError):
            store.put("b", {"x": [deep]})
        assert store["a"]["x"] == deep


@pytest.mark.parametrize("key", ["", ".x", "a..b", "a/b", "../x", "é", "a b", "a\n", "x" * 256, "a\0"])
def test_ids(tmp_path: Path, key: str) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        with pytest.raises(UnsupportedError):
            store.put(key, {})
        with pytest.raises(UnsupportedError):
            store.put_many([{"_id": key}])
        with pytest.raises(FormatError, match="line 2, byte 21"):
            store.write_jsonl(b'{"_id":"a"}\n' + json.dumps({"_id": key}).encode())
        with pytest.raises(UnsupportedError):
            store.put("b", {"_id": "a"})
        with pytest.raises(UnsupportedError):
            store.put_many([{"x": 1}])
        assert store.get(key, 5) == 5 and key not in store and len(store) == 0
    with pytest.raises(UnsupportedError):
        ZDSStore.open(tmp_path, key, mode="w")


BAD = {
    b'{"_id":"b",}': "line 3",
    b"[1]": "not an object",
    b"": "white space",
    b'{"_id":5}': "not a string",
    b'{"x":1}': "no _id",
    b'{"_id":"b","_id":"c"}': "twice",
    b'{"_id":"b","x":NaN}': "NaN",
    b'{"_id":"b"}\r\r': "carriage return",
    b'{"_id":"b","x":"\xff"}': "UTF-8",
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize("mode", ["w", "a"])
def test_lines_come_all_or_not_at_all(tmp_path: Path, bad: bytes, is_file: bool, mode: Any) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put_many([{"_id": "a", "n": 1}, {"_id": "d", "n": 2}])
    with ZDSStore.open(tmp_path, mode=mode) as store:
        store.put("p", {"n": 3})
        before = list(store.scan())
        lines = b'{"_id":"a","n":4}\n{"_id":"e"}\n' + bad + b'\n{"_id":"f"}\n'
        with pytest.raises(FormatError, match=BAD[bad]) as caught:
            store.write_jsonl(io.BytesIO(lines) if is_file else lines)
        assert "line 3, byte " in str(caught.value)
        assert list(store.scan()) == before
        assert store.write_jsonl(b'{"_id": "g"}') == 1
        with pytest.raises(TypeError):
            store.write_jsonl(io.StringIO("{}"))
        with pytest.raises(TypeError):
            store.write_jsonl([b"{}"])
    with ZDSStore.open(tmp_path, strict=True) as store:
        assert list(store.scan()) == [*before, {"_id": "g"}]


@pytest.mark.parametrize("mode", ["w", "a"])
def test_many_lines(tmp_path: Path, mode: Any) -> None:
    lines = b"".join(b'{"_id":"r%d","x":"%s"}\n' % (i, b"y" * 500) for i in range(20000))
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put("a", {})
    for source in (lines, bytearray(lines), memoryview(lines), io.BytesIO(lines)):
        with ZDSStore.open(tmp_path, mode=mode) as store:
            assert store.write_jsonl(source) == 20000
            with pytest.raises(FormatError, match=f"line 20001, byte {len(lines)}: "):
                store.write_jsonl(io.BytesIO(lines + b"x\n") if source is lines else lines + b"x\n")
    assert data_of(tmp_path).read_bytes() == b'{"_id":"a"}\n' * (mode == "a") + lines
    assert validate(tmp_path) == []


def test_files_of_documents(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w", layout="docs") as store:
        store.put("b", {"x": 1})
        store.put_many([("a", {"x": 2}), {"_id": "c"}])
        with pytest.raises(UnsupportedError):
            store.put("y" * 251, {})
        del store["c"]
    assert documents_of(tmp_path) == ["a.json", "b.json"]


def test_lines_and_files(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put("c", {})
    docs = data_of(tmp_path).parents[1] / "docs"
    docs.mkdir()
    (docs / "a.json").write_text('{"x": 2}')
    (docs / "b.json").write_text('{"x": 1}')
    with ZDSStore.open(tmp_path, mode="a") as store:  # what becomes a line has no file any more
        store.put("b", {"x": 3})
        store.put("d", {})
        del store["c"]
        assert list(store) == ["b", "d", "a"] and len(store) == 3
    assert documents_of(tmp_path) == ["a.json"]
    with ZDSStore.open(tmp_path, mode="a", layout="docs") as store:  # and the other way round
        store.put("b", {"x": 4})
        store.delete("d")
    assert data_of(tmp_path).read_bytes() == b""
    with ZDSStore.open(tmp_path, strict=True) as store:
        assert list(store.scan()) == [{"_id": "a", "x": 2}, {"_id": "b", "x": 4}]
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put("new", {})
        assert list(store) == ["new"]
    with ZDSStore.open(tmp_path, strict=True) as store:
        assert list(store) == ["new"]


def test_one_schema(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w", strict=True) as store:
        store.put("a", {"x": 1, "t": ["s"]})
    with ZDSStore.open(tmp_path, mode="a") as store:
        store.put("b", {"t": ["r", "s"], "x": np.float32(1.5)})
        for document in ({"x": "1", "t": []}, {"x": 1}, {"x": 1, "t": [2]}, {"x": 1, "t": [], "y": 0}):
            with pytest.raises(UnsupportedError, match="schema"):
                store.put("c", document)
            with pytest.raises(UnsupportedError, match="schema"):
                store.put_many([("c", document)])
            with pytest.raises(UnsupportedError, match="schema"):
                store.write_jsonl(json.dumps({"_id": "c", **document}).encode())
        store.write_jsonl(b'{"_id":"d","x":0,"t":[]}')
    with ZDSStore.open(tmp_path, strict=True) as store:
        assert list(store) == ["a", "b", "d"]


def test_updates(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put("a", {"x": 1, "y": 2})
        store.update("a", {"y": 3, "z": 4})
        assert store["a"] == {"_id": "a", "x": 1, "y": 3, "z": 4}
        with pytest.raises(MissingError):
            store.update("b", {})
        with pytest.raises(KeyError):
            del store["b"]
    assert data_of(tmp_path).read_bytes() == b'{"_id":"a","x":1,"y":3,"z":4}\n'


@pytest.mark.parametrize("mode", ["w", "a"])
def test_an_exception(tmp_path: Path, mode: Any) -> None:
    with contextlib.suppress(RuntimeError), ZDSStore.open(tmp_path / "new", mode=mode) as store:
        store.put("a", {})
        raise RuntimeError
    names = [name for name in files_of(tmp_path / "new") if not name.startswith(".zds")]
    assert (names == []) == (mode == "w")


def test_foreign_deletions_stay(tmp_path: Path) -> None:
    """What only an index says is deleted is gone for good after any change."""
    data = data_of(tmp_path)
    data.parent.mkdir(parents=True)
    data.write_bytes(b'{"_id":"a"}\n{"_id":"b"}\n{"_id":"c"}\n')
    data.with_name("index.bin").write_bytes(b"a\t0\t12\nc\t24\t12\n")
    with ZDSStore.open(tmp_path, mode="a") as store:
        assert list(store) == ["a", "c"]
        store.put("d", {})
        assert data.read_bytes() == b'{"_id":"a"}\n{"_id":"c"}\n'
    assert data.read_bytes() == b'{"_id":"a"}\n{"_id":"c"}\n{"_id":"d"}\n'


def test_an_index_that_lies(tmp_path: Path) -> None:
    data = data_of(tmp_path)
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put_many([{"_id": "a"}, {"_id": "b"}])
    data.with_name("index.bin").write_bytes(b"b\t0\t12\na\t12\t12\n")
    with (
        ZDSStore.open(tmp_path, mode="a") as store,
        pytest.warns(ZdsWarning, match="where the document with the _id .b. is"),
    ):
        store.delete("a")
    assert data.read_bytes() == b'{"_id":"b"}\n'


def test_lines_that_are_no_documents_are_kept(tmp_path: Path) -> None:
    data = data_of(tmp_path)
    data.parent.mkdir(parents=True)
    data.write_bytes(b'{"_id":"a"}\nwhat?\n{"_id":"b"}\n')
    with warnings.catch_warnings(record=True) as caught, ZDSStore.open(tmp_path, mode="a") as store:
        warnings.simplefilter("always")
        store.delete("a")
        store.flush()
    assert [str(warning.message).partition("data.jsonl: ")[2] for warning in caught] == [
        "line 2, byte 12: not an object; the line is left out",
        "1 lines are not documents; moved to data.jsonl.torn-1",
    ]
    assert data.read_bytes() == b'{"_id":"b"}\n'
    assert data.with_name("data.jsonl.torn-1").read_bytes() == b"what?\n"


@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_full_disk(tmp_path: Path, mode: Any) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put("old", {})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = ZDSStore.open(tmp_path, mode=mode)
    try:
        store.put("a", {"x": "y" * 1000})
        store.flush()
        flushed = files_of(tmp_path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
        store.put("b", {"x": "y" * 100_000})
        for fail in (store.flush, store.compact, store.close):
            with pytest.raises(OSError, match=r"data\.jsonl"):
                fail()
        assert files_of(tmp_path) == flushed
        assert store["b"]["x"] == "y" * 100_000 and len(store) == 2 + (mode == "a")
        with ZDSStore.open(shutil.copytree(tmp_path, tmp_path / "copy")) as copy:
            assert list(copy) == [*(["old"] if mode == "a" else []), "a"]
        shutil.rmtree(tmp_path / "copy")
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        store.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
        store.close()
    with ZDSStore.open(tmp_path, strict=True) as store:
        assert list(store) == [*(["old"] if mode == "a" else []), "a", "b"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_loses_no_lines_of_a_call(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    lines = b"".join(b'{"_id":"r%d"}\n' % i for i in range(5000))
    try:
        with ZDSStore.open(tmp_path, mode="w") as store:
            store.put("a", {})
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
            for source in (lines, io.BytesIO(lines)):
                with pytest.raises(OSError, match="too large"):
                    store.write_jsonl(source)
                assert list(store) == ["a"]
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert data_of(tmp_path).read_bytes() == b'{"_id":"a"}\n'


def test_lines_that_are_refused_leave_the_index(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "s", mode="w") as store:
        store.put("a", {})
    index = tmp_path / "s" / "collections" / "default" / "meta" / "index.bin"
    before = index.read_bytes()
    with pytest.raises(FormatError, match="line 2"), ZDSStore.open(tmp_path / "s", mode="a") as store:
        store.write_jsonl(b'{"_id":"b"}\nno document\n')
    assert index.read_bytes() == before
    assert validate(tmp_path / "s") == []


def test_a_writer_whose_first_document_is_refused_leaves_all_as_it_was(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "s", "c", mode="w") as store:
        store.put("a", {"x": 1})
    index = (tmp_path / "s/collections/c/meta/index.bin").read_bytes()
    store = ZDSStore.open(tmp_path / "s", "c", mode="a")
    with store, pytest.raises(UnsupportedError, match="document 'b': JSON has no number nan"):
        store.put("b", {"x": NAN})
    assert not (tmp_path / "s/.zds").exists()
    assert (tmp_path / "s/collections/c/meta/index.bin").read_bytes() == index
    assert validate(tmp_path / "s") == []


@pytest.mark.parametrize("is_file", [True, False])
def test_lines_that_end_with_cr_lf(tmp_path: Path, is_file: bool) -> None:
    lines = b'{"_id":"a","n":"x\\r\\n"}\r\n{"_id":"b"}\n{"_id":"c"}\r\n'
    with ZDSStore.open(tmp_path / "s", mode="w") as store:
        store.write_jsonl(io.BytesIO(lines) if is_file else lines)
    with ZDSStore.open(tmp_path / "s") as store:
        assert store.get("a") == {"_id": "a", "n": "x\r\n"}
        assert store.get("c") == {"_id": "c"}
