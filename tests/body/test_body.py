"""Bytes at positions: all bodies give the same, and none gives bytes of another file."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.body import body as bodies, sync_file
from ds_format.body.body import Body, FileBody, MemoryBody, OutputBody, Stream, open_body
from ds_format.body.lock import Lock
from ds_format.body.mapped import mapped, open_mapped
from ds_format.body.target import Target
from ds_format.drivers.ds.source import DsSource
from ds_format.errors import BusyError, DsError, TruncatedError
from ds_format.kernels.files import ranges
from tests.descriptors import n_open, needs_proc

SIZE = 5000
DATA = bytes(np.random.default_rng(1).integers(0, 256, SIZE, "u1"))
KINDS: dict[str, Callable[[str], Body]] = {
    "file": FileBody.open,
    "its first bytes read": lambda path: open_body(path, 100),
    "in memory": open_body,
    "mapped": open_mapped,
    "mapped to be changed": lambda path: mapped(FileBody.open(path)),
}


@pytest.fixture(params=KINDS)
def body(request: pytest.FixtureRequest, tmp_path: Path) -> Body:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    return KINDS[request.param](str(path))


@pytest.fixture(scope="module")
def all_bodies(tmp_path_factory: pytest.TempPathFactory) -> list[Body]:
    path = tmp_path_factory.mktemp("body") / "a"
    path.write_bytes(DATA)
    return [make(str(path)) for make in KINDS.values()]


@given(st.data())
def test_all_verbs_give_the_same_bytes(all_bodies: list[Body], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, SIZE))
    size = data.draw(st.integers(0, SIZE - start))
    offset = data.draw(st.integers(0, size))
    n = data.draw(st.integers(0, size - offset))
    expected = DATA[start : start + size]
    for whole in all_bodies:
        part = whole.section(start, size)
        assert part.size == size
        assert bytes(part.read(offset, n)) == expected[offset : offset + n]
        out = bytearray(n)
        part.read_into(offset, out)
        assert out == expected[offset : offset + n]
        assert bytes(part.head(n)) == expected[:n]
        assert bytes(part.section(offset).read(0, 0)) == b""
        assert part.section(offset).size == size - offset
        starts = data.draw(st.lists(st.integers(0, size), max_size=5))
        found = [(i, data.draw(st.integers(0, size - i))) for i in starts]
        n_first = data.draw(st.integers(0, len(found)))
        outs = [bytearray(sum(n for _, n in some)) for some in (found[:n_first], found[n_first:])]
        offsets, sizes = np.array(found, np.int64).reshape(-1, 2).T.copy()
        part.ranges(offsets, sizes, outs)
        assert b"".join(outs) == b"".join(expected[i : i + n] for i, n in found)
        stream = Stream(part)
        stream.seek(offset)
        assert stream.read(n) == expected[offset : offset + n]
        assert stream.tell() == offset + n


def test_what_is_not_there(body: Body) -> None:
    for call in (
        lambda: body.read(SIZE - 1, 2),
        lambda: body.read_into(SIZE - 1, bytearray(2)),
        lambda: body.ranges(np.array([0, SIZE - 1, 0]), np.array([3, 2, 5]), [bytearray(3), bytearray(7)]),
        lambda: body.section(10).read(SIZE - 11, 2),
    ):
        with pytest.raises(
            TruncatedError, match=rf"a: the file ends at byte {SIZE}, expected bytes {SIZE - 1} to {SIZE + 1}"
        ):
            call()
    assert bytes(body.head(SIZE + 1)) == DATA


def test_reads_that_return_less_are_continued(body: Body, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux reads 2 GiB at once at most."""
    monkeypatch.setattr(bodies, "pread", lambda fd, size, offset: os.pread(fd, min(size, 7), offset))
    assert bytes(body.read(10, 100)) == DATA[10:110]


def test_the_first_bytes_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    body = open_body(path, 100)
    calls: list[tuple[int, int]] = []
    read_at = ranges.read_at

    def counted(fd: int, offset: int, buffer: Any) -> int:
        calls.append((offset, memoryview(buffer).nbytes))
        return read_at(fd, offset, buffer)

    monkeypatch.setattr(ranges, "read_at", counted)
    assert bytes(body.head(50)) == DATA[:50]
    assert calls == []
    assert bytes(body.head(300)) == DATA[:300]
    assert bytes(body.head(200)) == DATA[:200]
    assert calls == [(100, 200)]


def test_a_changed_map_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    body = mapped(FileBody.open(path))
    body.read(0, 3)[:] = b"abc"
    assert bytes(body.read(0, 3)) == b"abc"
    assert path.read_bytes() == DATA


@needs_proc
def test_a_file_is_closed_when_nobody_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    part = FileBody.open(path).section(10, 20)
    assert n_open(path) == 1
    assert part.read(0, 3) == DATA[10:13]
    watch = part.watch
    del part
    watch.check()
    del watch
    assert not n_open(path)


def test_memory_in_other_memory() -> None:
    body = MemoryBody("x", bytearray(b"0123456789"), 3, size=4)
    assert bytes(body.read(1, 3)) == b"456"
    with pytest.raises(TruncatedError, match="x: the file ends at byte 7, expected bytes 6 to 8"):
        body.read(3, 2)


def test_a_source_that_is_closed_during_a_read_gives_no_values_of_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The descriptor must stay open as long as a thread reads: its number may be that of another file by then."""
    for value in (1.0, 2.0):
        ds.write(tmp_path / f"{value}.ds", {"x": np.full(200_000, value)})
    source = DsSource(tmp_path / "1.0.ds")
    read_at = ranges.read_at
    others: list[int] = []

    def close_and_read(fd: int, offset: int, buffer: Any) -> int:
        if not others:
            closing = threading.Thread(target=source.close)
            closing.start()
            closing.join()
            others.append(os.open(tmp_path / "2.0.ds", os.O_RDONLY))
        return read_at(fd, offset, buffer)

    source.variable("x")
    monkeypatch.setattr(ranges, "read_at", close_and_read)
    try:
        assert set(source.read("x").tolist()) == {1.0}
    finally:
        for fd in others:
            os.close(fd)
    with pytest.raises(OSError, match="descriptor"):
        source.read("x")


@given(st.integers(0, SIZE), st.integers(1, SIZE))
def test_blocks(all_bodies: list[Body], start: int, size: int) -> None:
    for body in all_bodies:
        blocks = list(body.blocks(start, size))
        assert b"".join(blocks) == DATA[start:] and {type(block) for block in blocks} <= {bytes}
        assert all(len(block) == size for block in blocks[:-1])


def test_which_bodies_are_in_a_file(body: Body) -> None:
    where = body.section(10, 5).in_file()
    assert body.is_in_memory == body.section(10, 5).is_in_memory == (where is None)
    if where is not None:
        assert os.pread(where[0], 5, where[1]) == DATA[10:15]
    assert (where is None) == (body.memory is not None)


def test_a_file_that_is_cut_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(300_000))
    body = FileBody.open(path)
    os.truncate(path, 1000)
    for call in (
        lambda: body.read(240_074, 10),
        lambda: body.read_into(240_074, bytearray(10)),
        lambda: body.ranges(np.array([0, 240_074]), np.array([5, 10]), [bytearray(15)]),
        lambda: body.section(240_000).read(74, 10),
        lambda: OutputBody.create(str(tmp_path / "b")).copy(body, 240_074, 10, 0),
    ):
        with pytest.raises(TruncatedError, match="a: the file ends at byte 1000, expected bytes 240074 to 240084"):
            call()
    with pytest.raises(TruncatedError, match="a: the file ends at byte 1000, expected bytes 990 to 1010"):
        body.read(990, 20)


def test_what_is_behind_the_end_of_memory() -> None:
    with pytest.raises(TruncatedError, match="x: the file ends at byte 10, expected bytes 20 to 21"):
        MemoryBody("x", bytes(10)).section(5).read(15, 1)


def test_what_is_asked_of_an_open_file_is_new(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    body, part = FileBody.open(path), FileBody.open(path).section(10, 20)
    assert body.current_stamp() == body.watch.stamp
    assert (body.current_size(), part.current_size()) == (SIZE, SIZE - 10)
    os.truncate(path, 100)
    assert (body.size, body.current_size(), part.current_size()) == (SIZE, 100, 90)
    assert body.current_stamp() != body.watch.stamp
    assert MemoryBody("x", b"abc").section(1).current_size() == 2


def test_writing_only(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(FileNotFoundError):
        OutputBody.open_write_only(str(path))
    path.write_bytes(DATA[:6])
    file = OutputBody.open_write_only(str(path))
    assert file.write(6, b"abc") == 3
    file.write_ranges(np.array([0, 4]), 2, b"1234")
    file.extend(20)
    file.extend(10)
    assert path.read_bytes() == b"12" + DATA[2:4] + b"34abc" + bytes(11)
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        file.read(0, 1)
    with pytest.raises(DsError, match="b: its bytes are not in a file on this machine"):
        file.copy(MemoryBody("b", b"xyz"), 0, 3, 0)
    file.close()


def test_a_closed_file_writes_to_no_other_one(tmp_path: Path) -> None:
    file = OutputBody.create(str(tmp_path / "a"))
    number = file.fd
    file.close()
    with open(tmp_path / "b", "wb") as other:
        assert other.fileno() == number
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
            file.write(0, b"x")
    assert (tmp_path / "b").read_bytes() == b""


def test_space_at_the_end_of_a_target(tmp_path: Path) -> None:
    target = Target(tmp_path / "a")
    target.open().close()
    target.ask_for_space(1000)
    assert os.path.getsize(target.written) in (0, 1000)
    target.abort()
    assert list(tmp_path.iterdir()) == []


def test_writing(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    file = OutputBody.create(path, 0o400)
    assert os.stat(path).st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        OutputBody.create(path)
    file.write(0, DATA[:10])
    file.copy(FileBody.open(__file__), 3, 5, 10)
    assert file.read(0, 15) == DATA[:10] + Path(__file__).read_bytes()[3:8]
    file.truncate(12)
    file.sync()
    (tmp_path / "b").write_bytes(DATA[:12])
    with pytest.raises(TruncatedError, match="b: the file ends at byte 12, expected bytes 2 to 102"):
        file.copy(FileBody.open(tmp_path / "b"), 2, 100, 12)
    file.close()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        file.write(0, b"x")
    again = OutputBody.open(path)
    again.write(again.size, b"x")
    sync_file(path)
    assert again.size >= 12 and Path(path).read_bytes()[again.size :] == b"x"


def test_a_lock_in_a_folder_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    first = Lock(str(folder / "a"), "a", in_own_folder=True)
    with pytest.raises(BusyError):
        Lock(str(folder / "a"), "a", in_own_folder=True)
    second = Lock(str(folder / "b"), "b", in_own_folder=True)
    second.release(remove=True)
    assert [path.name for path in folder.iterdir()] == ["a"]
    first.release(remove=True)
    assert not folder.exists()
