"""Ranges of open files: the compiled functions and those for other systems."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.kernels.files import portable
from ds_format.kernels.files import ranges as compiled

pytestmark = pytest.mark.parametrize("ranges", [compiled, portable], ids=["compiled", "portable"])


def test_read_at_and_ranges(ranges: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(range(100)))
    fd = os.open(path, os.O_RDONLY)
    out = np.zeros(10, np.uint8)
    assert ranges.read_at(fd, 90, out) == 10
    assert out.tolist() == list(range(90, 100))
    assert ranges.read_at(fd, 95, out) == 5
    assert ranges.read_at(fd, 200, out) == 0
    assert ranges.read_ranges(fd, np.array([50, 0, 50], np.int64), 3, out[:9]) == 9
    assert out[:9].tolist() == [50, 51, 52, 0, 1, 2, 50, 51, 52]
    assert ranges.read_ranges(fd, np.array([0, 98], np.int64), 3, out[:6]) == 5
    assert ranges.read_ranges(fd, np.array([], np.int64), 3, out[:0]) == 0
    with pytest.raises(ValueError, match="do not fill"):
        ranges.read_ranges(fd, np.array([0], np.int64), 3, out)
    os.close(fd)
    with pytest.raises(OSError, match="Bad file"):
        ranges.read_at(fd, 0, out)


def test_threads_read_at_their_own_positions(ranges: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(np.arange(1 << 16, dtype="<u4").tobytes())
    fd = os.open(path, os.O_RDONLY)
    wrong: list[int] = []

    def read(seed: int) -> None:
        for i in np.random.default_rng(seed).integers(0, 1 << 16, 2000).tolist():
            out = np.zeros(1, "<u4")
            ranges.read_at(fd, 4 * i, out)
            if out[0] != i:
                wrong.append(i)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        os.close(fd)
    assert wrong == []


def test_write_at(ranges: Any, tmp_path: Path) -> None:
    fd = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    assert ranges.write_at(fd, 2, np.arange(3, dtype="<i2").reshape(3, 1)) == 6
    assert ranges.write_at(fd, 0, b"") == 0
    assert ranges.write_at(fd, 0, bytearray(b"z")) == 1
    os.close(fd)
    assert (tmp_path / "x").read_bytes() == b"z\0\0\0\1\0\2\0"


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (3 << 20) + 5])
def test_copy_range(ranges: Any, size: int, tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 256, size + 10, np.uint8).tobytes()
    (tmp_path / "a").write_bytes(data)
    source = os.open(tmp_path / "a", os.O_RDONLY)
    target = os.open(tmp_path / "b", os.O_RDWR | os.O_CREAT)
    assert ranges.copy_range(source, 7, target, 3, size) == size
    assert ranges.copy_range(source, size, target, 3 + size, 100) == 10
    os.close(source)
    os.close(target)
    assert (tmp_path / "b").read_bytes() == bytes(3) + data[7 : 7 + size] + data[size:]


def test_copying_where_the_system_cannot_copy_by_itself(ranges: Any, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"")
    source = os.open("/proc/self/status", os.O_RDONLY)
    target = os.open(tmp_path / "b", os.O_RDWR)
    copied = ranges.copy_range(source, 0, target, 0, 100)
    os.close(source)
    os.close(target)
    assert copied == 100
    assert (tmp_path / "b").read_bytes().startswith(b"Name:")
