"""Calls of a library: one thread at a time, and errors that name the file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import open_source
from ds_format.drivers.library import guard as library_lock
from ds_format.drivers.library.guard import LOCK, LibraryLock

from ..netcdf.files import leave_to_library

ROOT = Path(__file__).parents[3]
SECONDS = 3


def run(arguments: list[Any]) -> str:
    """Run Python, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-X", "faulthandler", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, check=False)
    assert done.returncode == 0 and "Exception ignored" not in done.stderr, done.stderr
    return done.stdout


class Theirs:
    """Stands for the locks of xarray, and notes what happens to them."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.first, self.second = Noted("first", self.events), Noted("second", self.events)
        self.module = types.ModuleType(library_lock.XARRAY)
        vars(self.module).update(HDF5_LOCK=self.second, NETCDFC_LOCK=self.first, combine_locks=self.combine)

    def combine(self, locks: list[Any]) -> Any:
        return types.SimpleNamespace(locks=sorted(locks, key=lambda lock: lock.name))


class Noted:
    def __init__(self, name: str, events: list[str]):
        self.name, self.events = name, events
        self.lock = threading.Lock()

    def acquire(self, blocking: bool = True) -> bool:
        is_held = self.lock.acquire(blocking)
        self.events.append(f"{self.name} {'taken' if is_held else 'refused'}")
        return is_held

    def release(self) -> None:
        self.lock.release()
        self.events.append(f"{self.name} back")


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Theirs:
    found = Theirs()
    monkeypatch.setitem(sys.modules, library_lock.XARRAY, found.module)
    # else the locks of these tests would stay registered for all forks to come
    monkeypatch.setattr(library_lock, "H5PY", "")
    return found


def test_the_locks_of_xarray_are_taken_once_in_their_order(theirs: Theirs) -> None:
    lock = LibraryLock()
    with lock, lock:
        assert theirs.events == ["first taken", "second taken"]
    assert theirs.events[2:] == ["second back", "first back"]


def test_xarray_that_is_not_loaded_far_enough_has_no_locks(theirs: Theirs) -> None:
    lock = LibraryLock()
    combine = theirs.module.combine_locks
    del theirs.module.combine_locks
    with lock:
        assert theirs.events == []
    theirs.module.combine_locks = combine  # type: ignore[attr-defined]
    with lock:
        assert theirs.events == ["first taken", "second taken"]


def test_who_is_inside_without_the_locks_of_xarray_keeps_others_out(
    theirs: Theirs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, library_lock.XARRAY)
    lock = LibraryLock()
    with lock:
        monkeypatch.setitem(sys.modules, library_lock.XARRAY, theirs.module)
        inside: list[bool] = []
        other = threading.Thread(target=lambda: inside.append(lock.acquire(blocking=False)))
        other.start()
        other.join()
        with lock:
            pass
    assert inside == [False]
    assert theirs.events == []


def test_what_cannot_be_had_leaves_nothing_taken(theirs: Theirs) -> None:
    lock = LibraryLock()
    with theirs.second.lock:
        assert not lock.acquire(blocking=False)
    assert theirs.events == ["first taken", "second refused", "first back"]
    with lock:
        assert theirs.events[3:] == ["first taken", "second taken"]


def test_an_interrupt_leaves_nothing_taken(theirs: Theirs, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(blocking: bool) -> bool:
        raise KeyboardInterrupt

    lock = LibraryLock()
    with monkeypatch.context() as patch:
        patch.setattr(theirs.second, "acquire", interrupt)
        with pytest.raises(KeyboardInterrupt):
            lock.acquire()
    assert theirs.events == ["first taken", "first back"]
    inside: list[bool] = []
    thread = threading.Thread(target=lambda: inside.append(lock.acquire(blocking=False)))
    thread.start()
    thread.join()
    assert inside == [True]


def test_what_is_to_be_done_later_waits_for_nobody(theirs: Theirs) -> None:
    lock = LibraryLock()
    done: list[int] = []
    with lock:
        lock.later(lambda: done.append(1))
        assert done == []
    assert done == [1]
    with theirs.second.lock:
        lock.later(lambda: done.append(2))
    assert done == [1]
    lock.later(lambda: done.append(3))
    assert done == [1, 2, 3]


def test_an_unclosed_file_is_closed_when_the_library_is_free(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    ds.write(path, {"x": np.arange(3), ".": {"x": {".dims": ["n"]}}})
    leave_to_library(path)
    source: Any = open_source(path)
    file = source._lease.file
    with LOCK:
        del source
        assert file.isopen()
    assert not file.isopen()


@pytest.mark.slow
def test_readers_and_writers_beside_those_of_xarray(tmp_path: Path) -> None:
    for package in ("xarray", "dask.array"):
        pytest.importorskip(package)
    counts = [int(n) for n in run(["-m", "tests.drivers.beside_xarray", tmp_path, SECONDS]).split()]
    assert all(counts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("busy", "wanted"), [("x.nc", "x.nc"), ("x.nc", "x.h5"), ("x.h5", "x.nc"), ("x.h5", "x.h5")])
def test_forks_beside_readers(tmp_path: Path, busy: str, wanted: str) -> None:
    pytest.importorskip("h5py")
    for name in {busy, wanted}:
        ds.write(tmp_path / name, {"x": np.arange(200000.0), ".": {"x": {".dims": ["n"]}}})
    assert run(["-m", "tests.drivers.forking", tmp_path, busy, wanted]).strip() == "{0: 20}"


FORKS = """
import os, threading, warnings
from ds_format.drivers.library.guard import LOCK
import h5py
warnings.simplefilter("ignore")

def is_free():
    found = []
    thread = threading.Thread(target=lambda: found.append(LOCK.acquire(blocking=False) and not LOCK.release()))
    thread.start()
    thread.join()
    return found == [True]

for i in range(3):
    child = os.fork()
    if not child:
        os._exit(0 if is_free() else 1)
    print(os.waitpid(child, 0)[1], is_free())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_h5py_that_is_imported_later_leaves_the_lock_as_it_is() -> None:
    pytest.importorskip("h5py")
    assert run(["-c", FORKS]) == "0 True\n" * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_is_forked_inside_is_inside() -> None:
    with LOCK:
        child = os.fork()
        if not child:
            LOCK.release()
            free: list[bool] = []
            thread = threading.Thread(target=lambda: free.append(LOCK.acquire(blocking=False)))
            thread.start()
            thread.join()
            os._exit(0 if free == [True] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


h5py = pytest.importorskip("h5py", reason="h5py writes the superblocks")


@pytest.mark.parametrize("suffix", ["nc", "h5"])
@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
def test_an_interrupted_copy_is_told_with_both_sizes(suffix: str, libver: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    with h5py.File(path, "w", libver=libver) as file:
        file["x"] = range(1000)
    whole = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(whole // 2)
    message = rf"a\.{suffix}: superblock: found {whole // 2} bytes in the file, expected {whole}: perhaps"
    with pytest.raises(ds.TruncatedError, match=message):
        ds.open(path)
    [problem] = ds.verify(path)
    assert "perhaps a copy was interrupted" in problem.message


def test_the_superblock_of_version_1(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", libver="earliest") as file:
        file["x"] = range(1000)
    data = (tmp_path / "a.h5").read_bytes()
    assert data[8] == 0
    data = data[:8] + b"\1" + data[9:24] + b"\x20\0\0\0" + data[24:]  # four bytes more, and then addresses
    (tmp_path / "a.h5").write_bytes(data[:1500])
    with pytest.raises(ds.TruncatedError, match=f"found 1500 bytes in the file, expected {len(data) - 4}"):
        ds.open(tmp_path / "a.h5")


def test_a_damaged_superblock_is_told(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("n", 3)
        file.createVariable("x", "f8", "n")[:] = 1
    data = bytearray((tmp_path / "a.nc").read_bytes())
    data[36:44] = b"\xff" * 8
    (tmp_path / "a.nc").write_bytes(data)
    with pytest.raises(ds.FormatError, match=r"a\.nc: superblock at 0: checksum") as caught:
        ds.open(tmp_path / "a.nc")
    assert not isinstance(caught.value, ds.TruncatedError)
