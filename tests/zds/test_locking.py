"""One writer of a collection at a time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ds_format.body import lock
from ds_format.body.lock import Lock, try_lock
from ds_format.errors import BusyError
from ds_format.zds import pack
from ds_format.zds.faults import ZdsWarning
from ds_format.zds.reindexing import reindex
from ds_format.zds.store import ZDSStore

from .writers import line_of, process

WAITS = """
import sys
from ds_format.zds.store import ZDSStore
store = ZDSStore.open(sys.argv[1], "train", mode="a")
print("ready", flush=True)
sys.stdin.read()
"""
TAKES = """
import os, sys
from ds_format.errors import BusyError
from ds_format.body.lock import Lock
path, n = sys.argv[1], 0
while n < 150:
    try:
        held = Lock(path, "it")
    except BusyError:
        continue
    inside = os.open(path + ".inside", os.O_CREAT | os.O_EXCL)
    os.close(inside)
    os.unlink(path + ".inside")
    held.release(remove=True)
    n += 1
print(n, flush=True)
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
    assert not (tmp_path / ".zds").exists()


@pytest.mark.parametrize("layout", ["jsonl", "docs"])
def test_nothing_stays_behind(tmp_path: Path, layout: Any) -> None:
    for mode in ("w", "a", "a"):
        with ZDSStore.open(tmp_path / "s", "train", mode=mode, layout=layout) as store:
            store.put("a", {})
            with store.collection("test") as other:
                other.put("b", {})
            assert (tmp_path / "s/.zds/train.lock").exists() and not (tmp_path / "s/.zds/test.lock").exists()
        assert sorted(path.name for path in (tmp_path / "s").iterdir()) == ["collections", "zds.json"]
    reindex(tmp_path / "s")
    with pytest.raises(ZeroDivisionError), ZDSStore.open(tmp_path / "s", "train", mode="w"):
        raise ZeroDivisionError
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == ["collections", "zds.json"]
    pack(tmp_path / "s", tmp_path / "s.zds")
    with zipfile.ZipFile(tmp_path / "s.zds") as archive:
        assert [name for name in archive.namelist() if ".zds" in name or "lock" in name] == []


def test_what_others_keep_there_stays(tmp_path: Path) -> None:
    (tmp_path / ".zds").mkdir()
    (tmp_path / ".zds/.zds_write.lock").write_text("pid=1\n")
    with ZDSStore.open(tmp_path, "train", mode="a") as store:
        store.put("a", {})
    assert [path.name for path in (tmp_path / ".zds").iterdir()] == [".zds_write.lock"]


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
    held = Lock(path, "it")
    held.release(remove=True)
    os.rmdir(tmp_path / "folder")
    held = Lock(path, "it")
    with pytest.raises(BusyError, match="it: another process is writing"):
        Lock(path, "it")
    held.release()
    held.release()


def test_a_lock_on_a_file_that_lost_its_name_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner removes the file after another one opened it, and before that one locks it."""
    path = str(tmp_path / "lock")
    owner = Lock(path, "it")

    def try_late(fd: int) -> bool:
        monkeypatch.setattr(lock, "try_lock", try_lock)
        owner.release(remove=True)
        return try_lock(fd)

    monkeypatch.setattr(lock, "try_lock", try_late)
    late = Lock(path, "it")
    assert os.path.exists(path)
    with pytest.raises(BusyError):
        Lock(path, "it")
    late.release(remove=True)
    assert not os.path.exists(path)


def test_the_lock_of_somebody_else_is_not_removed(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    first = Lock(path, "it")
    os.unlink(path)
    second = Lock(path, "it")
    first.release(remove=True)
    with pytest.raises(BusyError):
        Lock(path, "it")
    second.release(remove=True)


def test_a_lock_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "host", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        ZDSStore.open(tmp_path, "train", mode="a")
    assert list(tmp_path.iterdir()) == []


def test_one_at_a_time(tmp_path: Path) -> None:
    """Processes that take a lock, and remove its file, again and again."""
    with contextlib.ExitStack() as stack:
        all_of_them = [stack.enter_context(process(TAKES, tmp_path / "folder" / "lock")) for _ in range(3)]
        assert [line_of(one) for one in all_of_them] == ["150"] * 3
    assert list((tmp_path / "folder").iterdir()) == []
