"""Who has a temporary name, from its making until the file has its own, and what others may do meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.body.lock import try_lock
from ds_format.body.target import Target
from ds_format.body.temporary import WorkFolder
from ds_format.kernels.files.names import temporary_name, usual_temporary_name

META = {"x": {".dims": ["i"], ".size": [3], ".type": "float64"}}


def usual(path: Path, use: str = "") -> Path:
    return Path(usual_temporary_name(str(path), use))


def age(*paths: str | Path) -> None:
    """Make files two minutes older."""
    before = time.time() - 120
    for path in paths:
        os.utime(path, (before, before))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def begin(path: Path, text: str) -> Target:
    """Write all of a file, and close it."""
    each = Target(path)
    with open(each.create(), "w") as file:
        file.write(text)
    return each


def is_locked(path: str | Path) -> bool:
    fd = os.open(path, os.O_RDWR)
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def test_a_writer_that_takes_its_time_to_flush_is_no_killed_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    slow = begin(path, "all of the slow one")
    age(slow.written)
    other = Target(path)
    fd = other.create()
    os.write(fd, b"the beg")
    slow.commit()
    assert path.read_text() == "all of the slow one"
    os.write(fd, b"inning")
    os.close(fd)
    other.commit()
    assert path.read_text() == "the beginning"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_what_somebody_else_removed_gets_no_name(is_replaced: bool, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    each = begin(path, "new")
    os.unlink(each.written)
    if is_replaced:
        Path(each.written).write_text("half of ano")
    with pytest.raises(OSError, match="another process removed the temporary file"):
        each.commit()
    each.abort()
    assert path.read_text() == "old"
    assert names(tmp_path) == (sorted(["a", Path(each.written).name]) if is_replaced else ["a"])


@pytest.mark.parametrize("step", ["commit", "abort"])
def test_a_writer_that_is_done_removes_nothing_of_the_next_one(step: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    one = begin(path, "one")
    getattr(one, step)()
    other = begin(path, "other")
    assert other.written == one.written
    one.abort()
    other.commit()
    assert path.read_text() == "other"


def test_a_flush_that_fails_behind_the_rename_removes_nothing_of_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    others = []

    def fail(folder: Any) -> None:
        others.append(begin(path, "other"))
        raise OSError(5, "Input/output error")

    one = Target(path, durable=True)
    os.close(one.create())
    with monkeypatch.context() as patch:
        patch.setattr("ds_format.body.target.files.sync_folder", fail)
        with pytest.raises(OSError, match="Input/output"):
            one.commit()
    one.abort()
    others[0].commit()
    assert path.read_text() == "other"


def test_nothing_stays_where_no_more_files_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dup(fd: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "dup", dup)
    with pytest.raises(OSError, match="Too many"):
        Target(tmp_path / "a").create()
    assert names(tmp_path) == []


@pytest.mark.parametrize("is_renamed", [False, True])
def test_a_work_folder_is_removed_once(is_renamed: bool, tmp_path: Path) -> None:
    one = WorkFolder(str(tmp_path / "a"), "use")
    if is_renamed:
        os.rename(one.path, tmp_path / "a")
    else:
        one.close()
    with WorkFolder(str(tmp_path / "a"), "use") as folder:
        assert folder == one.path
        Path(folder, "of the other").touch()
        one.close()
        assert names(Path(folder)) == ["of the other"]
    assert names(tmp_path) == ["a"] * is_renamed


def test_each_use_has_its_name_also_of_long_ones(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250)
    with WorkFolder(str(path), "records") as records, WorkFolder(str(path), "store") as store:
        each = begin(path, "new")
        found = [records, store, each.written]
        assert found == [str(usual(path, "records")), str(usual(path, "store")), str(usual(path))]
        assert len(set(found)) == 3
        each.commit()


def test_what_many_processes_write_is_never_taken_to_be_abandoned(tmp_path: Path) -> None:
    path = tmp_path / "a"
    shared = Target(path, shared=temporary_name(str(path)))
    os.close(shared.create())
    assert not is_locked(shared.written)
    age(shared.written)
    begin(path, "other").commit()
    Path(shared.written).write_text("by another process")
    other = Target(path, shared=shared.written)
    os.close(other.create())
    other.commit()
    assert path.read_text() == "by another process"
    assert names(tmp_path) == ["a"]


def test_a_fork_neither_removes_nor_unlocks(tmp_path: Path) -> None:
    path = tmp_path / "a"
    each, folder = begin(path, "of the parent"), WorkFolder(str(path), "use")
    child = os.fork()
    if not child:
        each.abort()
        folder.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert is_locked(each.written)
    assert os.path.isdir(folder.path)
    each.commit()
    folder.close()
    assert path.read_text() == "of the parent"
    assert names(tmp_path) == ["a"]


@contextlib.contextmanager
def sink_of(path: Path, options: dict[str, str]) -> Iterator[Any]:
    pytest.importorskip("h5py" if path.suffix == ".h5" else "netCDF4")
    sink = drivers.load(drivers.find(path)).create(path, META, **options)
    try:
        yield sink
        sink.write("x", [[1.0, 2.0, 3.0]])
        sink.commit()
    except BaseException:
        sink.abort()
        raise


LIBRARIES = pytest.mark.parametrize(
    ("name", "options"), [("a.nc", {}), ("a.nc", {"format": "NETCDF3_CLASSIC"}), ("a.h5", {})], ids=["nc", "nc3", "h5"]
)


@LIBRARIES
def test_what_a_library_writes_is_locked(name: str, options: dict[str, str], tmp_path: Path) -> None:
    with sink_of(tmp_path / name, options):
        assert is_locked(usual(tmp_path / name))
    assert not is_locked(tmp_path / name)
    assert names(tmp_path) == [name]


@LIBRARIES
def test_a_finished_file_can_be_read_from_its_first_moment(
    name: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def replace(source: str, final: str, real: Any = os.replace) -> None:
        real(source, final)
        found.append(ds.read(final)["x"].tolist())

    monkeypatch.setattr(os, "replace", replace)
    with sink_of(tmp_path / name, options):
        pass
    assert found == [[1, 2, 3]]


@pytest.mark.parametrize("options", [{}, {"format": "NETCDF3_CLASSIC"}], ids=["nc", "nc3"])
def test_a_fork_that_stays_does_not_lock_the_finished_file(options: dict[str, str], tmp_path: Path) -> None:
    path, child = tmp_path / "a.nc", 0
    try:
        with sink_of(path, options):
            child = os.fork()
            if not child:
                time.sleep(60)
                os._exit(0)
        assert not is_locked(path)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


LOCKING = """
import os, sys
path, early, late = sys.argv[1:]
if early: os.environ["HDF5_USE_FILE_LOCKING"] = early
import h5py, netCDF4
h5py.File(path + ".first.h5", "w").close()
netCDF4.Dataset(path + ".first.nc", "w").close()
if late: os.environ["HDF5_USE_FILE_LOCKING"] = late
from ds_format import drivers
from ds_format.body.lock import try_lock
meta = {"x": {".dims": ["i"], ".size": [3], ".type": "float64"}}
sink = drivers.load(drivers.find(path)).create(path, meta)
left = next(name for name in os.listdir(os.path.dirname(path)) if name.endswith(".ds_format.tmp"))
fd = os.open(os.path.join(os.path.dirname(path), left), os.O_RDWR)
print("free" if try_lock(fd) else "locked")
os.close(fd)
sink.write("x", [[1.0, 2.0, 3.0]])
sink.commit()
"""


@pytest.mark.parametrize("name", ["a.nc", "a.h5"])
@pytest.mark.parametrize(("early", "late"), [("FALSE", ""), ("TRUE", ""), ("", "FALSE"), ("FALSE", "TRUE")])
def test_whether_the_library_locks_is_found_out(name: str, early: str, late: str, tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    command = [sys.executable, "-c", LOCKING, str(tmp_path / name), early, late]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "locked\n"), done.stderr
    assert ds.read(tmp_path / name)["x"].tolist() == [1, 2, 3]
