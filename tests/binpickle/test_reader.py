"""Reading: what is loaded, how long it lives, and what is said about a file."""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from ds_format import binpickle
from ds_format.binpickle import BinPickleFile, FileStatus, file_info
from ds_format.binpickle.buffers import BLOCK, SMALL
from ds_format.errors import DsError, FormatError, IntegrityError, TruncatedError

from .. import strategies
from ..same import same_object
from . import golden, made

OBJECT: dict[str, Any] = {
    "x": np.arange(30_000.0),
    "y": [np.arange(5, dtype="i2"), np.ones((2, 3), order="F")],
    "name": "text",
}


def dumped(path: Path, **options: Any) -> Path:
    binpickle.dump(OBJECT, path, **options)
    return path


def arrays(obj: Any) -> list[Any]:
    return [obj["x"], *obj["y"]]


@pytest.mark.parametrize("options", [{}, {"mappable": True}, {"codec": "gz"}, {"version": 2}], ids=str)
@pytest.mark.parametrize("trusted", [False, True])
def test_copies_can_be_changed(options: dict[str, Any], trusted: bool, tmp_path: Path) -> None:
    path = dumped(tmp_path / "x", **options)
    found = binpickle.load(path, trusted=trusted)
    assert same_object(found, OBJECT)
    for array in arrays(found):
        array[...] = 7
    assert same_object(binpickle.load(path), OBJECT)


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("options", [{}, {"mappable": True}], ids=str)
def test_mapped_arrays_are_read_only_and_outlive_all(options: dict[str, Any], trusted: bool, tmp_path: Path) -> None:
    path = dumped(tmp_path / "x", **options)
    with BinPickleFile(path, direct=True, trusted=trusted) as file:
        found = file.load()
    file.close()
    del file
    binpickle.dump([np.zeros(100_000)], path)
    path.unlink()
    gc.collect()
    assert same_object(found, OBJECT)
    assert not any(array.flags.writeable for array in arrays(found))
    assert all(array.flags.aligned for array in arrays(found)) or not options
    with pytest.raises(ValueError, match="read-only"):
        found["x"][0] = 1
    last = found["y"][0]
    del found
    gc.collect()
    assert last.tolist() == [0, 1, 2, 3, 4]


def test_mapped_arrays_share_memory_with_the_file(tmp_path: Path) -> None:
    path = dumped(tmp_path / "x", mappable=True)
    tracemalloc.start()
    with BinPickleFile(path, direct="nowarn") as file:
        first, second = file.load(), file.load()
        assert np.shares_memory(first["x"], second["x"])
        assert tracemalloc.get_traced_memory()[1] < OBJECT["x"].nbytes / 2
    tracemalloc.stop()


def test_decoded_arrays_of_a_mapped_file_are_copies(tmp_path: Path) -> None:
    path = dumped(tmp_path / "x", codec=lambda buffer: "gz" if memoryview(buffer).nbytes > 1000 else None)
    with BinPickleFile(path, direct=True) as file:
        found = file.load()
    assert same_object(found, OBJECT)
    assert [array.flags.writeable for array in arrays(found)] == [True, False, False]


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("trusted", [False, True])
def test_arrays_that_were_read_only(direct: bool, trusted: bool, tmp_path: Path) -> None:
    array = np.arange(5)
    array.flags.writeable = False
    binpickle.dump(array, tmp_path / "x")
    with BinPickleFile(tmp_path / "x", direct=direct, trusted=trusted) as file:
        assert not file.load().flags.writeable


@pytest.mark.parametrize("direct", [False, True])
def test_an_error_is_not_hidden_by_closing(direct: bool, tmp_path: Path) -> None:
    path = tmp_path / "x"
    binpickle.dump([np.ones(10), Own()], path)
    with pytest.raises(ValueError, match=r"test_reader\.Own"), BinPickleFile(path, direct=direct) as file:
        file.load()
    kept: list[Any] = []
    with pytest.raises(IndexError), BinPickleFile(path, direct=direct, trusted=True) as file:
        kept.append((found := file.load()[0])[len(found)])


class Own:
    """A class that the machine does not know."""


def test_a_file_stays_open_while_it_is_replaced(tmp_path: Path) -> None:
    path = dumped(tmp_path / "x")
    with BinPickleFile(path) as file:
        binpickle.dump("other", path)
        assert same_object(file.load(), OBJECT)
    assert binpickle.load(path) == "other"


def test_a_file_that_is_cut_while_it_is_open(tmp_path: Path) -> None:
    path = dumped(tmp_path / "x")
    with BinPickleFile(path) as file:
        os.truncate(path, 1000)
        with pytest.raises(TruncatedError, match="x: the file ends at byte 1000, expected bytes 240"):
            file.load()


def test_closed_files(tmp_path: Path) -> None:
    for direct in (False, True):
        file = BinPickleFile(dumped(tmp_path / "x"), direct=direct)
        file.close()
        file.close()
        for call in (file.load, file.find_errors):
            with pytest.raises(ValueError, match="x: the file is closed"):
                call()


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        binpickle.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        binpickle.load(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe or a device, expected a file"):
        binpickle.load(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    for direct in (False, True):
        with pytest.raises(TruncatedError, match="empty: the file is empty"):
            BinPickleFile(tmp_path / "empty", direct=direct)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("direct", [False, True])
def test_what_is_decoded_is_compared_whether_mapped_or_not(direct: bool, version: int, tmp_path: Path) -> None:
    """Of bytes that come out of a codec nobody could say which of the file they are."""
    path = tmp_path / "x"
    binpickle.dump([np.zeros(1000, "u1")], path, codec="gz", version=version)
    with BinPickleFile(path, direct=direct) as file:
        assert file.load()[0].sum() == 0
        entry = file.entries[0]
    data = bytearray(path.read_bytes())
    other = zlib.compress(bytes([1]) * 1000, 9)
    assert len(other) == entry.enc_length and data[entry.offset] == other[0]
    data[entry.offset : entry.end] = other
    path.write_bytes(data)
    for verify in (None, True):
        with BinPickleFile(path, direct=direct, verify=verify) as file:
            for read in (file.load, lambda file=file: file.read_entry(0)):
                with pytest.raises(IntegrityError, match="entry 0: checksum: found"):
                    read()
    with BinPickleFile(path, direct=direct, verify=False) as file:
        assert file.load()[0].sum() == 1000


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("size", [10, SMALL, 3 * BLOCK + 5])
def test_which_checksums_are_compared(version: int, size: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    binpickle.dump([np.zeros(3, "u1"), np.zeros(size, "u1")], path, version=version)
    data = bytearray(path.read_bytes())
    data[16 + 3 + size - 1] = 1
    path.write_bytes(data)
    message = "entry 1: checksum: found"
    for options in ({}, {"verify": True}, {"verify": True, "direct": True}):
        with BinPickleFile(path, **options) as file, pytest.raises(IntegrityError, match=message) as caught:
            file.load()
        assert caught.value.path == str(path)
    for options in ({"verify": False}, {"direct": True}, {"verify": False, "direct": True}):
        with BinPickleFile(path, **options) as file:
            assert file.load()[1].sum() == 1
            (error,) = file.find_errors()
            assert error.startswith(message)
    data[16 + 3 + size - 1] = 0
    data[16 + 3 + size + 20] ^= 1
    path.write_bytes(data)
    for direct in (False, True):
        with BinPickleFile(path, direct=direct) as file, pytest.raises(IntegrityError, match="entry 2: checksum"):
            file.load()


def test_all_errors_are_found(tmp_path: Path) -> None:
    path = tmp_path / "x"
    made.write(path, [b"0123", b"4567", made.PICKLE], codec=["gz", {}], checksum=1)
    path.write_bytes(path.read_bytes() + b"more")
    for direct in (False, True):
        with BinPickleFile(path, direct=direct) as file:
            size = file.header.length
            length, first = file.find_errors()
        assert length == f"header: length: found {size}, expected {size + 4}, the size of the file"
        assert first.startswith("entry 0: checksum: found")
    made.write(path, [b"0123", made.PICKLE], codec=["numcodec", {"id": "pickle"}])
    with BinPickleFile(path) as file:
        assert file.find_errors() == [
            "entry 0: codec 'pickle': decoding it could run code from the file, and is not supported"
        ]


def test_what_is_decoded_has_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "x"
    binpickle.dump(np.zeros(20_000_000, "u1"), path, codec="gz")
    assert len(binpickle.load(path)) == 20_000_000
    with pytest.raises(
        FormatError, match=r"20000\d\d\d bytes in all, expected at most 1000000; .*pass a larger max_size"
    ):
        binpickle.load(path, max_size=1_000_000)
    with BinPickleFile(path, max_size=1000) as file:
        (error,) = file.find_errors()
        assert "expected at most 1000" in error
    binpickle.dump(np.zeros(100_000_000, "u1"), path, codec=["gz", "gz"])
    with pytest.raises(FormatError, match="pass a larger max_size"):
        binpickle.load(path)
    assert len(binpickle.load(path, max_size=200_000_000)) == 100_000_000


def test_buffers_out_of_order_and_with_gaps(tmp_path: Path) -> None:
    buffers: list[pickle.PickleBuffer] = []
    large = np.arange(BLOCK, dtype="i4")
    data = pickle.dumps([large, np.arange(3), large + 1, np.arange(4)], 5, buffer_callback=buffers.append)
    raws = [bytes(buffer.raw()) for buffer in buffers]
    body, entries = b"", []
    for i in (4, 3, 0, 1, 2):
        raw = data if i == 4 else raws[i]
        body += b"gap"
        entries.append((i, made.entry(raw, 16 + len(body))))
        body += raw
    (tmp_path / "x").write_bytes(made.whole(body, [entry for _, entry in sorted(entries, key=lambda pair: pair[0])]))
    for direct in (False, True):
        with BinPickleFile(tmp_path / "x", direct=direct) as file:
            assert [one.tolist() for one in file.load()][1::2] == [[0, 1, 2], [0, 1, 2, 3]]
            assert file.find_errors() == []


def test_file_info(tmp_path: Path) -> None:
    assert file_info(tmp_path / "nothing").status is FileStatus.MISSING
    assert file_info(tmp_path).status is FileStatus.INVALID
    (tmp_path / "x").write_bytes(b"BPCK")
    assert file_info(tmp_path / "x").status is FileStatus.INVALID
    for version in (1, 2):
        info = file_info(dumped(tmp_path / "x", version=version))
        assert (info.status, info.is_valid) == (FileStatus.BINPICKLE, True)
        assert (info.version, info.size) == (version, (tmp_path / "x").stat().st_size)


@pytest.mark.parametrize("name", ["v1/several_buffers.mappable.bpk", "v2/codec_gzip.bpk", "v2_head/nested_arrays.bpk"])
def test_golden_buffers_are_decoded(name: str) -> None:
    expected = golden.expected(name)
    with BinPickleFile(golden.FOLDER / name) as file:
        assert len(file.entries) == len(expected["decoded_sha256"])
        assert file.is_mappable == golden.is_stored(name)
        assert file.find_errors() == []


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | strategies.texts | st.binary(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(strategies.texts | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)
dtypes = st.one_of(
    hnp.scalar_dtypes(),
    hnp.byte_string_dtypes(),
    hnp.unicode_string_dtypes(),
    hnp.nested_dtypes(max_leaves=4),
).filter(lambda dtype: dtype.itemsize > 0)
any_arrays = st.one_of(strategies.arrays(), dtypes.flatmap(lambda dtype: hnp.arrays(dtype, strategies.shapes)))


@given(
    st.dictionaries(strategies.texts, plain | any_arrays, max_size=4),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.sampled_from([None, "gz"]),
)
def test_any_object_comes_back(
    tmp_path_factory: pytest.TempPathFactory, obj: dict[str, Any], version: int, mappable: bool, codec: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bpk"
    binpickle.dump(obj, path, version=version, mappable=mappable, codec=codec)
    expected = pickle.loads(pickle.dumps(obj, 5))
    for direct in (False, True):
        for trusted in (False, True):
            with BinPickleFile(path, direct=direct, trusted=trusted) as file:
                found = file.load()
                assert file.find_errors() == []
            assert same_object(found, expected) or same_object(found, obj)


@given(st.data())
def test_any_damage_is_seen(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.bpk"
    obj = {"a": np.arange(5), "b": np.arange(3.0), "c": "text"}
    version, codec = data.draw(st.sampled_from([1, 2])), data.draw(st.sampled_from([None, "gz"]))
    binpickle.dump(obj, path, version=version, codec=codec)
    damaged = bytearray(path.read_bytes())
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged[: data.draw(st.integers(0, len(damaged))) or None])
    error = None
    try:
        with BinPickleFile(path) as file:
            file.find_errors()
            found = file.load()
    except DsError as caught:
        error = caught
    assert same_object(found, obj) if error is None else error.path == str(path)


def test_the_pickle_alone(tmp_path: Path) -> None:
    path = dumped(tmp_path / "x", codec="gz")
    with BinPickleFile(path) as file:
        assert bytes(file.read_pickle()) == pickle.dumps(OBJECT, 5, buffer_callback=lambda buffer: None)
    with BinPickleFile(path, max_size=10) as file, pytest.raises(FormatError, match="expected at most 10"):
        file.read_pickle()


def test_page_sizes_of_other_machines(tmp_path: Path) -> None:
    page = 4 * mmap.PAGESIZE
    body = bytes(page - 16) + made.PICKLE
    (tmp_path / "x").write_bytes(made.whole(body, [made.entry(made.PICKLE, page, 2)], 2, flags=3))
    with BinPickleFile(tmp_path / "x", direct=True) as file:
        assert file.load() == "an object"
