"""Damaged chunks: an error names file, variable and chunk, and nothing is allocated that the file does not hold."""

from __future__ import annotations

import contextlib
import importlib
import struct
import zlib
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.body.body import MemoryBody, open_body
from ds_format.codec import filters
from ds_format.codec.slab_reading import slab_reader
from ds_format.codec.stored import Stored
from ds_format.drivers.netcdf.hdf5.source import opened
from ds_format.errors import DsError, FormatError, TruncatedError

from .files import assert_same, both, change, numbers, size_of, whole

h5py = pytest.importorskip("h5py")
hdf5 = importlib.import_module("ds_format.drivers.hdf5")
HDF5Source = importlib.import_module("ds_format.drivers.hdf5.source").HDF5Source

SIZE = 400
"""Bytes of a chunk."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.h5"


@pytest.fixture(params=["deflate", "zlib"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "zlib":
        monkeypatch.setattr(filters, "libdeflate", lambda: None)
    else:
        pytest.importorskip("deflate")


def write(path: Path, chunks: list[bytes], masks: list[int] | None = None, **options: Any) -> None:
    """Write a dataset of chunks as they are given."""
    with h5py.File(path, "w") as file:
        options = {"chunks": (100,), "compression": "gzip", "shuffle": True, **options}
        dataset = file.create_dataset("x", (100 * len(chunks),), "f4", **options)
        for i, chunk in enumerate(chunks):
            dataset.id.write_direct_chunk((100 * i,), chunk, masks[i] if masks else 0)


def refused(path: Path, n: int = 100) -> DsError:
    """Return the error of reading without the library."""
    with contextlib.closing(HDF5Source(path)) as source, pytest.raises(FormatError) as caught:
        source._job(source._variable("x"), (slice(0, n),)).work()
    error: DsError = caught.value
    assert (error.path, error.variable) == (str(path), "x")
    return error


GOOD = zlib.compress(bytes(SIZE))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no zlib at all", "filter zlib: Error -3"),
        (GOOD[:-5], "filter zlib: the stream does not end"),
        (zlib.compress(bytes(SIZE - 1)), f"found {SIZE - 1} bytes, expected {SIZE}"),
        (zlib.compress(bytes(SIZE + 1)), f"filter zlib: decodes to more than {SIZE} bytes"),
        (zlib.compress(bytes(1_000_000)), f"filter zlib: decodes to more than {SIZE} bytes"),
        (zlib.compress(b""), "found 0 bytes, expected 400"),
        (GOOD[:2] + b"\xff" + GOOD[3:], "filter zlib: Error -3"),
    ],
)
def test_what_cannot_be_inflated(path: Path, data: bytes, message: str) -> None:
    write(path, [data])
    assert message in str(refused(path))


def test_trailing_bytes_are_none_of_a_chunk(path: Path) -> None:
    write(path, [GOOD + b"more"])
    assert_same(hdf5, path, "x", whole((100,)))


def test_chunks_too_large_for_what_they_hold_take_no_memory(path: Path) -> None:
    n = 16 * 1024 * 1024
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", (n,), "u1", chunks=(n,), compression="gzip")
        dataset.id.write_direct_chunk((0,), GOOD)
    assert f"found {SIZE} bytes, expected {n}" in str(refused(path))


@pytest.mark.parametrize("number", range(4))
def test_masks_say_which_filters_a_chunk_went_through(path: Path, number: int) -> None:
    values = numbers((300,))
    data = values[100:200].tobytes()
    if not number & 1:
        data = values[100:200].reshape(-1).view(np.uint8).reshape(-1, 4).T.tobytes()
    if not number & 2:
        data = zlib.compress(data)
    shuffled = [values[i : i + 100].view(np.uint8).reshape(-1, 4).T.tobytes() for i in (0, 200)]
    write(path, [zlib.compress(shuffled[0]), data, zlib.compress(shuffled[1])], [0, number, 0])
    assert_same(hdf5, path, "x", whole((300,)))
    assert both(hdf5, path, "x", whole((300,)))[0].tobytes() == values.tobytes()  # type: ignore[union-attr]


def test_checksums(path: Path) -> None:
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", data=numbers((100,)), chunks=(100,), fletcher32=True)
        place = dataset.id.get_chunk_info_by_coord((0,))
    assert_same(hdf5, path, "x", whole((100,)))
    content = path.read_bytes()[place.byte_offset : place.byte_offset + place.size]
    # as HDF5 before 1.6.3 wrote it
    change(path, place.byte_offset + SIZE, bytes([content[SIZE + i] for i in (1, 0, 3, 2)]))
    assert_same(hdf5, path, "x", whole((100,)))
    change(path, place.byte_offset + 7, bytes([content[7] ^ 1]))
    assert "checksum" in str(refused(path))


def test_a_chunk_without_room_for_its_checksum(path: Path) -> None:
    write(path, [b"abc"], fletcher32=True, shuffle=False, compression=None)
    assert "checksum" in str(refused(path))


def test_a_cut_file(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=numbers((100,)), chunks=(50,))
        place = file["x"].id.get_chunk_info_by_coord((50,))
    with contextlib.closing(HDF5Source(path)) as source:
        prepared = source._prepare(source._variable("x"), (slice(0, 100),))
        with open(path, "r+b") as file:
            file.truncate(place.byte_offset + 10)
        with pytest.raises(
            TruncatedError,
            match=f"the chunk of 200 bytes at {place.byte_offset}.*ends at byte {place.byte_offset + 10}",
        ):
            prepared()


@pytest.mark.parametrize("twice", [(1, 0), (1, 2), (149, 3), (3, 149)])
def test_a_chunk_that_is_in_the_index_twice(path: Path, twice: tuple[int, int]) -> None:
    n, step = 150, 10
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", data=np.arange(n * step, dtype="f4"), chunks=(step,))
        place = dataset.id.get_chunk_info_by_coord((twice[0] * step,))
    content = path.read_bytes()
    # a key of the tree: size, mask, first value, and 0 for the bytes of a value; the place of the chunk follows
    key = struct.pack("<IIQQ", place.size, 0, twice[0] * step, 0)
    at = content.index(key + struct.pack("<Q", place.byte_offset))
    change(path, at, struct.pack("<IIQQ", place.size, 0, twice[1] * step, 0))
    for start, stop in [(0, n), (0, 5), (twice[1], twice[1] + 1), (70, 71)]:
        with contextlib.closing(HDF5Source(path)) as source, pytest.raises(FormatError) as caught:
            source._job(source._variable("x"), (slice(start * step, stop * step),)).work()
        error = caught.value
        assert (error.path, error.variable) == (str(path), "x")
        assert f"the chunk at ({twice[1] * step},) twice" in str(error)
    reads: list[Any] = [
        lambda: ds.read(path, ["x"]),
        lambda: ds.read_many([path], ["x"], dim="new"),
        lambda: ds.open(path)["x"][:20],
        lambda: ds.convert(path, path.with_suffix(".ds")),
    ]
    for read in reads:
        with pytest.raises(FormatError, match="do not ascend"):
            read()


@pytest.mark.parametrize(("offset", "size"), [(10**9, 8), (2**63 - 1, 8), (2**64 - 2, 8), (8, 10**9), (8, 2**32 - 1)])
def test_chunks_beyond_the_file(path: Path, monkeypatch: pytest.MonkeyPatch, offset: int, size: int) -> None:
    write(path, [GOOD])
    with_chunks = Stored.with_chunks
    monkeypatch.setattr(Stored, "with_chunks", lambda known, found: with_chunks(known, [((0,), offset, size, 0)]))
    error = refused(path)
    assert isinstance(error, TruncatedError)
    assert f"at (0,) has {size} bytes at {offset}, expected it within the {size_of(path)}" in str(error)


def test_values_in_one_piece_beyond_the_file() -> None:
    body, byte = MemoryBody("x", bytes(99)), np.dtype("u1")
    with pytest.raises(TruncatedError, match="found 99 bytes in the file, expected at least 100"):
        slab_reader(body, Stored(byte, (90,), 10), (slice(0, 90),))
    with pytest.raises(FormatError, match="start at -1"):
        slab_reader(body, Stored(byte, (9,), -1), (slice(0, 9),))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=3), st.data())
def test_mutated_files_are_read_or_refused(tmp_path: Path, bytes_: list[tuple[int, int]], data: st.DataObject) -> None:
    good = tmp_path / "good.nc"
    if not good.exists():
        with netCDF4.Dataset(good, "w") as file:
            file.createDimension("t", None)
            file.createDimension("x", 50)
            file.createVariable("v", "f4", ("t", "x"), zlib=True, fletcher32=True)[:] = numbers((30, 50))
    content = bytearray(good.read_bytes())
    with h5py.File(good) as file:
        place = file["v"].id.get_chunk_info_by_coord((0, 0))
    where = data.draw(st.sampled_from([(place.byte_offset, place.size), (0, len(content))]))
    for i, byte in bytes_:
        content[where[0] + i % where[1]] = byte
    bad = tmp_path / "bad.nc"
    bad.write_bytes(content)
    with contextlib.suppress(DsError):
        source = opened(open_body(bad))
        if source is not None and np.prod(source.meta["v"][".size"]) < 10**6:
            source.read("v")
