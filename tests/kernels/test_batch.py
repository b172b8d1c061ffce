"""Many small files in one call: the compiled function and that for other systems."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.kernels.files import batch as compiled
from ds_format.kernels.files import portable

pytestmark = pytest.mark.parametrize("batch", [compiled, portable], ids=["compiled", "portable"])


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


def test_what_is_not_read(batch: Any, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"123456")
    (tmp_path / "good").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    names = ["large", "nope", "good", ".", "pipe"]
    found = list(batch.read_files([tmp_path / name for name in names], 5))
    assert found == [None, errno.ENOENT, b"12345", None, None]


def test_wrong_arguments(batch: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        batch.read_files([5.0], 1)
    with pytest.raises(ValueError, match="null"):
        batch.read_files(["a\0b"], 1)
