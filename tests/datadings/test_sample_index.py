"""The index: lazy, exact, shared by threads, and good without its optional parts; and the data file alone.

The data are read in windows that are smaller than the file, and than some of its messages.
"""

from __future__ import annotations

import os
import pickle
import threading
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given, strategies as st

from ds_format.body.body import Body, FileBody
from ds_format.datadings import dataset_files, format, index_files, messages, sample_index
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.writer import FileWriter, RawWriter, reindex
from ds_format.errors import FormatError, MissingError, TruncatedError, UnsupportedError
from tests.descriptors import n_open

from .made import write_numbers

N = 50_000
NAMED = st.builds(lambda i, size: {"x": b"x" * size, "key": f"k{i}"}, st.integers(), st.integers(0, 300))
SAMPLES = st.lists(st.one_of(NAMED, NAMED, st.just({"x": 1}), st.just({"key": 5})), max_size=20)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files that do not fit one another be wrong at once, not after a second."""
    monkeypatch.setattr(dataset_files, "PATIENCE", 0)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.msgpack"
    with RawWriter(path) as writer:
        for i in range(N):
            writer.write(f"key {i}", msgpack.packb({"key": f"key {i}", "v": i}))
    return path


def copy(path: Path, folder: Path, *suffixes: str) -> Path:
    for suffix in ("", *suffixes):
        (folder / (path.name + suffix)).write_bytes(Path(f"{path}{suffix}").read_bytes())
    return folder / path.name


def test_lookups_before_and_after_the_table(large: Path) -> None:
    found = SampleIndex(large)
    for i in range(0, N, N // 40):
        assert found.find(f"key {i}") == i
        assert f"key {i}" in found and f"no {i}" not in found
        assert found.key(i) == f"key {i}"
    assert found.keys(100, 103) == ["key 100", "key 101", "key 102"]
    assert found.keys(5, 5) == []
    assert len(found.keys()) == N
    for key in (5, None, b"key 1", ("key 1",), "\ud800", ""):
        assert key not in found
        with pytest.raises(MissingError, match="no sample with the key"):
            found.find(key)  # type: ignore[arg-type]


def test_places(large: Path) -> None:
    found = SampleIndex(large)
    assert found.bounds(0) == (0, len(msgpack.packb({"key": "key 0", "v": 0})))
    assert found.bounds(N - 1)[1] == found.size == large.stat().st_size
    assert found.spans(3, 5) == [found.bounds(3)[0], found.bounds(4)[0], found.bounds(4)[1]]
    assert found.spans(N, N) == [found.size]
    for i in (-1, N):
        for call in (found.bounds, found.key):
            with pytest.raises(IndexError, match=f"no sample {i} among {N}"):
                call(i)
    for bounds in ((-1, 2), (3, 2), (0, N + 1)):
        with pytest.raises(IndexError):
            found.spans(*bounds)
        with pytest.raises(IndexError):
            found.keys(*bounds)


def test_little_memory_is_taken_beside_the_files(large: Path) -> None:
    size = sum(os.path.getsize(f"{large}{suffix}") for suffix in format.INDEX)
    SampleIndex(large).find("key 7")
    tracemalloc.start()
    try:
        found = SampleIndex(large)
        assert tracemalloc.get_traced_memory()[1] < size + 100_000
        assert f"key {N - 1}" in found and found.bounds(N // 2)
        assert tracemalloc.get_traced_memory()[1] < size + 400_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("absent", [*format.INDEX[1:], format.MD5])
def test_optional_parts_are_made_silently(large: Path, tmp_path: Path, absent: str) -> None:
    path = copy(large, tmp_path, *(suffix for suffix in format.INDEX if suffix != absent))
    found = SampleIndex(path)
    for i in range(0, N, N // 30):
        assert f"key {i}" in found and "none" not in found
        assert found.find(f"key {i}") == i
    assert found.key(17) == "key 17"


def test_offsets_alone_are_enough(large: Path, tmp_path: Path) -> None:
    found = SampleIndex(copy(large, tmp_path, format.OFFSETS))
    assert found.find("key 77") == 77 and found.keys(1, 2) == ["key 1"]


def test_keys_of_samples_that_are_elsewhere(large: Path, tmp_path: Path) -> None:
    path = copy(large, tmp_path, format.OFFSETS)
    offsets = Path(f"{path}.offsets")
    data = bytearray(offsets.read_bytes())
    data[8 * 5 + 7] ^= 1
    offsets.write_bytes(data)
    with pytest.raises(FormatError, match="sample 4 is not where the index says"):
        SampleIndex(path).key(4)
    with pytest.raises(FormatError, match="samples are not where the index says"):
        SampleIndex(path).keys()


@pytest.mark.parametrize("filtered", [True, False])
def test_looking_up_a_key_without_keys_does_not_read_all(
    filtered: bool, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffixes = [format.OFFSETS, format.KEY_HASHES] + [format.FILTER] * filtered
    path = copy(large, tmp_path, *suffixes)
    index_ = SampleIndex(path)
    read: list[int] = []
    key_of = sample_index.scan_key

    def noted(file: Body, path: str, i: int, start: int, stop: int) -> str:
        read.append(i)
        return key_of(file, path, i, start, stop)

    monkeypatch.setattr(sample_index, "scan_keys", None)
    monkeypatch.setattr(sample_index, "scan_key", noted)
    for _ in range(20):  # more often than lookups go without a table
        assert "key 70" in index_ and "no 70" not in index_ and "\ud800" not in index_ and 5 not in index_
    assert index_.find("key 71") == 71
    assert index_.key(72) == "key 72"
    assert set(read) == {0, N - 1, 70, 71, 72}


@pytest.mark.parametrize("absent", [(), (format.FILTER,), (format.KEY_HASHES,)])
def test_looking_up_an_absent_key_does_not_read_the_keys(
    absent: tuple[str, ...], large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy(large, tmp_path, *(suffix for suffix in format.INDEX if suffix not in absent))
    monkeypatch.setattr(dataset_files, "SMALL_SIZE", 100)
    read: list[int] = []
    read_file = FileBody.read

    def noted(file: FileBody, offset: int, size: int) -> bytes:
        read.append(size)
        return read_file(file, offset, size)

    monkeypatch.setattr(FileBody, "read", noted)
    keys_size = os.path.getsize(f"{path}.keys")
    index_ = SampleIndex(path)
    for i in range(5):  # without a filter a table is made after 16 lookups, and it needs the keys
        assert f"no {i}" not in index_ and "\ud800" not in index_
        with pytest.raises(MissingError, match=f"no sample with the key 'no {i}'"):
            index_.find(f"no {i}")
    assert keys_size not in read
    assert SampleIndex(path).find("key 70") == 70
    assert (keys_size in read) == (format.KEY_HASHES in absent)
    for i in range(20):
        assert index_.find(f"key {i}") == i
    assert keys_size in read  # for a table of all keys
    assert "no 3" not in index_ and "key 3" in index_


def test_samples_without_their_keys_are_no_fault_of_an_index(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of keys, hashes and filter agree; what samples call themselves is not compared with them here."""
    path = copy(large, tmp_path, *format.INDEX)
    sample = Path(path).read_bytes()
    Path(path).write_bytes(sample.replace(b"key", b"kez"))
    monkeypatch.setattr(dataset_files, "SMALL_SIZE", 100)
    index_ = SampleIndex(path)
    assert "no 3" not in index_ and index_.find("key 3") == 3


def test_hashes_of_other_keys_are_noticed_without_keys(large: Path, tmp_path: Path) -> None:
    path = copy(large, tmp_path, format.OFFSETS, format.KEY_HASHES)
    stored = Path(f"{path}.key_hashes")
    data = bytearray(stored.read_bytes())
    data[8 * 6 : 8 * 7] = data[8 * 71 : 8 * 72]
    stored.write_bytes(data)
    assert "key 70" in SampleIndex(path)
    data[8 * 71 : 8 * 72] = bytes(8)
    stored.write_bytes(data)
    with pytest.raises(FormatError, match="hash 5 is not that of key 5"):
        SampleIndex(path).find("key 70")
    data[8:16] = bytes(8)
    stored.write_bytes(data)
    with pytest.raises(FormatError, match="hash 0 is not that of key 0"):
        SampleIndex(path).find("key 1")


@pytest.mark.parametrize("absent", [(), (format.KEYS,), (format.KEY_HASHES, format.FILTER), (format.MD5,)])
def test_a_reader_warns_of_what_is_missing(absent: tuple[str, ...], large: Path, tmp_path: Path) -> None:
    path = copy(large, tmp_path, *(suffix for suffix in format.INDEX if suffix not in absent))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with MsgpackReader(path) as reader:
            assert len(reader) == N and reader.find("key 7") and "key 7" in reader
        assert len(reader.get(0)) == 2
    names = [suffix for suffix in absent if suffix != format.MD5]
    expected = [f"{path}: {', '.join(names)} not found; their contents are computed"] if names else []
    assert [str(one.message)[: len(expected[0])] for one in caught] == expected


def test_no_index_at_all(large: Path, tmp_path: Path) -> None:
    path = copy(large, tmp_path)
    with pytest.raises(FileNotFoundError, match="reindex") as caught:
        SampleIndex(path)
    assert caught.value.filename == f"{path}.offsets"
    with pytest.raises(FileNotFoundError):
        SampleIndex(tmp_path / "none.msgpack")


@pytest.mark.parametrize("suffix", format.RESERVED)
def test_names_that_clash_with_index_files(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UnsupportedError, match=suffix):
        SampleIndex(tmp_path / f"a{suffix}")
    with pytest.raises(UnsupportedError, match=suffix):
        RawWriter(tmp_path / f"a{suffix}")


def test_an_empty_dataset(tmp_path: Path) -> None:
    with RawWriter(tmp_path / "a"):
        pass
    found = SampleIndex(tmp_path / "a")
    assert len(found) == found.size == 0
    assert found.keys() == [] and "a" not in found and found.spans(0, 0) == [0]


def test_copies_and_closing(large: Path) -> None:
    found = SampleIndex(large)
    assert pickle.loads(pickle.dumps(found)).find("key 9") == 9
    for _ in range(40):
        assert "key 3" in found
    found.close()
    found.close()
    assert found.bounds(3) == SampleIndex(large).bounds(3)
    assert "key 3" in found and found.find("key 4") == 4 and found.key(5) == "key 5"


def test_threads(large: Path) -> None:
    for _ in range(5):
        found = SampleIndex(large)
        wrong: list[object] = []
        start = threading.Barrier(8)

        def work(
            first: int, found: SampleIndex = found, wrong: list[object] = wrong, start: threading.Barrier = start
        ) -> None:
            start.wait()
            try:
                numbers = range(first, N, N // 50)
                wrong.extend(i for i in numbers if found.find(f"key {i}") != i or found.key(i) != f"key {i}")
                wrong.extend(i for i in numbers if f"x{i}" in found)
            except Exception as error:  # noqa: BLE001  told by the thread that waits
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_files_stay_valid_while_they_are_replaced(large: Path, tmp_path: Path) -> None:
    path = copy(large, tmp_path, *format.INDEX)
    found = SampleIndex(path)
    assert found.key(N - 1) == f"key {N - 1}"
    with RawWriter(path, overwrite=True) as writer:
        writer.write("a", b"\x01")
    assert found.key(N - 1) == f"key {N - 1}" and found.find("key 5") == 5
    assert len(SampleIndex(path)) == 1


def damaged(large: Path, folder: Path, suffix: str, data: bytes) -> Path:
    path = copy(large, folder, *format.INDEX)
    Path(f"{path}{suffix}").write_bytes(data)
    return path


def test_hashes_of_a_large_dataset_that_are_wrong(large: Path, tmp_path: Path) -> None:
    stored = bytearray(Path(f"{large}.key_hashes").read_bytes())
    stored[8 * 101 : 8 * 103] = stored[8 * 102 : 8 * 103] + stored[8 * 101 : 8 * 102]
    found = SampleIndex(damaged(large, tmp_path, format.KEY_HASHES, bytes(stored)))
    assert found.find("key 7") == 7
    for _ in range(2):
        with pytest.raises(FormatError, match=r"key_hashes: hash 101 is not that of key 101, 'key 101'; .ds reindex."):
            found.find("key 100")
        for _ in range(20):
            found.find("key 7")


def test_a_salt_that_is_wrong(large: Path, tmp_path: Path) -> None:
    stored = Path(f"{large}.key_hashes").read_bytes()
    with pytest.raises(FormatError, match="hash 0 is not that of key 0"):
        SampleIndex(damaged(large, tmp_path, format.KEY_HASHES, b"saltsalt" + stored[8:])).find("key 100")


def test_a_filter_of_another_dataset(large: Path, tmp_path: Path) -> None:
    other = b"".join(msgpack.packb(f"other {i}") for i in range(N))
    found = SampleIndex(damaged(large, tmp_path, format.FILTER, index_files.encode_filter(other, N)))
    with pytest.raises(FormatError, match="filter: denies key 0, 'key 0'"):
        found.__contains__("key 100")
    assert found.find("key 100") == 100


def test_any_salt_is_taken(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "a", 5000)
    strings = index_files.encode_keys(SampleIndex(path).keys())[3:]
    Path(f"{path}.key_hashes").write_bytes(index_files.encode_hashes(strings, 5000, distinct=False))
    assert SampleIndex(path).find("k4999") == 4999


def test_equal_keys_are_found_at_the_last_one(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "a", 4)
    Path(f"{path}.keys").write_bytes(msgpack.packb(["k0", "k1", "k1", "k3"]))
    assert SampleIndex(path).find("k1") == 2
    with pytest.raises(UnsupportedError, match="two have the same hash under 1000 salts"):
        index_files.encode_hashes(msgpack.packb("a") * 2, 2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("pairs", "kind", "message"),
    [
        ([("a", 0), ("b", 5000)], TruncatedError, "found 24 bytes, but its index has a sample at byte 5000"),
        ([("a", 0), ("b", 24)], TruncatedError, "has a sample at byte 24"),
        ([("a", 0), ("b", -1)], FormatError, "entry 1: found the offset -1"),
        ([("a", 0), ("b", "x")], FormatError, "entry 1: found the offset 'x'"),
        ([("a", 3)], FormatError, "entry 0: found the offset 3"),
        ([(1, 0)], FormatError, "entry 0: found the key 1, expected a string"),
    ],
)
def test_a_legacy_index_that_is_wrong(
    tmp_path: Path, pairs: list[tuple[object, object]], kind: type[Exception], message: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(24))
    head = bytes([0x80 + len(pairs)])
    data = head + b"".join(msgpack.packb(key) + msgpack.packb(start) for key, start in pairs)
    Path(f"{path}.index").write_bytes(data)
    with pytest.raises(kind, match=message):
        SampleIndex(path)
    Path(f"{path}.index").write_bytes(data[:-1])
    with pytest.raises(FormatError):
        SampleIndex(path)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("data", [b"", b"\x90", b"\x01", b"\xc1", b"\x91\xa1a", b"\x82\xa1a"])
def test_a_legacy_index_that_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "a.index").write_bytes(data)
    with pytest.raises(FormatError, match="map of msgpack"):
        SampleIndex(tmp_path / "a")


def test_equal_keys_in_a_legacy_index(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x01\x02")
    (tmp_path / "a.index").write_bytes(b"\x82\xa1k\x00\xa1k\x01")
    found = SampleIndex(tmp_path / "a")
    assert len(found) == 2 and found.bounds(0) == (0, 1) and found.find("k") == 1


def test_few_files_are_kept_open(tmp_path: Path) -> None:
    path = write_numbers(tmp_path / "a", 100)
    found = [SampleIndex(path) for _ in range(20)]
    assert all("k5" in one for one in found)
    assert not n_open(*(file for file in tmp_path.iterdir() if file != path))
    assert sample_index.SMALL >= 100


@given(SAMPLES, st.sampled_from([1, 7, 64, 1 << 22]), st.sampled_from([1, 3, 1 << 16]), st.binary(max_size=3))
def test_windows_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, samples: list[Any], window: int, block: int, rest: bytes
) -> None:
    path = tmp_path_factory.mktemp("scan") / "a.msgpack"
    packed = [messages.pack(sample) for sample in samples]
    ends = [sum(map(len, packed[: i + 1])) for i in range(len(packed))]
    rest = b"\xda\xff\xff" + rest if rest else b""  # what promises more than comes
    path.write_bytes(b"".join(packed) + rest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_index, "WINDOW", window)
        patch.setattr(sample_index, "MESSAGES", block)
        every = sample_index.Messages(str(path))
        found = list(every)
    assert [end for one in found for end in one.ends.tolist()] == ends
    assert (every.n, every.end, every.size) == (len(packed), sum(map(len, packed)), path.stat().st_size)
    first = 0
    for one in found:
        keys = [sample.get("key") for sample in samples[first : first + len(one.ends)]]
        n = next((i for i, key in enumerate(keys) if not isinstance(key, str)), len(keys))
        assert (one.keys, one.is_absent, one.fault) == (keys[:n], n < len(keys), "")
        first += len(keys)
    if rest:
        with pytest.raises(TruncatedError, match=rf"sample {len(packed)} at byte {every.end}: it is cut off"):
            every.check_whole()
    else:
        every.check_whole()


def test_wrong_keys_are_named_by_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.msgpack"
    with FileWriter(path) as writer:
        for i in range(100):
            writer.write({"x": b"x" * 50, "key": f"number {i}"})
    data = bytearray(path.read_bytes())
    place = data.index(b"number 77")
    data[place] = 0xFF
    path.write_bytes(data)
    monkeypatch.setattr(sample_index, "WINDOW", 300)
    (tmp_path / "a.msgpack.keys").unlink()
    for use in (
        lambda: reindex(path),
        lambda: reindex(path, cut=True),
        lambda: SampleIndex(path).keys(),
        lambda: SampleIndex(path).key(77),
    ):
        with pytest.raises(FormatError, match=rf"sample 77: its key, at byte {place - 1}: .*UTF-8"):
            use()


def test_a_file_of_other_messages_than_the_index_says(tmp_path: Path) -> None:
    path = tmp_path / "a.msgpack"
    with FileWriter(path) as writer:
        writer.write({"key": "a", "x": 1})
        writer.write({"key": "b", "x": 1})
    (tmp_path / "a.msgpack.keys").unlink()
    other = messages.pack({"key": "abc"}) + messages.pack({"key": "d", "xy": 1})
    assert len(other) == path.stat().st_size
    path.write_bytes(other)
    with pytest.raises(FormatError, match="samples are not where the index says"):
        SampleIndex(path).keys()
    with pytest.raises(FormatError, match="sample 0 is not where the index says"):
        SampleIndex(path).key(0)
