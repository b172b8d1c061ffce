"""Files in one call, whole, in part or many: the compiled functions and those for other systems."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.kernels.files import batch as compiled_batch, files as compiled, portable
from tests.descriptors import n_open

both = pytest.mark.parametrize("files", [compiled, portable], ids=["compiled", "portable"])


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@both
def test_read_file(files: Any, tmp_path: Path) -> None:
    path = tmp_path / "ä file"
    path.write_bytes(b"hello")
    for name in (path, str(path), os.fsencode(path)):
        assert files.read_file(name, 5) == bytearray(b"hello")
    assert files.read_file(path, 4) is None
    path.write_bytes(b"")
    assert files.read_file(path, 0) == bytearray()


@both
def test_a_file_that_ends_before_its_size(files: Any) -> None:
    """As one does that is cut while it is read: those of the kernel of Linux say that they have a whole page."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not path.is_file() or path.stat().st_size <= len(path.read_bytes()):
        pytest.skip("there is no such file")
    assert files.read_file(path, 1 << 16) == path.read_bytes()


@both
def test_reading_what_is_no_file(files: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nope"):
        files.read_file(tmp_path / "nope", 9)
    with pytest.raises(IsADirectoryError):
        files.read_file(tmp_path, 9)
    with pytest.raises(ValueError, match="null"):
        files.read_file("a\0b", 9)
    with pytest.raises(TypeError):
        files.read_file(5.0, 9)


@both
@pytest.mark.parametrize("atomic", [True, False])
def test_write_file(files: Any, atomic: bool, tmp_path: Path) -> None:
    path = tmp_path / ("ž" * 120)
    assert files.write_file(path, [b"ab", np.arange(2, dtype="<i2")], atomic, True)
    assert path.read_bytes() == b"ab\0\0\1\0"
    assert listing(tmp_path) == [path.name]


@both
def test_replacing_keeps_permissions_and_open_readers(files: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with path.open("rb") as reader:
        assert files.write_file(path, [b"new"])
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@both
def test_an_exclusive_file_must_not_exist(files: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError):
        files.write_file(path, [b"new"], False)
    assert path.read_bytes() == b"old"


@both
def test_what_is_no_file_is_left_alone(files: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    assert not files.write_file(tmp_path / "link", [b"new"])
    assert not files.write_file(tmp_path / "folder", [b"new"])
    assert listing(tmp_path) == ["file", "folder", "link"]
    assert (tmp_path / "file").read_bytes() == b"old"


@both
def test_writing_where_nothing_can_be_written(files: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nope"):
        files.write_file(tmp_path / "nope" / "x", [b"new"])
    with pytest.raises(OSError, match="name too long"):
        files.write_file(tmp_path / ("n" * 300), [b"new"])
    assert listing(tmp_path) == []


LIMITED = """
import resource, signal, sys
from ds_format.kernels.files import files, portable
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
module = files if sys.argv[1] == "compiled" else portable
try:
    module.write_file(sys.argv[2], [bytes(600), bytes(600)], sys.argv[3] == "atomic")
except OSError as error:
    print(error.errno, error.filename)
"""


@both
@pytest.mark.parametrize("how", ["atomic", "straight"])
def test_no_space_leaves_nothing_behind(files: Any, how: str, tmp_path: Path) -> None:
    which = "compiled" if files is compiled else "portable"
    path = tmp_path / "x"
    if how == "atomic":
        path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, which, str(path), how], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["27", str(path)]
    assert listing(tmp_path) == (["x"] if how == "atomic" else [])
    if how == "atomic":
        assert path.read_bytes() == b"old"


@both
@pytest.mark.parametrize("limit", [5, 6, 1 << 20])
def test_all_of_a_small_file(files: Any, limit: int, tmp_path: Path) -> None:
    path = tmp_path / "ä file"
    path.write_bytes(b"hello")
    for name in (path, str(path), os.fsencode(path)):
        assert files.open_first(name, limit)[:3] == (-1, 5, bytearray(b"hello"))
    path.write_bytes(b"")
    assert files.open_first(path, 0)[:3] == (-1, 0, bytearray())


@both
def test_a_file_is_read_or_opened(files: Any, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"hello")
    assert files.read_or_open(path, 5, 2) == bytearray(b"hello")
    fd, *rest = files.read_or_open(path, 4, 2)
    try:
        assert rest == [5, bytearray(b"he"), path.stat().st_mtime_ns]
        assert os.fstat(fd).st_size == 5
    finally:
        os.close(fd)
    with pytest.raises(FileNotFoundError):
        files.read_or_open(tmp_path / "absent", 5, 2)


@both
@pytest.mark.parametrize("limit", [0, 4])
def test_the_first_bytes_of_a_larger_file(files: Any, limit: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"hello")
    fd, size, data, _ = files.open_first(path, limit)
    try:
        assert (size, data) == (5, bytearray(b"hello"[:limit]))
        assert not os.get_inheritable(fd)
        assert os.fstat(fd).st_size == 5
    finally:
        os.close(fd)


@both
@pytest.mark.parametrize("first", [0, 2])
def test_fewer_first_bytes_of_a_larger_file(files: Any, first: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"hello")
    fd, size, data, _ = files.open_first(path, 4, first)
    os.close(fd)
    assert (size, data) == (5, bytearray(b"hello"[:first]))
    assert files.open_first(path, 5, first)[:3] == (-1, 5, bytearray(b"hello"))


@both
def test_the_first_bytes_of_a_file_that_ends_before_its_size(files: Any) -> None:
    """As one does that is cut while it is read: those of the kernel of Linux say that they have a whole page."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not path.is_file() or path.stat().st_size <= len(path.read_bytes()):
        pytest.skip("there is no such file")
    assert files.open_first(path, 1 << 16)[:3] == (-1, path.stat().st_size, path.read_bytes())


@both
@pytest.mark.skipif(os.name != "posix", reason="needs pipes with names")
def test_the_first_bytes_of_what_is_no_file(files: Any, tmp_path: Path) -> None:
    """Each leaves no descriptor behind, and none waits."""
    os.mkfifo(tmp_path / "pipe")
    os.symlink("nothing", tmp_path / "link")
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(tmp_path / "socket"))
        kinds = {"": errno.EISDIR, "pipe": errno.ESPIPE, "link": errno.ENOENT, "nope": errno.ENOENT}
        for name, number in kinds.items():
            with pytest.raises(OSError) as caught:  # noqa: PT011 - its number and name are looked at
                files.open_first(tmp_path / name, 9)
            assert (caught.value.errno, str(caught.value.filename)) == (number, str(tmp_path / name))
        with pytest.raises(OSError, match="socket"):
            files.open_first(tmp_path / "socket", 9)
        assert not n_open(tmp_path, tmp_path / "pipe", tmp_path / "socket")
    with pytest.raises(ValueError, match="null"):
        files.open_first("a\0b", 9)
    with pytest.raises(TypeError):
        files.open_first(5.0, 9)


both_batches = pytest.mark.parametrize("batch", [compiled_batch, portable], ids=["compiled", "portable"])


@both_batches
def test_files_come_in_order(batch: Any, tmp_path: Path) -> None:
    contents = [b"x" * (i * 97 % 5000) for i in range(300)]
    paths = [tmp_path / f"ž{i}" for i in range(300)]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    found = list(batch.read_files(paths, 5000))
    assert found == contents
    assert all(type(data) is bytearray for data in found)
    assert list(batch.read_files([str(paths[7]), os.fsencode(paths[8])], 5000)) == contents[7:9]
    assert list(batch.read_files([], 1)) == []


@both_batches
def test_stamps_tell_which_files_were_read(batch: Any, tmp_path: Path) -> None:
    for name, size in {"a": 3, "b": 0, "large": 9}.items():
        (tmp_path / name).write_bytes(bytes(size))
    found = batch.read_files([str(tmp_path / name) for name in ("a", "none", "large", "b")], 5)
    wanted = []
    for name in ("a", "none", "large", "b"):
        status = os.stat(tmp_path / name) if name != "none" else None
        wanted.append([0, 0, 0] if status is None else [status.st_size, status.st_mtime_ns, status.st_ino])
    assert np.frombuffer(found.stamps(), np.int64).reshape(-1, 3).tolist() == wanted
    assert batch.read_files([], 5).stamps() == b""


@both_batches
def test_what_is_not_read(batch: Any, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"123456")
    (tmp_path / "good").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    names = ["large", "nope", "good", ".", "pipe"]
    found = list(batch.read_files([tmp_path / name for name in names], 5))
    assert found == [None, errno.ENOENT, b"12345", None, None]


@both_batches
def test_wrong_arguments(batch: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        batch.read_files([5.0], 1)
    with pytest.raises(ValueError, match="null"):
        batch.read_files(["a\0b"], 1)
