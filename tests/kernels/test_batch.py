"""Many small files in one call: the compiled function and that for other systems."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

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
