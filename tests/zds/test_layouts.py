"""A collection keeps its documents the way it does, until it is replaced."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from ds_format.errors import FormatError, UnsupportedError
from ds_format.kernels.files import files
from ds_format.zds import ZDSStore, pack, unpack
from ds_format.zds.docs import DocFiles, layout_of
from ds_format.zds.faults import Silence
from ds_format.zds.roots import Folder

from . import golden, oracle, rules

FOLDER = "collections/train"
DATA, INDEX, MANIFEST = (f"{FOLDER}/meta/{name}" for name in ("data.jsonl", "index.bin", "manifest.json"))
FILE = f"{FOLDER}/docs/a.json"
# what stands there, and the layout that it is
STANDING: dict[str, tuple[dict[str, bytes], str | None]] = {
    "nothing": ({}, None),
    "lines": ({DATA: golden.D1}, "jsonl"),
    "a line without its end": ({DATA: golden.D1[:-1]}, "jsonl"),
    "files": ({FILE: b"{}"}, "docs"),
    "files with a manifest": ({FILE: b"{}", MANIFEST: b"{}"}, "docs"),
    "both": ({DATA: golden.D1, FILE: b"{}"}, "jsonl"),
    "files, and no lines in data.jsonl": ({DATA: b"", FILE: b"{}"}, "docs"),
    "no lines": ({DATA: b"", MANIFEST: b'{"doc_count":5}'}, "jsonl"),
    "an index of nothing": ({INDEX: b"", MANIFEST: b"{}"}, "jsonl"),
    "a manifest": ({MANIFEST: b'{"doc_count":5}'}, "docs"),
    "what is no document": ({f"{FOLDER}/docs/README": b"", f"{FOLDER}/docs/.a.json.x.tmp": b""}, None),
}


@pytest.mark.parametrize("name", STANDING)
@pytest.mark.filterwarnings("ignore:.*:ds_format.zds.faults.ZdsWarning")
def test_what_stands_there(name: str, tmp_path: Path) -> None:
    standing, layout = STANDING[name]
    (tmp_path / "s").mkdir()
    place = Folder(golden.write(tmp_path / "s", standing))
    assert layout_of(place, "train", DocFiles(place, "train", Silence())) == layout
    before = set(oracle.read_store(tmp_path / "s").get("train", {}))
    with ZDSStore.open(tmp_path / "s", "train", mode="a") as store:
        store.put("new", {"n": 1})
    written = oracle.files_of(tmp_path / "s")
    assert (f"{FOLDER}/docs/new.json" in written) == (layout == "docs")
    assert (b"new" in written.get(DATA, b"")) == (layout != "docs")
    assert set(oracle.read_store(tmp_path / "s")["train"]) == {*before, "new"}


@pytest.mark.parametrize("name", ["ref_py_docs", "ref_py_docs_empty", "ref_py_fast_empty", "seed_both_modes"])
@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_golden_stores(name: str, kind: str, tmp_path: Path) -> None:
    root = path = golden.copy(name, tmp_path)
    before = oracle.read_store(root).get("train", {})
    is_files = name.startswith("ref_py_docs")
    if kind == "archive":
        path = tmp_path / "x.zds"
        pack(root, path)
    with ZDSStore.open(path, "train", mode="a") as store:
        store.put("new", {"n": 1})
    written = oracle.files_of(path)
    assert (f"{FOLDER}/docs/new.json" in written) == is_files == (DATA not in written)
    assert oracle.read_store(path)["train"] == before | {"new": {"_id": "new", "n": 1}}


@pytest.mark.parametrize("path", ["s", "s.zds"])
@pytest.mark.parametrize("layout", ["jsonl", "docs"])
def test_a_layout_stays(path: str, layout: Any, tmp_path: Path) -> None:
    def names() -> set[str]:
        return {Path(name).name for name in oracle.files_of(tmp_path / path) if name != "zds.json"} - {"manifest.json"}

    def change(**options: Any) -> None:
        with ZDSStore.open(tmp_path / path, "train", **options) as store:
            store.put("a", {"n": 1})
            store.put_many([("b", {"n": 2})])
            assert store.write_jsonl(b'{"_id":"c"}\n{"_id":"a","n":3}\n') == 2
            store.update("b", {"n": 4})
            store.delete("c")
            assert {document["_id"]: document["n"] for document in store.scan()} == {"a": 3, "b": 4}

    expected = {"a.json", "b.json"} if layout == "docs" else {"data.jsonl", "index.bin"}
    change(mode="w", layout=layout)
    assert names() == expected
    for options in ({"mode": "a"}, {"mode": "a", "layout": layout}, {"mode": "w"}):
        change(**options)
        assert names() == expected
        assert path == "s.zds" or rules.broken(tmp_path / path) == []
    with ZDSStore.open(tmp_path / path, "train", mode="a") as store:
        del store["a"], store["b"]
    with ZDSStore.open(tmp_path / path, "train", mode="a") as store:
        assert len(store) == 0
    change(mode="a")
    assert names() == expected
    if path == "s.zds":
        unpack(tmp_path / path, tmp_path / "s")
        path = "s"
        change(mode="a")
        assert names() == expected


@pytest.mark.parametrize("path", ["s", "s.zds"])
@pytest.mark.parametrize(("layout", "other"), [("jsonl", "docs"), ("docs", "jsonl")])
def test_another_layout(path: str, layout: Any, other: Any, tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / path, "train", mode="w", layout=layout) as store:
        store.put("a", {"n": 1})
    before = oracle.files_of(tmp_path / path)
    with pytest.raises(UnsupportedError, match=f"'train' has .*, and keeps them: found the layout '{other}'"):
        ZDSStore.open(tmp_path / path, "train", mode="a", layout=other)
    assert oracle.files_of(tmp_path / path) == before
    assert sorted(one.name for one in tmp_path.iterdir()) == [path]
    with ZDSStore.open(tmp_path / path, "train", mode="a") as store:
        store.delete("a")
    with ZDSStore.open(tmp_path / path, "train", mode="a", layout=other) as store:  # nothing would change its place
        store.put("b", {"n": 2})
    assert layout_now(tmp_path / path) == other
    with ZDSStore.open(tmp_path / path, "train", mode="w", layout=layout) as store:
        store.put("c", {"n": 3})
    assert layout_now(tmp_path / path) == layout
    assert oracle.read_store(tmp_path / path)["train"] == {"c": {"_id": "c", "n": 3}}


def layout_now(path: Path) -> str:
    found = oracle.files_of(path)
    assert (DATA in found) != any("/docs/" in name for name in found)
    return "jsonl" if DATA in found else "docs"


def test_each_collection_has_its_own(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, "train", mode="w", layout="docs") as store:
        store.put("a", {})
    with ZDSStore.open(tmp_path, "test", mode="w") as store:
        store.put("a", {})
    with ZDSStore.open(tmp_path, "train", mode="a") as store:
        store.put("b", {})
        store.collection("test").put("b", {})
        store.collection("new").put("b", {})
    names = {name for name in oracle.files_of(tmp_path) if name.endswith((".jsonl", "b.json"))}
    assert names == {f"{FOLDER}/docs/b.json", *(f"collections/{one}/meta/data.jsonl" for one in ("test", "new"))}


@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize("lines", [b'{"_id":"b"}\n[1]\n', b'{"_id":"b"}\n{"_id":"../c"}\n', b'{"_id":"b"}\n{"x":1}'])
def test_lines_become_files_all_or_not_at_all(lines: bytes, is_file: bool, tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "s", mode="w", layout="docs") as store:
        store.put("a", {"n": 1})
        before = oracle.files_of(tmp_path / "s")
        (tmp_path / "lines").write_bytes(lines)
        with (tmp_path / "lines").open("rb") as file, pytest.raises(FormatError, match=r"line 2, byte \d+: "):
            store.write_jsonl(file if is_file else lines)
        long = "y" * 251
        with pytest.raises(UnsupportedError, match=r"the lines: .* cannot be the name of a file"):
            store.write_jsonl(b'{"_id":"a","n":2}\n{"_id":"%s"}' % long.encode())
        assert oracle.files_of(tmp_path / "s") == before
        assert list(store) == ["a"]


def test_lines_become_files_though_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_later(path: str, *arguments: Any, write: Any = files.write_file) -> bool:
        if "c.json" in path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return bool(write(path, *arguments))

    with ZDSStore.open(tmp_path / "s", mode="w", layout="docs") as store:
        store.put("a", {"n": 1})
        before = oracle.files_of(tmp_path / "s")
        monkeypatch.setattr(files, "write_file", fail_later)
        with pytest.raises(OSError, match="No space"):
            store.write_jsonl(b'{"_id":"a","n":2}\n{"_id":"b"}\n{"_id":"c"}\n')
        monkeypatch.undo()
        assert oracle.files_of(tmp_path / "s") == before
        assert store["a"] == {"_id": "a", "n": 1} and "b" not in store
        folder = tmp_path / "s/collections/default"
        (folder / ".docs.killed.tmp").mkdir()
        (folder / ".docs.killed.tmp/x.json").write_bytes(b"{}")
    with ZDSStore.open(tmp_path / "s", mode="a") as store:
        assert store.write_jsonl(b'{"_id":"a","n":2}\n{"_id":"b"}\n{"_id":"b","n":5}') == 3
    assert sorted(path.name for path in folder.iterdir()) == ["docs", "meta"]
    assert (folder / "docs/b.json").read_bytes() == b'{"_id":"b","n":5}\n'


def test_lines_become_files_beside_lines(tmp_path: Path) -> None:
    golden.write(tmp_path, {DATA: golden.D1 + golden.D2, FILE: b'{"x":3}', f"{FOLDER}/docs/d2.json": b'{"x":"old"}'})
    with ZDSStore.open(tmp_path, "train", mode="a", layout="docs") as store:
        assert store.write_jsonl(golden.line("d1", x=5)) == 1
        assert {document["_id"]: document["x"] for document in store.scan()} == {"d2": 2, "a": 3, "d1": 5}
    with ZDSStore.open(tmp_path, "train") as store:
        assert {document["_id"]: document["x"] for document in store.scan()} == {"d2": 2, "a": 3, "d1": 5}


def test_files_alone_have_nothing_to_compact(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, "train", mode="w", layout="docs") as store:
        store.put("a", {"n": 1})
    (tmp_path / MANIFEST).write_bytes(b'{"doc_count":5}')
    before = oracle.files_of(tmp_path)
    with ZDSStore.open(tmp_path, "train", mode="a") as store:
        store.compact()
        store.flush()
        assert list(store) == ["a"]
    assert oracle.files_of(tmp_path) == before
