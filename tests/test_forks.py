"""A process that is forked while another thread holds a lock of ours goes on in the child."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ds_format.binpickle import machine
from ds_format.binpickle.machine import loading
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.writer import FileWriter
from ds_format.zds import pack
from ds_format.zds.store import ZDSStore

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def samples(folder: Path) -> tuple[Any, Callable[[], bool]]:
    path = folder / "x.msgpack"
    with FileWriter(path) as writer:
        writer.write({"key": "a"})
    index = SampleIndex(path)
    return index, lambda: index.find("a") == 0


def documents(folder: Path) -> tuple[Any, Callable[[], bool]]:
    with ZDSStore.open(folder / "store", "train", mode="w") as store:
        store.put("a", {"n": 1})
    opened = ZDSStore.open(folder / "store", "train")
    return opened._lines, lambda: opened["a"]["n"] == 1


def archive(folder: Path) -> Any:
    documents(folder)
    pack(folder / "store", folder / "x.zds", compression="deflate")
    return ZDSStore.open(folder / "x.zds", "train")


def inflated(folder: Path) -> tuple[Any, Callable[[], bool]]:
    opened = archive(folder)
    return opened._lines._file, lambda: opened["a"]["n"] == 1


def directory(folder: Path) -> tuple[Any, Callable[[], bool]]:
    opened = archive(folder)
    return opened._lines._file._archive, lambda: opened["a"]["n"] == 1


def handlers(folder: Path) -> tuple[Any, Callable[[], bool]]:
    def works() -> bool:
        machine.register("forks", "Forked", dict, override=True)
        return loading.is_allowed("forks", "Forked")

    return loading, works


@pytest.mark.parametrize("make", [samples, documents, inflated, directory, handlers])
def test_a_child_finds_locks_free(tmp_path: Path, make: Callable[[Path], tuple[Any, Callable[[], bool]]]) -> None:
    owner, works = make(tmp_path)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with owner._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        child = os.fork()
        if not child:
            signal.alarm(10)
            os._exit(0 if works() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        thread.join()
    assert works()
