"""Writers that are killed lose nothing that was flushed, and what they leave is whole."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from ds_format.zds.faults import ZdsWarning
from ds_format.zds.store import ZDSStore

from .writers import line_of, process

# Linux may end a write between two pages: what is not flushed can be torn
may_be_torn = pytest.mark.filterwarnings("ignore:.*torn:ds_format.zds.faults.ZdsWarning")
FLUSHES = """
import sys
from ds_format.zds.store import ZDSStore
store = ZDSStore.open(sys.argv[1], "train", mode="a")
start = len(store) - store.exists("again")
for i in range(100000):
    store.put(f"r{start + i}", {"x": "y" * 50, "n": start + i})
    if i % 7 == 0:
        store.put("again", {"n": start + i})
    if i % 10 == 9:
        store.flush()
        print(start + i, flush=True)
"""
REWRITES = """
import sys
from ds_format.zds.store import ZDSStore
store = ZDSStore.open(sys.argv[1], "train", mode="a")
n = len(store)
print("open", flush=True)
for i in range(n - 1):
    store.delete(f"r{i}")
    store.flush()
    print(i, flush=True)
"""
COMPACTS = """
import sys
from ds_format.zds.store import ZDSStore
store = ZDSStore.open(sys.argv[1], "train", mode="a")
print("open", flush=True)
for i in range(100000):
    store.put("again", {"n": i})
    store.compact()
    print(i, flush=True)
"""
WAITS = """
import sys
from ds_format.zds.store import ZDSStore
store = ZDSStore.open(sys.argv[1], "train", mode=sys.argv[2])
store.put("kept", {"n": 1})
store.flush()
store.put("lost", {"n": 2})
print("ready", flush=True)
sys.stdin.read()
"""


@may_be_torn
@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05])
def test_appending(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "store"
    flushed = -1
    for _ in range(3):
        with process(FLUSHES, path) as writer:
            flushed = int(line_of(writer))
            time.sleep(delay)
        copy = tmp_path / "copy"
        shutil.copytree(path, copy)
        with ZDSStore.open(copy, "train") as store:
            found = {document["_id"]: document["n"] for document in store.scan()}
            assert len(store) == len(found)
        assert all(found[f"r{i}"] == i for i in range(flushed + 1))
        with ZDSStore.open(copy, "train", mode="a") as store:
            assert {key: store[key]["n"] for key in store} == found
            store.put("next", {})
        with ZDSStore.open(copy, "train", strict=True) as store:
            assert len(store) == len(found) + 1
        shutil.rmtree(copy)


@may_be_torn
@pytest.mark.parametrize("delay", [0.0, 0.003, 0.01, 0.03])
def test_rewriting(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "store"
    n = 3000
    with ZDSStore.open(path, "train", mode="w") as store:
        store.put_many((f"r{i}", {"x": "y" * 300, "n": i}) for i in range(n))
    with process(REWRITES, path) as writer:
        deleted = [line_of(writer) for _ in range(4)][-1]
        time.sleep(delay)
    with ZDSStore.open(path, "train") as store:
        found = [document["n"] for document in store.scan()]
    assert found == list(range(n - len(found), n))
    assert n - len(found) > int(deleted)
    with ZDSStore.open(path, "train", mode="a") as store:
        assert [document["n"] for document in store.scan()] == found
        store.delete(f"r{n - 1}")
    assert list((path / "collections" / "train" / "meta").glob(".*")) == []
    with ZDSStore.open(path, "train", strict=True) as store:
        assert [document["n"] for document in store.scan()] == found[:-1]


@may_be_torn
def test_compacting(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with ZDSStore.open(path, "train", mode="w") as store:
        store.put_many((f"r{i}", {"n": i}) for i in range(2000))
    for _ in range(3):
        with process(COMPACTS, path) as writer:
            line_of(writer)
            n = int([line_of(writer) for _ in range(5)][-1])
        with ZDSStore.open(path, "train") as store:
            assert len(store) == 2001
            assert store["again"]["n"] >= n
            assert [store[f"r{i}"]["n"] for i in range(2000)] == list(range(2000))


@pytest.mark.parametrize("mode", ["a", "w"])
def test_between_operations(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "store"
    with ZDSStore.open(path, "train", mode="w") as store:
        store.put("before", {})
    with process(WAITS, path, mode) as writer:
        assert line_of(writer) == "ready"
    with ZDSStore.open(path, "train") as store:
        assert list(store) == (["before", "kept"] if mode == "a" else ["kept"])
    assert (path / ".zds" / "train.index").exists()
    assert not (path / "collections/train/meta/index.bin").exists()
    with ZDSStore.open(path, "train", mode="a") as store:
        store.put("after", {})
    assert not (path / ".zds" / "train.index").exists()
    with ZDSStore.open(path, "train", strict=True) as store:
        assert list(store) == (["before", "kept", "after"] if mode == "a" else ["kept", "after"])


def test_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "store.zds"
    with ZDSStore.open(path, "train", mode="w") as store:
        store.put("before", {})
    with process(WAITS, path, "a") as writer:
        assert line_of(writer) == "ready"
        with ZDSStore.open(path, "train") as store:
            assert list(store) == ["before"]
    with pytest.warns(ZdsWarning, match="its work is taken up"), ZDSStore.open(path, "train", mode="a") as store:
        assert list(store) == ["before", "kept"]
    with ZDSStore.open(path, "train", strict=True) as store:
        assert list(store) == ["before", "kept"]
    assert [file.name for file in tmp_path.iterdir()] == ["store.zds"]


def test_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with process(WAITS, path, "a") as writer:
        assert line_of(writer) == "ready"
    data = path / "collections/train/meta/data.jsonl"
    whole = data.read_bytes()
    data.write_bytes(whole + b'{"_id":"torn","n":')
    with (
        ZDSStore.open(path, "train") as store,
        pytest.warns(ZdsWarning, match="line 2, byte 21: a torn line of 18 bytes"),
    ):
        assert list(store) == ["kept"]
    with pytest.warns(ZdsWarning, match=r"moved to data\.jsonl\.torn-1"):
        store = ZDSStore.open(path, "train", mode="a")
    store.put("next", {})
    store.close()
    assert data.read_bytes() == whole + b'{"_id":"next"}\n'
    assert (data.parent / "data.jsonl.torn-1").read_bytes() == b'{"_id":"torn","n":'
