"""The reader: samples by index and key and in a row, its cursor, its errors, and its use by threads and processes."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from ds_format.body import body
from ds_format.datadings import messages, reader as reader_module
from ds_format.datadings.reader import MsgpackReader
from ds_format.errors import FormatError, IntegrityError, MissingError, TruncatedError, UnsafeError

from .made import GOLDEN, values, write, write_numbers

N = 100


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_numbers(tmp_path_factory.mktemp("reader") / "data.msgpack", N)


@pytest.fixture(params=[False, True], ids=["pread", "mmap"])
def reader(path: Path, request: pytest.FixtureRequest) -> Iterator[MsgpackReader]:
    with MsgpackReader(path, mmap=request.param) as opened:
        yield opened


def test_get_by_index(reader: MsgpackReader) -> None:
    assert len(reader) == N
    for i in range(N):
        expected = {"key": f"k{i}", "v": i, "b": bytes(i % 50)}
        assert reader.get(i) == reader.get(i - N) == reader[i] == reader[np.int64(i - N)] == expected
        assert reader.get(i, yield_key=True) == (f"k{i}", expected)
        assert reader.get(i, raw=True) == reader.get(i, raw=True, copy=False) == msgpack.packb(expected)
        assert reader.get(i - N, yield_key=True, raw=True) == (f"k{i}", msgpack.packb(expected))
    assert type(reader.get(3, raw=True)) is bytes
    assert type(reader.get(3, raw=True, copy=False)) is memoryview


@pytest.mark.parametrize("index", [N, -N - 1, 1 << 70])
def test_indices_out_of_range(reader: MsgpackReader, index: int) -> None:
    for use in (reader.get, reader.find_key, reader.seek, reader.__getitem__):
        with pytest.raises(IndexError, match=r"data\.msgpack: index .* for 100 samples"):
            use(index)
    for no_index in (1.0, "k1", None):
        with pytest.raises(TypeError):
            reader[no_index]


@pytest.mark.parametrize("chunk_size", [None, 1, 7, 1000])
@pytest.mark.parametrize(("start", "stop"), [(None, None), (5, 9), (0, 0), (5, 3), (-4, None), (N, None), (-500, 500)])
def test_parts_mean_what_slices_of_lists_mean(
    reader: MsgpackReader, start: int | None, stop: int | None, chunk_size: int | None
) -> None:
    expected = list(range(N))[start:stop]
    assert values(reader.iter(start, stop, chunk_size=chunk_size)) == expected
    assert values(reader.slice(start, stop)) == values(reader[start:stop]) == expected
    for step in (-3, -1, 2):
        assert values(reader[start:stop:step]) == list(range(N))[start:stop:step]
    pairs = list(reader.iter(start, stop, yield_key=True, raw=True, copy=False, chunk_size=chunk_size))
    assert pairs == [(f"k{i}", reader.get(i, raw=True)) for i in expected]
    assert all(type(message) is memoryview for _, message in pairs)


def test_take(reader: MsgpackReader) -> None:
    assert values(reader.take([3, -1, 3])) == [3, N - 1, 3]
    assert values(reader.take(range(-2, 2))) == [N - 2, N - 1, 0, 1]
    with pytest.raises(IndexError):
        list(reader.take(range(N - 1, N + 1)))


def test_blocks_of_any_size_give_the_same(reader: MsgpackReader, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(reader.rawiter(yield_key=True))
    for size in (0, 1, 40, 200, 1 << 30):
        monkeypatch.setattr(reader_module, "READ_SIZE", size)
        assert list(reader.rawiter(yield_key=True)) == expected


def test_lookup_by_key(reader: MsgpackReader) -> None:
    for i in range(N):
        assert f"k{i}" in reader
        assert reader.find_index(f"k{i}") == i
        assert reader.find_key(i) == reader.find_key(i - N) == f"k{i}"
        assert reader.find(f"k{i}")["v"] == i
    for key in ("", "k100", "k\ud800", 5, None, b"k1"):
        assert key not in reader
        for look_up in (reader.find_index, reader.find, reader.seek_key):
            with pytest.raises(MissingError) as caught:
                look_up(key)
            assert isinstance(caught.value, KeyError)
            assert "data.msgpack" in str(caught.value)


def test_each_iteration_begins_at_the_start(reader: MsgpackReader) -> None:
    for sample in reader:
        if sample["v"] == 3:
            break
    reader.seek(50)
    assert values(reader) == values(reader.iter(0, N)) == values(reader) == list(range(N))
    one, two = iter(reader), iter(reader)
    assert [(next(one)["v"], next(two)["v"]) for _ in range(20)] == [(i, i) for i in range(20)]
    assert reader.tell() == 50


def test_the_cursor(reader: MsgpackReader) -> None:
    assert [reader.next()["v"], next(reader)["v"], msgpack.unpackb(reader.rawnext())["v"]] == [0, 1, 2]
    list(reader.iter(5, 8))
    assert reader.next()["v"] == 3
    reader.seek_key("k7")
    assert [reader.tell(), reader.next()["v"], reader.next()["v"]] == [7, 7, 8]
    reader.seek_index(-1)
    assert reader.next()["v"] == N - 1
    for use in (reader.next, reader.rawnext):
        with pytest.raises(StopIteration):
            use()
    assert reader.tell() == N


def test_empty_dataset(tmp_path: Path) -> None:
    path = write(tmp_path / "data.msgpack", {})
    for mmap in (False, True):
        reader = MsgpackReader(path, mmap=mmap)
        assert len(reader) == 0
        assert list(reader) == list(reader[:]) == list(reader.iter(0)) == list(reader.rawiter()) == []
        assert "" not in reader
        for use in (reader.get, reader.seek, reader.find_key):
            with pytest.raises(IndexError):
                use(0)
        with pytest.raises(StopIteration):
            reader.next()


def test_arrays_can_be_changed_if_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "data.msgpack", {"a": messages.pack({"key": "a", "x": np.arange(3)})})
    reader = MsgpackReader(path)
    assert not reader[0]["x"].flags.writeable
    writable = MsgpackReader(path, 0, writable=True)
    for sample in (writable[0], *writable, copy.copy(writable)[0], pickle.loads(pickle.dumps(writable))[0]):
        sample["x"][0] = 9
        assert sample["x"].tolist() == [9, 1, 2]
    assert writable[0]["x"].tolist() == [0, 1, 2]


def test_a_closed_reader_opens_again(path: Path) -> None:
    with MsgpackReader(path) as reader:
        left = iter(reader)
        next(left)
    assert reader._opened is None
    assert len(reader) == N
    assert values(left) == list(range(1, N))
    assert reader.find_index("k3") == 3
    reader.close()
    reader.close()


def test_copies(reader: MsgpackReader) -> None:
    reader.seek(3)
    reader.get(0)
    for clone in (copy.copy(reader), copy.deepcopy(reader), pickle.loads(pickle.dumps(reader))):
        assert clone.next()["v"] == 3
        clone.close()
        assert values(clone) == list(range(N))
    assert reader.next()["v"] == 3


@pytest.mark.parametrize("positional", [True, False])
def test_threads_share_a_reader(reader: MsgpackReader, positional: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not positional:
        monkeypatch.setattr(body, "pread", body._pread)
    wrong: list[Any] = []

    def use(seed: int) -> None:
        order = np.random.default_rng(seed).integers(-N, N, 1500).tolist()
        for i in order:
            key, sample = reader.get(i, yield_key=True)
            if sample["v"] != i % N or key != sample["key"] or reader.find_index(key) != i % N:
                wrong.append((i, sample))
            if i == 0:
                reader.close()
        if values(reader) != list(range(N)):
            wrong.append(seed)

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_share_a_reader(reader: MsgpackReader) -> None:
    reader.get(0)
    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            right = all(reader.get(i)["v"] == i for _ in range(20) for i in range(N)) and values(reader) == [*range(N)]
            os._exit(0 if right else 1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]


def test_reads_that_return_less_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux reads 2 GiB at once at most."""
    reader = MsgpackReader(path)
    expected = list(reader.rawiter())
    monkeypatch.setattr(body, "pread", lambda fd, size, offset: os.pread(fd, min(size, 7), offset))
    assert list(reader.rawiter()) == [reader.get(i, raw=True) for i in range(N)] == expected


def test_a_dataset_that_is_replaced_stays_as_it_was_opened(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "data.msgpack", 10)
    for mmap in (False, True):
        reader = MsgpackReader(path, mmap=mmap)
        write_numbers(tmp_path / "new.msgpack", 9, 100)
        for suffix in ("", ".offsets", ".keys"):
            Path(f"{tmp_path}/new.msgpack{suffix}").rename(f"{path}{suffix}")
        assert values(reader) == list(range(10))
        left = iter(reader)
        reader.close()
        assert values(left) == list(range(10))
        with pytest.raises(FormatError, match=r"data\.msgpack: another dataset of 9 samples, expected 10"):
            reader.get(0)
        write_numbers(path, 10)


def test_a_file_that_shrinks_is_noticed(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "data.msgpack", 10)
    reader = MsgpackReader(path)
    os.truncate(path, path.stat().st_size - 1)
    assert reader.get(8)["v"] == 8
    for use in (lambda: reader.get(9, raw=True), lambda: list(reader.rawiter()), lambda: reader.get(9)):
        with pytest.raises(TruncatedError, match=r"data\.msgpack: .*ends at byte \d+, expected bytes \d+ to \d+"):
            use()


def test_absent_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x\.msgpack"):
        MsgpackReader(tmp_path / "x.msgpack")
    path = write_numbers(tmp_path / "data.msgpack", 3)
    Path(f"{path}.keys").unlink()
    assert [MsgpackReader(path).find_index(f"k{i}") for i in range(3)] == [0, 1, 2]
    Path(f"{path}.offsets").unlink()
    with pytest.raises(FileNotFoundError, match="offsets"):
        MsgpackReader(path)


def test_damaged_samples_are_named_and_the_others_readable() -> None:
    reader = MsgpackReader(GOLDEN / "corrupt" / "data_invalid_msgpack" / "data.msgpack")
    with pytest.raises(FormatError, match=r"data\.msgpack: sample 2 at bytes 31 to 48: ") as caught:
        reader.get(2)
    assert caught.value.path == reader.path
    assert values(reader.take([0, 1, 3, 4, 5])) == [0, 1, 3, 4, 5]
    samples = reader.iter()
    assert values([next(samples), next(samples)]) == [0, 1]
    with pytest.raises(FormatError, match="sample 2 at bytes 31 to 48"):
        next(samples)
    assert len(list(reader.rawiter())) == 6


def test_nothing_is_unpickled(capsys: pytest.CaptureFixture[str]) -> None:
    reader = MsgpackReader(GOLDEN / "corrupt" / "ndarray_pickle_canary" / "data.msgpack")
    with pytest.raises(UnsafeError, match="sample 1 "):
        list(reader)
    assert "CANARY" not in capsys.readouterr().out


def test_a_sample_found_by_key_has_this_key() -> None:
    reader = MsgpackReader(GOLDEN / "corrupt" / "keys_disagree_with_samples" / "data.msgpack")
    assert reader.find_index("k0") == 5
    with pytest.raises(IntegrityError, match="sample 5: found the key 'k5', the index says 'k0'"):
        reader.find("k0")
    reader.seek_key("k0")
    with pytest.raises(IntegrityError, match="sample 5"):
        reader.next()
    assert reader.tell() == 5
    assert reader.get(5)["key"] == "k5"


def test_samples_need_not_know_their_keys() -> None:
    reader = MsgpackReader(GOLDEN / "21_rawwriter" / "data.msgpack")
    assert [reader.find(key) for key in ("no_key_inside", "int_message", "list_message")] == [{"v": 2}, 5, [1, 2]]


def test_names_of_index_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keys"):
        MsgpackReader(tmp_path / "data.keys")
