"""Whole files and ranges of files: the compiled functions and those for other systems."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.kernels.files import files as compiled
from ds_format.kernels.files import portable

pytestmark = pytest.mark.parametrize("files", [compiled, portable], ids=["compiled", "portable"])


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_read_file(files: Any, tmp_path: Path) -> None:
    path = tmp_path / "ä file"
    path.write_bytes(b"hello")
    for name in (path, str(path), os.fsencode(path)):
        assert files.read_file(name, 5) == bytearray(b"hello")
    assert files.read_file(path, 4) is None
    path.write_bytes(b"")
    assert files.read_file(path, 0) == bytearray()


def test_a_file_that_ends_before_its_size(files: Any) -> None:
    """As one does that is cut while it is read: those of the kernel of Linux say that they have a whole page."""
    path = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not path.is_file() or path.stat().st_size <= len(path.read_bytes()):
        pytest.skip("there is no such file")
    assert files.read_file(path, 1 << 16) == path.read_bytes()


def test_reading_what_is_no_file(files: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nope"):
        files.read_file(tmp_path / "nope", 9)
    with pytest.raises(IsADirectoryError):
        files.read_file(tmp_path, 9)
    with pytest.raises(ValueError, match="null"):
        files.read_file("a\0b", 9)
    with pytest.raises(TypeError):
        files.read_file(5.0, 9)


@pytest.mark.parametrize("atomic", [True, False])
def test_write_file(files: Any, atomic: bool, tmp_path: Path) -> None:
    path = tmp_path / ("ž" * 120)
    assert files.write_file(path, [b"ab", np.arange(2, dtype="<i2")], atomic, True)
    assert path.read_bytes() == b"ab\0\0\1\0"
    assert listing(tmp_path) == [path.name]


def test_replacing_keeps_permissions_and_open_readers(files: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with path.open("rb") as reader:
        assert files.write_file(path, [b"new"])
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_exclusive_file_must_not_exist(files: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError):
        files.write_file(path, [b"new"], False)
    assert path.read_bytes() == b"old"


def test_what_is_no_file_is_left_alone(files: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    assert not files.write_file(tmp_path / "link", [b"new"])
    assert not files.write_file(tmp_path / "folder", [b"new"])
    assert listing(tmp_path) == ["file", "folder", "link"]
    assert (tmp_path / "file").read_bytes() == b"old"


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
