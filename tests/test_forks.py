"""A process that is forked while another thread holds a lock of ours goes on in the child."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ds_format
from ds_format.base import forks
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


IMPORTING = """
import os, random, signal, sys, threading, time, warnings
from collections import Counter
from importlib import import_module
import ds_format as ds
from ds_format.base import forks

warnings.simplefilter("ignore")
path, n, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
forks.PATIENCE = float(os.environ.get("PATIENCE", forks.PATIENCE))
stop = threading.Event()

def load():
    while not stop.wait(random.random() / 1000):
        for name in names:
            sys.modules.pop(name, None)
            import_module(name)

def works():
    for name in names:
        assert import_module(name).__spec__ is not None
    return len(ds.read(path)["x"]) == 3

if names:
    ds.read(path)
    loader = threading.Thread(target=load)
else:
    loader = threading.Thread(target=works)
loader.start()
ends = Counter()
for _ in range(n):
    time.sleep(random.random() / 1000 if names else random.random() / 10)
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if works() else 1)
    ends[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])] += 1
    if set(ends) != {0}:
        break
stop.set()
loader.join()
print(dict(ends))
"""
"""A thread imports modules again and again, or for the first time; how children end that import them, too."""
RELOADED = ("ds_format.codec.legacy", "ds_format.model.packing", "ds_format.model.selection", "colorsys")


def ends(path: Path, n: int, *names: str, **settings: str) -> str:
    ds_format.write(path, {"x": [1, 2, 3]})
    command = [sys.executable, "-c", IMPORTING, str(path), str(n), *names]
    environ = {**os.environ, **settings}
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=590, env=environ).stdout


@pytest.mark.slow
def test_five_thousand_forks_beside_a_thread_that_imports(tmp_path: Path) -> None:
    assert ends(tmp_path / "x.ds", 5000, *RELOADED) == "{0: 5000}\n"


@pytest.mark.slow
def test_forks_that_did_not_wait(tmp_path: Path) -> None:
    """What a thread was loading at the moment of the fork is loaded again by the child."""
    assert ends(tmp_path / "x.ds", 500, *RELOADED, PATIENCE="-1") == "{0: 500}\n"


@pytest.mark.slow
def test_forks_beside_the_first_read(tmp_path: Path) -> None:
    assert {ends(tmp_path / "x.ds", 1) for _ in range(20)} == {"{0: 1}\n"}


def test_a_fork_does_not_wait_for_modules_of_others(tmp_path: Path) -> None:
    """The top level of a script may wait for a thread that forks."""
    (tmp_path / "script.py").write_text(
        "import os, threading, ds_format\n"
        "def fork():\n"
        "    child = os.fork()\n"
        "    if not child: os._exit(7)\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "thread = threading.Thread(target=fork)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", "import script"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environ)
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_all_libraries_are_waited_for() -> None:
    own = {"ds_format", *sys.stdlib_module_names, *forks.LIBRARIES}
    found = set()
    for path in Path(ds_format.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"""(?:library|import_module)\(\s*"(\w+)""", text))
        found |= set(re.findall(r"^ *(?:import|from) (\w+)(?:\.\w+)*(?: as \w+)?(?:$| import )", text, re.MULTILINE))
    assert found >= {"numpy", "netCDF4", "h5py", "deflate", "urllib3"} and found - own == set()
