"""Readers beside a writer: each sees whole documents, as they were at one moment."""

from __future__ import annotations

import pickle
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ds_format.errors import TruncatedError
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.store import ZDSStore

from .writers import line_of, process

CHANGES = """
import sys
from ds_format.zds.store import ZDSStore
store = ZDSStore.open(sys.argv[1], "train", mode="a")
print("open", flush=True)
n = 0
while True:
    for i in range(200):
        store.put(f"r{i}", {"n": n, "x": "y" * (n % 50)})
    n += 1
    if n % 3 == 0:
        store.flush()
    if n % 7 == 0:
        store.delete("r199")
        store.compact()
    if n % 11 == 0:
        store.write_jsonl(b"".join(b'{"_id":"r%d","n":%d}\\n' % (i, n) for i in range(199)))
    if n % 13 == 0:
        store.close()
        store = ZDSStore.open(sys.argv[1], "train", mode="a")
"""


def test_readers_beside_a_writer(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, "train", mode="w") as store:
        store.put_many((f"r{i}", {"n": -1, "x": ""}) for i in range(200))
    latest = -1
    with process(CHANGES, tmp_path) as writer, warnings.catch_warnings():
        warnings.simplefilter("error", ZdsWarning)
        line_of(writer)
        n = 0
        while n < 150 or latest <= 5:
            n += 1
            with ZDSStore.open(tmp_path, "train") as store:
                found = {document["_id"]: document for document in store.scan()}
                assert len(found) == len(store) in {199, 200}
                time.sleep(0.003)
                assert {key: store[key] for key in store} == found
                assert sum(1 for _ in store.scan_raw()) == len(found)
                numbers = [found[f"r{i}"]["n"] for i in range(199)]
                assert min(numbers) >= latest
                latest = min(numbers)


def test_an_open_reader_sees_what_there_was(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put_many((f"r{i}", {"n": i}) for i in range(100))
    early, late = ZDSStore.open(tmp_path), ZDSStore.open(tmp_path)
    assert len(early) == 100
    with ZDSStore.open(tmp_path, mode="a") as store:
        store.put("r5", {"n": "new"})
        store.delete("r6")
        store.flush()
        store.put("more", {})
    for reader in (early, late):
        assert reader["r5"]["n"] == 5 and reader["r6"]["n"] == 6
        assert len(list(reader.scan())) == 100 and "more" not in reader
    with ZDSStore.open(tmp_path) as store:
        assert store["r5"]["n"] == "new" and "r6" not in store and "more" in store
    early.close()
    late.close()


def test_threads_share_a_reader(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put_many((f"r{i}", {"n": i}) for i in range(3000))
    (tmp_path / "collections/default/meta/index.bin").unlink()
    store = ZDSStore.open(tmp_path)
    barrier = threading.Barrier(8)

    def work(start: int) -> bool:
        barrier.wait()
        return all(store[f"r{i}"]["n"] == i for i in range(start, 3000, 7)) and len(list(store.scan())) == 3000

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    store.close()


def test_a_file_that_becomes_shorter(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, mode="w") as store:
        store.put_many((f"r{i}", {"x": "y" * 1000}) for i in range(1000))
    with ZDSStore.open(tmp_path) as store:
        assert len(store) == 1000
        with (tmp_path / "collections/default/meta/data.jsonl").open("r+b") as file:
            file.truncate(100_000)
        assert store["r5"]["x"] == "y" * 1000
        with pytest.raises(TruncatedError, match=r"data\.jsonl"):
            store.get("r999")
        with pytest.raises(TruncatedError):
            list(store.scan())


def test_pickle(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path / "x.zds", "train", mode="w") as store:
        store.put("a", {"x": 1})
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(store)
    with ZDSStore.open(tmp_path / "x.zds", "train") as store:
        copy = pickle.loads(pickle.dumps(store))
    assert copy["a"] == {"_id": "a", "x": 1} and copy.name == "train"
    copy.close()
    for use in (copy.get, copy.exists, copy.delete):
        with pytest.raises(ValueError, match="closed"):
            use("a")
    for look in (len, list, ZDSStore.flush):
        with pytest.raises(ValueError, match="closed"):
            look(copy)
