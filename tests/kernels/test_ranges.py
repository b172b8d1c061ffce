"""Ranges of open files: the compiled functions and those for other systems."""

from __future__ import annotations

import functools
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.kernels.files import portable, ranges as compiled

if os.name == "posix":
    from ds_format.kernels.files.ranges import Fetcher

both = pytest.mark.parametrize("ranges", [compiled, portable], ids=["compiled", "portable"])


def _read_ranges(module: Any, fd: int, offsets_and_sizes: list[tuple[int, int]], outs: list[Any]) -> int:
    offsets, sizes = np.array(offsets_and_sizes, np.int64).reshape(-1, 2).T.copy()
    return int(module.read_ranges(fd, offsets, sizes, outs))


@both
def test_read_at_and_ranges(ranges: Any, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(range(100)))
    fd = os.open(path, os.O_RDONLY)
    out = np.zeros(10, np.uint8)
    assert ranges.read_at(fd, 90, out) == 10
    assert out.tolist() == list(range(90, 100))
    assert ranges.read_at(fd, 95, out) == 5
    assert ranges.read_at(fd, 200, out) == 0
    read_ranges = functools.partial(_read_ranges, ranges, fd)
    assert read_ranges([(50, 3), (0, 0), (0, 3), (50, 3)], [out[:9]]) == 9
    assert out[:9].tolist() == [50, 51, 52, 0, 1, 2, 50, 51, 52]
    assert read_ranges([(7, 1), (20, 4), (3, 2), (0, 0)], [out[:5], out[5:5], out[8:]]) == 7
    assert out.tolist() == [7, 20, 21, 22, 23, 2, 50, 51, 3, 4]
    assert read_ranges([(0, 3), (98, 3), (0, 1)], [out[:3], out[3:7]]) == 5
    assert read_ranges([], []) == read_ranges([(5, 0)], [out[:0]]) == 0
    for wrong in ([(0, 3)], [(0, 8), (0, 3)], [(0, 10), (0, 1)], [(0, 12), (0, -2)], []):
        with pytest.raises(ValueError, match="ranges do not fill 1 buffers"):
            read_ranges(wrong, [out])
    with pytest.raises(ValueError, match="1 offsets for 0 sizes"):
        ranges.read_ranges(fd, np.zeros(1, np.int64), np.zeros(0, np.int64), [])
    with pytest.raises((BufferError, TypeError)):
        read_ranges([(0, 3)], [b"abc"])
    os.close(fd)
    with pytest.raises(OSError, match="Bad file"):
        ranges.read_at(fd, 0, out)


@both
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


@both
def test_write_at(ranges: Any, tmp_path: Path) -> None:
    fd = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    assert ranges.write_at(fd, 2, np.arange(3, dtype="<i2").reshape(3, 1)) == 6
    assert ranges.write_at(fd, 0, b"") == 0
    assert ranges.write_at(fd, 0, bytearray(b"z")) == 1
    os.close(fd)
    assert (tmp_path / "x").read_bytes() == b"z\0\0\0\1\0\2\0"


@both
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


@both
def test_copying_where_the_system_cannot_copy_by_itself(ranges: Any, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"")
    source = os.open("/proc/self/status", os.O_RDONLY)
    target = os.open(tmp_path / "b", os.O_RDWR)
    copied = ranges.copy_range(source, 0, target, 0, 100)
    os.close(source)
    os.close(target)
    assert copied == 100
    assert (tmp_path / "b").read_bytes().startswith(b"Name:")


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path / "x", os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


@both
def test_reserve(ranges: Any, fd: int) -> None:
    ranges.reserve(fd, 0, 1 << 20)
    ranges.reserve(fd, 0, 0)
    assert os.fstat(fd).st_size == 0
    ranges.reserve(-1, 0, 1 << 20)


@both
def test_extend(ranges: Any, fd: int) -> None:
    os.pwrite(fd, b"abc", 0)
    ranges.extend(fd, 0)
    ranges.extend(fd, 2)
    assert os.fstat(fd).st_size == 3
    ranges.extend(fd, 10_000)
    ranges.extend(fd, 5_000)
    assert os.pread(fd, 20_000, 0) == b"abc" + bytes(9_997)
    with pytest.raises(OSError, match="Bad file"):
        ranges.extend(-1, 1)


@both
def test_extend_says_that_there_is_no_room(ranges: Any, fd: int) -> None:
    limits, old = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            ranges.extend(fd, 10_001)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    assert os.fstat(fd).st_size == 0


@both
def test_extend_what_has_no_size(ranges: Any) -> None:
    ends = os.pipe()
    with pytest.raises(OSError, match=r"Illegal seek|Invalid argument|a pipe or a device, expected a file"):
        ranges.extend(ends[1], 1)
    for end in ends:
        os.close(end)


@both
def test_write_ranges(ranges: Any, fd: int) -> None:
    assert ranges.write_ranges(fd, np.array([4, 0], np.int64), 2, b"abcd") == 4
    assert os.pread(fd, 10, 0) == b"cd\0\0ab"
    assert ranges.write_ranges(fd, np.array([1], np.int64), 2, np.array([[1]], "<i2")) == 2
    assert os.pread(fd, 10, 0) == b"c\1\0\0ab"
    assert ranges.write_ranges(fd, np.array([], np.int64), 3, b"") == 0
    assert ranges.write_ranges(fd, np.array([100, 200], np.int64), 0, np.empty((0, 3))) == 0
    assert os.fstat(fd).st_size == 6


@both
@pytest.mark.parametrize(("n", "size"), [(1, 3), (2, 3), (3, 2), (1, -4), (0, 4)])
def test_a_buffer_of_another_size(ranges: Any, n: int, size: int, fd: int) -> None:
    with pytest.raises(ValueError, match=f"{n} ranges of {size} bytes do not take 4 bytes"):
        ranges.write_ranges(fd, np.zeros(n, np.int64), size, b"abcd")
    assert os.fstat(fd).st_size == 0


@both
def test_errors_of_the_system(ranges: Any, fd: int) -> None:
    with pytest.raises(OSError, match="Bad file"):
        ranges.write_ranges(-1, np.array([0], np.int64), 1, b"a")
    limits, old = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            ranges.write_ranges(fd, np.array([0, 3, 6], np.int64), 3, b"abcdefghi")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, old)
    assert os.pread(fd, 10, 0) == b"abcde"  # what fitted of the second range, then the error


@both
@given(size=st.integers(0, 5), data=st.data())
def test_beside_numpy(ranges: Any, size: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    places = data.draw(st.lists(st.integers(0, 20), max_size=8, unique=True))
    offsets = np.array(places, np.int64) * max(size, 1)
    content = np.arange(1, 1 + len(places) * size, dtype=np.uint8)
    expected = np.zeros(200, np.uint8)
    for i, offset in enumerate(offsets):
        expected[offset : offset + size] = content[i * size : (i + 1) * size]
    path = tmp_path_factory.getbasetemp() / "ranges"
    path.write_bytes(bytes(200))
    opened = os.open(path, os.O_WRONLY)
    assert ranges.write_ranges(opened, offsets, size, content) == content.size
    os.close(opened)
    assert path.read_bytes() == expected.tobytes()


needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


@pytest.fixture
def samples(tmp_path: Path) -> int:
    (tmp_path / "data").write_bytes(b"aabbbc")
    return os.open(tmp_path / "data", os.O_RDONLY)


@needs_posix
def test_samples(samples: int) -> None:
    offsets = np.array([0, 2, 5, 5, 6], ">u8").tobytes()
    fetcher = Fetcher(samples, offsets, 6)
    assert [fetcher.get(i) for i in range(4)] == [b"aa", b"bbb", b"", b"c"]
    assert fetcher.get(-1) is None
    assert fetcher.get(4) is None
    os.close(samples)
    assert fetcher.get(0) is None


@needs_posix
def test_offsets_that_are_not_to_be_believed(samples: int) -> None:
    offsets = np.array([3, 2, 9, 1 << 63, 5, 6], ">u8").tobytes()
    fetcher = Fetcher(samples, offsets, 6)
    assert [fetcher.get(i) for i in range(5)] == [None, None, None, None, b"c"]
    assert Fetcher(samples, np.array([0, 7], ">u8").tobytes(), 7).get(0) is None
    for wrong in (b"", b"1234567"):
        with pytest.raises(ValueError, match="offsets"):
            Fetcher(samples, wrong, 6)
    os.close(samples)
