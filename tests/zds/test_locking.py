"""One writer of a collection at a time."""

from __future__ import annotations

import multiprocessing
import os
import re
import warnings
from pathlib import Path

import pytest

from ds_format.errors import BusyError
from ds_format.lock import Lock
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.store import ZDSStore

from .writers import line_of, process

WAITS = """
import sys
from ds_format.zds.store import ZDSStore
store = ZDSStore.open(sys.argv[1], "train", mode="a")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("name", ["store", "store.zds"])
def test_another_process(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with process(WAITS, path) as writer:
        line_of(writer)
        owner = rf"{re.escape(str(path))}.*pid={writer.pid}, hostname=.*, timestamp=2"
        with pytest.raises(BlockingIOError, match=owner):
            ZDSStore.open(path, "train", mode="w")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZdsWarning)  # an archive had a writer that was killed
        with ZDSStore.open(path, "train", mode="a") as store:
            store.put("a", {})


def test_the_same_process(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, "train", mode="a") as store, pytest.raises(BusyError, match=f"pid={os.getpid()}"):
        ZDSStore.open(tmp_path, "train", mode="a")
    store = ZDSStore.open(tmp_path, "train", mode="a")
    store.close()


def test_other_collections(tmp_path: Path) -> None:
    with ZDSStore.open(tmp_path, "train", mode="a") as train, ZDSStore.open(tmp_path, "test", mode="a") as test:
        train.put("a", {})
        test.put("b", {})
    with ZDSStore.open(tmp_path, "test", strict=True) as store:
        assert store.collections() == ["test", "train"]


def test_what_was_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".zds").mkdir()
    (tmp_path / ".zds/train.lock").write_text("pid=1\nhostname=elsewhere\n")
    with ZDSStore.open(tmp_path, "train", mode="a") as store:
        store.put("a", {})
    assert f"pid={os.getpid()}\n" in (tmp_path / ".zds/train.lock").read_text()


def test_a_fork_neither_writes_nor_unlocks(tmp_path: Path) -> None:
    def child() -> None:
        with pytest.raises(ValueError, match="another process"):
            store.put("b", {})
        os._exit(7)

    with ZDSStore.open(tmp_path, "train", mode="a") as store:
        store.put("a", {})
        forked = multiprocessing.get_context("fork").Process(target=child)
        forked.start()
        forked.join()
        assert forked.exitcode == 7
        with pytest.raises(BusyError):
            ZDSStore.open(tmp_path, "train", mode="a")
        store.put("c", {})
    with ZDSStore.open(tmp_path, "train", strict=True) as store:
        assert list(store) == ["a", "c"]


def test_a_removed_lock_file(tmp_path: Path) -> None:
    path = str(tmp_path / "folder" / "lock")
    lock = Lock(path, "it")
    lock.release(remove=True)
    os.rmdir(tmp_path / "folder")
    lock = Lock(path, "it")
    with pytest.raises(BusyError, match="it: somebody else is writing"):
        Lock(path, "it")
    lock.release()
    lock.release()
