"""Regions of open files: the compiled functions and those for other systems."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.kernels.files import portable
from ds_format.kernels.files import regions as compiled

pytestmark = pytest.mark.parametrize("regions", [compiled, portable], ids=["compiled", "portable"])


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


def test_reserve(regions: Any, fd: int) -> None:
    regions.reserve(fd, 0, 1 << 20)
    regions.reserve(fd, 0, 0)
    assert os.fstat(fd).st_size == 0
    regions.reserve(-1, 0, 1 << 20)


def test_extend(regions: Any, fd: int) -> None:
    os.pwrite(fd, b"abc", 0)
    regions.extend(fd, 0)
    regions.extend(fd, 2)
    assert os.fstat(fd).st_size == 3
    regions.extend(fd, 10_000)
    regions.extend(fd, 5_000)
    assert os.pread(fd, 20_000, 0) == b"abc" + bytes(9_997)
    with pytest.raises(OSError, match="Bad file"):
        regions.extend(-1, 1)


def test_extend_says_that_there_is_no_room(regions: Any, fd: int) -> None:
    limits, old = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            regions.extend(fd, 10_001)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    assert os.fstat(fd).st_size == 0


def test_extend_what_has_no_size(regions: Any) -> None:
    ends = os.pipe()
    with pytest.raises(OSError, match=r"Illegal seek|Invalid argument"):
        regions.extend(ends[1], 1)
    for end in ends:
        os.close(end)


def test_write_ranges(regions: Any, fd: int) -> None:
    assert regions.write_ranges(fd, np.array([4, 0], np.int64), 2, b"abcd") == 4
    assert os.pread(fd, 10, 0) == b"cd\0\0ab"
    assert regions.write_ranges(fd, np.array([1], np.int64), 2, np.array([[1]], "<i2")) == 2
    assert os.pread(fd, 10, 0) == b"c\1\0\0ab"
    assert regions.write_ranges(fd, np.array([], np.int64), 3, b"") == 0
    assert regions.write_ranges(fd, np.array([100, 200], np.int64), 0, np.empty((0, 3))) == 0
    assert os.fstat(fd).st_size == 6


@pytest.mark.parametrize(("n", "size"), [(1, 3), (2, 3), (3, 2), (1, -4), (0, 4)])
def test_a_buffer_of_another_size(regions: Any, n: int, size: int, fd: int) -> None:
    with pytest.raises(ValueError, match=f"{n} ranges of {size} bytes do not take 4 bytes"):
        regions.write_ranges(fd, np.zeros(n, np.int64), size, b"abcd")
    assert os.fstat(fd).st_size == 0


def test_errors_of_the_system(regions: Any, fd: int) -> None:
    with pytest.raises(OSError, match="Bad file"):
        regions.write_ranges(-1, np.array([0], np.int64), 1, b"a")
    limits, old = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            regions.write_ranges(fd, np.array([0, 3, 6], np.int64), 3, b"abcdefghi")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    assert os.pread(fd, 10, 0) == b"abcde"  # what fitted of the second range, then the error


@given(size=st.integers(0, 5), data=st.data())
def test_beside_numpy(regions: Any, size: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    places = data.draw(st.lists(st.integers(0, 20), max_size=8, unique=True))
    offsets = np.array(places, np.int64) * max(size, 1)
    content = np.arange(1, 1 + len(places) * size, dtype=np.uint8)
    expected = np.zeros(200, np.uint8)
    for i, offset in enumerate(offsets):
        expected[offset : offset + size] = content[i * size : (i + 1) * size]
    path = tmp_path_factory.getbasetemp() / "ranges"
    path.write_bytes(bytes(200))
    opened = os.open(path, os.O_WRONLY)
    assert regions.write_ranges(opened, offsets, size, content) == content.size
    os.close(opened)
    assert path.read_bytes() == expected.tobytes()
