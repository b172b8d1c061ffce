"""Chunks of HDF5 files that are read without the library: damaged ones are named, and take no memory."""

from __future__ import annotations

import contextlib
import importlib
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.body.body import FileBody
from ds_format.codec import filters, slab_reading
from ds_format.errors import DsError, FormatError, TruncatedError
from ds_format.kernels.hdf5 import chunks

from ..chunks import assert_same, both, change, numbers, whole

h5py = pytest.importorskip("h5py")
hdf5 = importlib.import_module("ds_format.drivers.hdf5")
PlainValues = importlib.import_module("ds_format.drivers.hdf5.native").PlainValues

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


def refused(path: Path) -> DsError:
    """Return the error of reading a slab."""
    with contextlib.closing(hdf5.open(path)) as source, pytest.raises(FormatError) as caught:
        PlainValues(FileBody.open(path))._fetch_looked(source.variables["x"], (slice(0, 100),))
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
    assert both(hdf5, path, "x", whole((300,)))[0].tobytes() == values.tobytes()


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
    with contextlib.closing(hdf5.open(path)) as source:
        variable = source.variables["x"]
    values = PlainValues(FileBody.open(path))
    values._prepare([variable.place])
    with open(path, "r+b") as file:
        file.truncate(place.byte_offset + 10)
    with pytest.raises(
        TruncatedError,
        match=f"the chunk of 200 bytes at {place.byte_offset}.*ends at byte {place.byte_offset + 10}",
    ):
        values._fetch_looked(variable, whole((100,)))


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
    reads: list[Any] = [
        lambda: ds.read(path, ["x"]),
        lambda: ds.read_many([path], ["x"], dim="new"),
        lambda: ds.open(path)["x"][:20],
        lambda: ds.convert(path, path.with_suffix(".ds")),
    ]
    for read in reads:
        with pytest.raises(FormatError, match="do not ascend"):
            read()


def test_large_chunks_are_in_memory_one_by_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = numbers((8, 100))
    running: list[None] = []
    together: list[int] = []

    def put_chunks(*args: Any) -> tuple[int, bool]:
        running.append(None)
        together.append(len(running))
        time.sleep(0.01)  # so that another one would begin meanwhile
        try:
            return chunks.put_chunks(*args)
        finally:
            running.pop()

    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=data, chunks=(1, 100), compression="gzip")
    monkeypatch.setattr("ds_format.base.threads.processors", lambda: 4)
    monkeypatch.setattr(slab_reading, "PIECE_SIZE", 1)
    monkeypatch.setattr(slab_reading, "MAX_MEMORY", 1000)
    monkeypatch.setattr(slab_reading, "put_chunks", put_chunks)
    found, _ = both(hdf5, path, "x", whole(data.shape))
    assert found.tobytes() == data.tobytes()
    assert together == [1] * 8


@pytest.mark.parametrize("maxshape", [(4, None), (None, 6), (4, 6), (None, None), (9, None), (2, None)])
@pytest.mark.parametrize("format", ["earliest", "latest"])
def test_chunks_whose_positions_the_library_confuses(path: Path, maxshape: Any, format: Any) -> None:
    """HDF5 2.0.0 takes the second chunk along the single unlimited axis for that along the last one."""
    data = numbers((4, 6), "i4")[: maxshape[0]]
    with h5py.File(path, "w", libver=format) as file:
        file.create_dataset("x", data=data, chunks=(2, 2), maxshape=maxshape)
    assert_same(hdf5, path, "x", whole(data.shape))
