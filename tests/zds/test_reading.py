"""Reading: in what order, what policy does what, numbers that decoders round, archives, and without orjson."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ds_format.body.body import FileBody
from ds_format.errors import FormatError, MissingError, UnsupportedError
from ds_format.zds import documents, line_reader
from ds_format.zds.archiving import pack
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.store import ZDSStore

from .writers import ROOT

LINES = [b'{"_id":"a","n":1}', b'{"_id":"b","n":2}', b'{"_id":"c","n":3}']


def store_of(root: Path, data: bytes, index: bytes | None = None) -> Path:
    meta = root / "collections" / "default" / "meta"
    meta.mkdir(parents=True)
    (meta / "data.jsonl").write_bytes(data)
    if index is not None:
        (meta / "index.bin").write_bytes(index)
    return root


def test_ways_to_read(tmp_path: Path) -> None:
    store_of(tmp_path, b"\n".join(LINES))
    (tmp_path / "collections/default/docs").mkdir()
    for name, text in (("d", '{\n  "n": 4\n}'), ("a", '{"_id":"a","n":1}'), ("B", '{"n":5}')):
        (tmp_path / f"collections/default/docs/{name}.json").write_text(text)
    with ZDSStore.open(tmp_path) as store:
        with pytest.warns(ZdsWarning, match="no line feed"):
            assert "a" in store
        assert list(store) == list(store.ids()) == ["a", "b", "c", "B", "d"]
        assert len(store) == 5
        assert [document["n"] for document in store.scan()] == [1, 2, 3, 5, 4]
        assert [json.loads(line).get("n") for line in store.scan_raw()] == [1, 2, 3, 5, 4]
        assert [list(document) for document in store.scan(fields="n", where="n>=4")] == [["_id", "n"], ["_id", "n"]]
        assert store.get("d") == store["d"] == {"_id": "d", "n": 4}
        assert "d" in store and "x" not in store and store.exists("a") and 5 not in store and "\ud800" not in store
        assert store.get("x", None) is None and store.get("\ud800", 1) == 1
        for key in ("x", "../a", "", "é"):
            with pytest.raises(KeyError, match="no document"):
                store.get(key)
        with pytest.raises(UnsupportedError, match="for reading only"):
            store.put("e", {})
        with pytest.raises(MissingError, match="there are: default"):
            store.collection("train")
        with pytest.raises(UnsupportedError):
            store.collection("../x")


def test_reading_writes_nothing(tmp_path: Path) -> None:
    store_of(tmp_path, b"\n".join(LINES) + b"\n")
    before = sorted(tmp_path.rglob("*"))
    with ZDSStore.open(tmp_path) as store:
        assert len(list(store.scan())) == 3
    assert sorted(tmp_path.rglob("*")) == before
    for path in (tmp_path / "none", tmp_path / "none.zds"):
        with pytest.raises(FileNotFoundError):
            ZDSStore.open(path)
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(ValueError, match="mode: found 'x'"):
        ZDSStore.open(tmp_path, mode="x")  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="not a ZDS store"):
        ZDSStore.open(tmp_path / "collections" / "default")


@pytest.mark.parametrize(("policy", "expected"), [("verify", "ac"), ("trust", "ac"), ("ignore", "abc")])
def test_what_an_index_leaves_out(tmp_path: Path, policy: str, expected: str) -> None:
    store_of(tmp_path, b"\n".join(LINES) + b"\n", b"c\t36\t18\na\t0\t18\n")
    with ZDSStore.open(tmp_path, index=policy) as store:
        assert list(store) == list(expected)
        assert [document["_id"] for document in store.scan()] == list(expected)
        assert ("b" in store) == ("b" in expected)


@pytest.mark.parametrize(("policy", "expected"), [("verify", "abc"), ("trust", "ab"), ("ignore", "abc")])
@pytest.mark.parametrize("is_newer", [False, True])
@pytest.mark.filterwarnings("ignore::ds_format.zds.faults.ZdsWarning")
def test_what_is_behind_an_index(tmp_path: Path, policy: str, expected: str, is_newer: bool) -> None:
    store_of(tmp_path, b"\n".join(LINES) + b"\n", b"a\t0\t17\nb\t18\t17\n")
    os.utime(tmp_path / "collections/default/meta/index.bin", (1e9, 1e9 + is_newer))
    with ZDSStore.open(tmp_path, index=policy) as store:
        assert list(store) == list(expected) and [store[key]["_id"] for key in expected] == list(expected)


@pytest.mark.parametrize("entry", [b"a\t9\t9", b"a\t0\t36", b"a\t0\t5", b"a\t18\t18", b"b\t0\t18", b"a\t1\t17"])
@pytest.mark.parametrize("scans", [False, True])
def test_an_index_that_leads_elsewhere(tmp_path: Path, entry: bytes, scans: bool) -> None:
    """Also into the middle of a line, where there may be something like a document."""
    lines = [b'{"x":" {}","_id":"a"}', *LINES[1:]] if entry == b"a\t9\t9" else LINES
    size = sum(len(line) + 1 for line in lines)
    store_of(tmp_path, b"\n".join(lines) + b"\n", entry + b"\nc\t%d\t18\n" % (size - 18))
    with ZDSStore.open(tmp_path) as store:
        with pytest.warns(ZdsWarning, match=r"index\.bin"):
            found = list(store.scan()) if scans else store[chr(entry[0])]
        if scans:
            assert [document["_id"] for document in found] == ["a", "b", "c"]
        for key in (chr(entry[0]), "a", "b"):
            assert store[key]["_id"] == key


@given(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_exact(integer: int, real: float) -> None:
    line = json.dumps(
        {"_id": "a", "i": integer, "r": real, "l": [integer, str(integer)]}, separators=(",", ":")
    ).encode()
    found = documents.decoder.one(line)
    assert found == json.loads(line)
    assert documents.decoder.many([line, line], line + b"\n" + line) == [found, found]
    assert (type(found["i"]), type(found["r"])) == (int, float)


def test_numbers_that_are_too_large() -> None:
    with pytest.warns(ZdsWarning, match="too large for a float"):
        assert documents.decoder.one(b'{"x":[{"y":1e400}]}') == {"x": [{"y": float("inf")}]}
    for line in (b'{"x":NaN}', b'{"x":"\\ud800"}', b"[1]", b"{", b'{"x":' + b"[" * 1100 + b"]" * 1100 + b"}"):
        with pytest.raises(FormatError):
            documents.decoder.one(line)
        with pytest.raises(FormatError):
            documents.decode_exactly(line)


def test_without_orjson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put_many((f"r{i}", {"x": "é", "n": i * 10**18}) for i in range(100))
    found = list(ZDSStore.open(tmp_path).scan())
    monkeypatch.setattr(importlib, "import_module", absent)
    monkeypatch.setattr(documents.decoder, "fast", None)
    with ZDSStore.open(tmp_path) as store:
        assert list(store.scan()) == found == [store[f"r{i}"] for i in range(100)]
    assert documents.decoder.fast is documents.decode_exactly


@pytest.mark.parametrize("compression", ["store", "deflate"])
def test_archives(tmp_path: Path, compression: str) -> None:
    root, path = tmp_path / "store", tmp_path / "x.zds"
    with ZDSStore.open(root, "train", mode="w") as store:
        store.put_many((f"r{i}", {"n": i, "x": os.urandom(10).hex()}) for i in range(3000))
        expected = list(store.scan())
    with ZDSStore.open(root, "notes", mode="w", layout="docs") as store:
        store.put("n", {"n": 1})
    pack(root, path, compression)
    with ZDSStore.open(path, "train", strict=True) as store:
        assert store.collections() == ["notes", "train"]
        assert [store[document["_id"]] for document in expected] == expected == list(store.scan())
        assert list(store.collection("notes").scan()) == [{"_id": "n", "n": 1}]
    with ZDSStore.open(path, "train", mode="a") as store:
        store.put("r1", {"n": "new"})
        store.collection("notes").put("m", {})
        with ZDSStore.open(path, "train") as reader:
            assert reader["r1"] == expected[1]
    with ZDSStore.open(path, "train", strict=True) as store:
        assert store["r1"] == {"_id": "r1", "n": "new"} and len(store) == 3000
        assert list(store.collection("notes")) == ["m", "n"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["store", "x.zds"]
    with zipfile.ZipFile(path) as archive:
        assert "collections/train/meta/index.bin" in archive.namelist()
    before = path.stat()
    ZDSStore.open(path, "train", mode="a").close()
    assert path.stat() == before or path.stat().st_mtime_ns == before.st_mtime_ns


def test_reading_loads_no_numpy(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put("a", {"x": 1})
    code = (
        "import sys; from ds_format.zds import ZDSStore\n"
        "assert ZDSStore.open(sys.argv[1])['a'] == {'_id': 'a', 'x': 1}\n"
        "print(*sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True, text=True, env=environment
    )
    assert not {"numpy", "pandas", "pyarrow", "duckdb"} & set(done.stdout.split())


def test_each_document_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put_many([{"_id": "a"}, {"_id": "b"}, {"_id": "big", "n": 1 << 64}])
    calls: list[str] = []
    fetch, read = vars(line_reader)["fetch_document"], FileBody.read

    def counting_fetch(*arguments: Any) -> Any:
        calls.append("fetch")
        return fetch(*arguments)

    def counting_read(file: FileBody, offset: int, size: int) -> bytes:
        calls.append("read")
        return read(file, offset, size)

    monkeypatch.setattr(line_reader, "fetch_document", counting_fetch)
    with ZDSStore.open(tmp_path) as store:
        assert len(store) == 3
        monkeypatch.setattr(FileBody, "read", counting_read)
        # the short way leaves the first line and large integers to the long one
        for id, expected in (("b", ["fetch"]), ("a", ["fetch", "read"]), ("big", ["fetch", "read"]), ("x", ["fetch"])):
            for _ in range(2):
                calls.clear()
                store.get(id, None)
                assert calls == expected
