"""What stands in the way of a writer, and names that are none: errors of this package, and nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ds_format.body import lock
from ds_format.errors import BusyError, DsError, FormatError, IntegrityError, MissingError, UnsupportedError
from ds_format.zds import ZDSStore, pack, validate
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.reindexing import reindex

from . import oracle
from .writers import line_of, process

META = "collections/train/meta"
NAMES = ["", ".", "..", "../x", "a/b", "/a", "a\0b", "\ud800", "a\udcff", "é", "a\n", "a b", "a\\b", "a" * 256]
LAYOUTS = ["jsonl", "docs"]


def make(path: Path, layout: Any, **documents: Any) -> Path:
    with ZDSStore.open(path, "train", mode="w", layout=layout) as store:
        store.put_many((documents or {"a": {"n": 1}, "b": {"n": 2}}).items())
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("path", ["s", "s.zds"])
@pytest.mark.parametrize("name", [*NAMES, "a" * 5000])
def test_names(name: str, path: str, layout: Any, tmp_path: Path) -> None:
    store = make(tmp_path / path, layout)
    for mode in ("r", "a"):
        with ZDSStore.open(store, "train", mode=mode) as opened:
            with pytest.raises(MissingError):
                opened.get(name)
            assert opened.get(name, None) is None
            assert name not in opened
            assert list(opened.scan(where={"_id": name})) == []
            for use in (lambda: ZDSStore.open(store, name), lambda: opened.collection(name)):
                with pytest.raises(UnsupportedError, match="name of a collection"):
                    use()
            if mode == "r":
                continue
            for change in (
                lambda: opened.put(name, {}),
                lambda: opened.put_many([(name, {})]),
                lambda: opened.put_many([{"_id": name}]),
                lambda: opened.update(name, {}),
                lambda: opened.write_jsonl(json.dumps({"_id": name}).encode()),
            ):
                with pytest.raises(DsError):
                    change()
            with pytest.raises(MissingError):
                opened.delete(name)
    assert set(oracle.read_store(store)["train"]) == {"a", "b"}


def use(path: Path, **options: Any) -> None:
    with ZDSStore.open(path, "train", **options) as store:
        if store.mode != "r":
            store.put("c", {"n": 3})
            store.flush()
            store.delete("c")
        len(store), list(store.scan()), store.get("a", None), "c" in store


USES: dict[str, Callable[[Path], Any]] = {
    "read": use,
    "append": lambda path: use(path, mode="a"),
    "replace": lambda path: use(path, mode="w"),
    "lines": lambda path: use(path, mode="w", layout="jsonl"),
    "files": lambda path: use(path, mode="w", layout="docs"),
    "strict": lambda path: use(path, mode="a", strict=True),
    "validate": validate,
    "reindex": reindex,
    "cut": lambda path: reindex(path, cut=True),
    "pack": lambda path: pack(path, f"{path}.zds"),
}
IN_THE_WAY = [
    "zds.json", "collections", "collections/train", "collections/train/docs", "collections/train/docs/a.json",
    "collections/train/docs/c.json", META, f"{META}/data.jsonl", f"{META}/index.bin", f"{META}/manifest.json",
    f"{META}/order.ids", ".zds", ".zds/train.lock", ".zds/.lock", ".zds/train.index",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", IN_THE_WAY)
@pytest.mark.parametrize("kind", ["folder", "full folder", "file"])
def test_what_is_in_the_way(kind: str, name: str, layout: Any, tmp_path: Path) -> None:
    """Files in place of folders and the other way round are told of as what they are, or do not matter."""
    for what, act in USES.items():
        path = make(tmp_path / what, layout)
        obstacle = path / name
        shutil.rmtree(obstacle, ignore_errors=True)
        obstacle.unlink(missing_ok=True)
        obstacle.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file":
            obstacle.write_bytes(b"")
        else:
            (obstacle / "x" if kind == "full folder" else obstacle).mkdir(parents=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZdsWarning)
            try:
                act(path)
            except DsError:
                continue


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any bytes")
@pytest.mark.parametrize("name", [b"n\xff", b"n\xff.zds"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_store_whose_name_is_no_text(name: bytes, layout: Any, tmp_path: Path) -> None:
    path = make(tmp_path / os.fsdecode(name), layout)
    use(path, mode="a")
    assert json.loads(oracle.files_of(path)["zds.json"])["name"] == "n\ufffd"
    assert validate(path) == []


# archives that cannot be opened for writing


def damaged(path: Path) -> None:
    path.write_bytes(b"PK nonsense")
    ZDSStore.open(path, "train", mode="a")


def with_a_wrong_checksum(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"n":1', b'"n":2'))
    ZDSStore.open(path, "train", mode="a")


def torn(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{META}/data.jsonl", '{"_id":"a"}\n{"_id":')
    ZDSStore.open(path, "train", mode="a", strict=True)


def of_nothing_known(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme", "")
    ZDSStore.open(path, "train", mode="a")


FAILURES: list[tuple[Callable[[Path], Any], type[Exception]]] = [
    (damaged, FormatError),
    (with_a_wrong_checksum, IntegrityError),
    (torn, FormatError),
    (of_nothing_known, FormatError),
    (lambda path: ZDSStore.open(path, "train", mode="x"), ValueError),  # type: ignore[arg-type]
    (lambda path: ZDSStore.open(path, "..", mode="a"), UnsupportedError),
    (lambda path: ZDSStore.open(path, "train", mode="a", layout="docs"), UnsupportedError),
]


@pytest.mark.parametrize(("open_it", "error"), FAILURES)
def test_an_archive_that_cannot_be_opened(open_it: Callable[[Path], Any], error: Any, tmp_path: Path) -> None:
    path = make(tmp_path / "a.zds", "jsonl")
    with pytest.raises(error):
        open_it(path)
    assert os.listdir(tmp_path) == ["a.zds"]


@pytest.mark.parametrize("mode", ["a", "w"])
@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("where", [0, 1])
def test_a_full_disk(mode: Any, is_there: bool, where: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the lock of the archive, nor that of its collection can be written."""
    if is_there:
        make(tmp_path / "a.zds", "jsonl")
    left = [None] * where

    def host() -> str:
        if not left:
            raise OSError(28, "No space left on device")
        left.pop()
        return "here"

    monkeypatch.setattr(lock, "host", host)
    with pytest.raises(OSError, match="No space"):
        ZDSStore.open(tmp_path / "a.zds", "train", mode=mode)
    assert os.listdir(tmp_path) == ["a.zds"] * is_there


def test_an_archive_that_is_busy(tmp_path: Path) -> None:
    path = make(tmp_path / "a.zds", "jsonl")
    with ZDSStore.open(path, "train", mode="a") as store:
        store.put("c", {})
        for name in ("train", "test"):
            with pytest.raises(BusyError):
                ZDSStore.open(path, name, mode="a")
        with pytest.raises(BusyError):
            store.collection("train")
    assert os.listdir(tmp_path) == ["a.zds"]
    assert set(oracle.read_store(path)["train"]) == {"a", "b", "c"}


WAITS = """
import sys
from ds_format.zds.store import ZDSStore
store = ZDSStore.open(sys.argv[1], "train", mode="a")
store.put("kept", {})
store.flush()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("options", [{"strict": True, "mode": "a"}, {"mode": "a"}, {"mode": "w"}])
def test_work_that_was_left_is_not_lost_by_who_cannot_open_it(options: Any, tmp_path: Path) -> None:
    path = make(tmp_path / "a.zds", "jsonl")
    with process(WAITS, path) as writer:
        line_of(writer)
    for refused in ({"layout": "docs", "mode": "a"}, {"mode": "a"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if "layout" in refused else "error", ZdsWarning)
            with pytest.raises((UnsupportedError, ZdsWarning)):
                ZDSStore.open(path, "train", **refused)  # type: ignore[arg-type]
        assert sorted(os.listdir(tmp_path)) == [".a.zds.work", "a.zds"]
    with pytest.warns(ZdsWarning, match="its work is taken up"), ZDSStore.open(path, "train", **options) as store:
        store.put("d", {})
    assert os.listdir(tmp_path) == ["a.zds"]
    assert set(oracle.read_store(path)["train"]) == ({"d"} if options["mode"] == "w" else {"a", "b", "kept", "d"})
