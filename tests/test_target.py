"""Temporary files: how they are called, who may read them, and what becomes of those of killed writers."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.body import target, temporary
from ds_format.body.target import FolderTarget, Target, place_folder
from ds_format.body.temporary import WorkFolder
from ds_format.errors import DsError
from ds_format.kernels.files import files, portable
from ds_format.kernels.files.names import usual_temporary_name

from .formats import SUFFIXES

N = 20_000
META = {"x": {".dims": ["i"], ".size": [N], ".type": "float64"}}
X = np.arange(float(N))

BEGIN = f"""
import sys, time
import numpy as np
from ds_format import drivers
path, *options = sys.argv[1:]
meta = {META}
sink = drivers.load(drivers.find(path)).create(path, meta, **dict(option.split("=") for option in options))
def blocks():
    yield np.zeros({N // 2})
    print("writing", flush=True)
    time.sleep(600)
    yield np.zeros({N // 2})
sink.write("x", blocks())
sink.commit()
"""


WITH_CLASSIC = pytest.mark.parametrize(
    ("suffix", "options"), [*((suffix, ()) for suffix in SUFFIXES), (".nc", ("format=NETCDF3_CLASSIC",))]
)


@contextlib.contextmanager
def writer(path: Path, *options: str) -> Any:
    """Another process that is about to write a file, and is killed at the end."""
    with subprocess.Popen([sys.executable, "-c", BEGIN, str(path), *options], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"writing\n"
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def age(folder: Path) -> None:
    """Make all in a folder two minutes older."""
    before = time.time() - 120
    for path in folder.rglob("*"):
        os.utime(path, (before, before))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@WITH_CLASSIC
def test_what_a_killed_writer_left_goes_with_the_next_one(
    suffix: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    if suffix == ".h5":
        pytest.importorskip("h5py")
    path = tmp_path / f"a{suffix}"
    with writer(path, *options):
        pass
    assert not path.exists()
    assert [name for name in names(tmp_path) if name.endswith(".ds_format.tmp")]
    age(tmp_path)
    sink = drivers.load(drivers.find(path)).create(path, META)
    sink.write("x", [X])
    sink.commit()
    assert all(name.startswith(path.name) for name in names(tmp_path))
    assert ds.read(path)["x"].shape == (N,)


@WITH_CLASSIC
def test_what_a_living_writer_writes_stays(suffix: str, options: tuple[str, ...], tmp_path: Path) -> None:
    if suffix == ".h5":
        pytest.importorskip("h5py")
    path = tmp_path / f"a{suffix}"
    with writer(path, *options):
        left = names(tmp_path)
        age(tmp_path)
        if suffix == ".msgpack":  # which has one writer at a time
            with pytest.raises(ds.BusyError):
                drivers.load(drivers.find(path)).create(path, META)
            assert names(tmp_path) == left
            return
        sink = drivers.load(drivers.find(path)).create(path, META)
        sink.write("x", [X])
        sink.commit()
        assert set(left) <= set(names(tmp_path))
    assert ds.read(path)["x"][-1] == N - 1


def test_what_is_young_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    with writer(path):
        pass
    left = names(tmp_path)
    sink = drivers.load(drivers.find(path)).create(path, META)
    sink.write("x", [X])
    sink.commit()
    assert names(tmp_path) == sorted([*left, "a.ds"])


def test_two_at_once_write_to_names_of_their_own(tmp_path: Path) -> None:
    one, other = Target(tmp_path / "a"), Target(tmp_path / "a")
    fds = one.create(), other.create()
    assert one.written == usual_temporary_name(str(tmp_path / "a"))
    assert other.written != one.written
    for fd, each in zip(fds, (one, other), strict=True):
        os.write(fd, each.written.encode())
        os.close(fd)
    one.commit()
    assert (tmp_path / "a").read_text() == one.written
    other.commit()
    assert (tmp_path / "a").read_text() == other.written
    assert names(tmp_path) == ["a"]


def test_what_was_not_created_is_not_removed(tmp_path: Path) -> None:
    usual = Path(usual_temporary_name(str(tmp_path / "a")))
    usual.write_bytes(b"of somebody else")
    Target(tmp_path / "a").abort()
    assert usual.read_bytes() == b"of somebody else"


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_is_no_file_of_a_writer_stays(kind: str, tmp_path: Path) -> None:
    usual = Path(usual_temporary_name(str(tmp_path / "a")))
    (tmp_path / "precious").write_bytes(b"data")
    if kind == "link":
        usual.symlink_to(tmp_path / "precious")
    else:
        usual.mkdir()
        (usual / "b").write_bytes(b"data")
    age(tmp_path)
    each = Target(tmp_path / "a")
    os.close(each.create())
    each.commit()
    assert (tmp_path / "precious").read_bytes() == b"data"
    assert usual.exists()


def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(fd: int, *, shared: bool = False) -> bool:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(temporary, "try_lock", none)
    usual = Path(usual_temporary_name(str(tmp_path / "a")))
    usual.write_bytes(b"left")
    age(tmp_path)
    each = Target(tmp_path / "a")
    os.close(each.create())
    each.commit()
    assert names(tmp_path) == sorted([usual.name, "a"])


def test_names_as_long_as_can_be(tmp_path: Path) -> None:
    for name in ("x" * 252 + ".ds", "x" * 251 + "y.ds", "ž" * 126 + ".ds"):
        each = Target(tmp_path / name)
        os.close(each.create())
        each.commit()
    assert len(names(tmp_path)) == 3


def test_a_work_folder_of_a_killed_writer_goes(tmp_path: Path) -> None:
    left = Path(usual_temporary_name(str(tmp_path / "a.use")))
    (left / "b").mkdir(parents=True)
    (left / "b" / "c").write_bytes(b"x")
    age(tmp_path)
    with WorkFolder(str(tmp_path / "a"), "use") as folder:
        assert folder == str(left)
        assert not os.listdir(folder)
        with WorkFolder(str(tmp_path / "a"), "use") as other:
            assert other != folder
    assert not names(tmp_path)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400, 0o664, 0o666])
def test_a_file_that_replaces_another_is_never_read_by_more(suffix: str, mode: int, tmp_path: Path) -> None:
    if suffix == ".h5":
        pytest.importorskip("h5py")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"")
    path.chmod(mode)
    sink = drivers.load(drivers.find(path)).create(path, META)
    try:
        sink.write("x", [X[: N // 2], X[N // 2 :]])
        others = [left for left in tmp_path.iterdir() if left.is_file() and left != path and left.suffix != ".lock"]
        found = [left.stat().st_mode for left in others]
        assert all(not stat.S_IMODE(one) & ~(mode | 0o600) for one in found)
        assert found or suffix in {".msgpack", ".zarr", ".zds"}  # which write a folder of their own first
    finally:
        sink.commit()
    if suffix == ".zarr":
        assert not stat.S_IMODE(path.stat().st_mode) & 0o66 & ~mode
    elif suffix != ".msgpack":
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("write_file", [files.write_file, portable.write_file], ids=["kernel", "portable"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o4755, 0o666])
def test_a_small_file_that_replaces_another_keeps_its_mode(write_file: Any, mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    before = os.umask(0o077)
    try:
        assert write_file(str(path), [b"new"])
    finally:
        os.umask(before)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_work_folder_is_for_its_owner_where_a_file_is_private(tmp_path: Path) -> None:
    with WorkFolder(str(tmp_path / "a"), "use") as folder:
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


def test_errors_of_the_system_have_one_name(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught, target.naming(tmp_path / "a.ds"):  # noqa: PT011 - the text is what matters
        os.rename(tmp_path / "b", tmp_path / "c")
    assert str(caught.value) == f"[Errno 2] No such file or directory: '{tmp_path / 'a.ds'}'"
    assert type(caught.value) is FileNotFoundError
    with pytest.raises(OSError, match=r"^a.png: cannot write mode P$"), target.naming("a.png"), target.naming("a.png"):
        raise OSError("cannot write mode P")
    with pytest.raises(DsError, match=r"^x: wrong$"), target.naming("a"):
        raise DsError("wrong", path="x")


def written(path: Path, text: str, **options: Any) -> FolderTarget:
    found = FolderTarget(path, **options)
    (Path(found.create()) / "inner").mkdir()
    (Path(found._folder.path) / "inner" / "a").write_text(text)  # type: ignore[union-attr]
    return found


@pytest.mark.parametrize("durable", [False, True])
def test_a_folder_gets_its_name_when_it_is_complete(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "folder"
    sink = written(path, "one", durable=durable)
    assert not path.exists()
    sink.commit()
    sink.abort()
    assert names(tmp_path) == ["folder"] and (path / "inner" / "a").read_text() == "one"


def test_a_folder_that_is_aborted_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.write_text("file")
    written(path, "one", replaces=lambda folder: False).abort()
    assert names(tmp_path) == ["folder"] and path.read_text() == "file"


@pytest.mark.parametrize("exchanges", [False, True])
def test_a_folder_replaces_what_may_be_replaced(
    tmp_path: Path, exchanges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(target, "_exchanged", lambda one, other: False)
    path, link = tmp_path / "folder", tmp_path / "link"
    link.symlink_to(path)
    path.write_text("file")
    written(path, "one", replaces=lambda folder: False).commit()
    path.chmod(0o750)
    with pytest.raises(FileExistsError, match="folder is not empty"):
        FolderTarget(path)
    with pytest.raises(FileExistsError, match="folder is not empty"):
        FolderTarget(path, replaces=lambda folder: folder != str(path))
    written(link, "two", replaces=lambda folder: True).commit()
    assert names(tmp_path) == ["folder", "link"] and (path / "inner" / "a").read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    with pytest.raises(FileNotFoundError):
        place_folder(str(tmp_path / "absent"), str(path))
    assert names(tmp_path) == ["folder", "link"] and (path / "inner" / "a").read_text() == "two"


def test_a_folder_does_not_replace_a_pipe_nor_by_default_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("file")
    with pytest.raises(OSError, match="neither a file nor a folder"):
        FolderTarget(tmp_path / "pipe", replaces=lambda folder: True)
    with pytest.raises(NotADirectoryError):
        FolderTarget(tmp_path / "file")
