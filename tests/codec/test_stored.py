"""Where chunks of numbers lie in a file, as a record that travels: slabs are read with it and the body of the file."""

from __future__ import annotations

import math
import pickle
import tracemalloc
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from ds_format.body.body import Body, FileBody, MemoryBody
from ds_format.codec.filters import SHUFFLE, ZLIB_NUMBER
from ds_format.codec.pipeline import find_filter
from ds_format.codec.slab_reading import locate_chunks, read_chunks
from ds_format.codec.stored import Stored, StoredChunks
from ds_format.errors import TruncatedError


def read(body: Body, stored: Stored, slices: tuple[slice, ...]) -> Any:
    """Return a slab."""
    table = locate_chunks(stored, slices, body.size)
    assert table is not None
    return read_chunks(body, stored, table, [s.stop - s.start for s in slices])[0]


def with_chunks(stored: Stored, written: dict[int, tuple[int, int]]) -> Stored:
    """Return a copy with offset and size of each chunk, by its number."""
    numbers = sorted(written)
    offsets, sizes = np.array([written[i] for i in numbers], np.uint64).reshape(-1, 2).T
    index = StoredChunks(np.array(numbers, np.int64), offsets, sizes, np.zeros(len(numbers), np.uint32))
    return replace(stored, chunks=index)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), order=st.sampled_from("<>"), names=st.sampled_from([(), (ZLIB_NUMBER,), (SHUFFLE, ZLIB_NUMBER)]))
def test_chunks(tmp_path: Path, data: st.DataObject, order: str, names: tuple[int, ...]) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=7))
    chunk = tuple(data.draw(st.integers(1, n + 2)) for n in shape)
    values = np.arange(math.prod(shape), dtype=f"{order}i4").reshape(shape)
    expected = np.full(shape, 9, "i4")
    content = bytearray(b"header")
    found: dict[int, tuple[int, int]] = {}
    for number, position in enumerate(np.ndindex(*(-(-n // step) for n, step in zip(shape, chunk, strict=True)))):
        first = tuple(i * step for i, step in zip(position, chunk, strict=True))
        if data.draw(st.booleans()):
            continue
        part = tuple(slice(i, i + step) for i, step in zip(first, chunk, strict=True))
        block = np.zeros(chunk, values.dtype)
        block[tuple(slice(0, n) for n in values[part].shape)] = values[part]
        expected[part] = values[part]
        raw = block.reshape(-1).view(np.uint8).reshape(-1, 4).T.tobytes() if SHUFFLE in names else block.tobytes()
        raw = zlib.compress(raw) + bytes(3000) if ZLIB_NUMBER in names else raw  # longer than any chunk without it
        found[number] = len(content), len(raw)
        content += raw
    filters = tuple(one for name in names if (one := find_filter(name, (4,))) is not None)
    assert len(filters) == len(names)
    stored = Stored(values.dtype, shape, None, chunk, filters, np.asarray(9, values.dtype))
    stored = pickle.loads(pickle.dumps(with_chunks(stored, found)))
    (tmp_path / "a").write_bytes(content)
    slices = tuple(
        slice(i, data.draw(st.integers(i + 1, n))) for n in shape for i in [data.draw(st.integers(0, n - 1))]
    )
    slab = read(FileBody.open(tmp_path / "a"), stored, slices)
    assert slab.dtype == np.dtype("i4") and slab.tobytes() == expected[slices].tobytes()


def test_a_shape_of_a_million_chunks_takes_the_memory_of_its_values() -> None:
    index = StoredChunks(
        np.array([3, 1_000, 999_999], np.int64),
        np.arange(3, dtype=np.uint64),
        np.ones(3, np.uint64),
        np.zeros(3, np.uint32),
    )
    stored = Stored(np.dtype("u1"), (1_000, 1_000), chunk=(1, 1), fill=np.array(9, "u1"), chunks=index)
    body = MemoryBody("x", b"\x01\x02\x03")
    expected = np.full((1_000, 1_000), 9, "u1")
    expected[0, 3], expected[1, 0], expected[999, 999] = 1, 2, 3

    tracemalloc.start()
    try:
        found = read(body, stored, (slice(0, 1_000), slice(0, 1_000)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    np.testing.assert_array_equal(found, expected)
    assert peak < 2 * found.nbytes
    np.testing.assert_array_equal(read(body, stored, (slice(0, 2), slice(2, 4))), expected[:2, 2:4])


@pytest.mark.parametrize(("offset", "size"), [(10**9, 8), (2**63 - 1, 8), (2**64 - 2, 8), (8, 10**9), (8, 2**32 - 1)])
def test_chunks_beyond_the_file(offset: int, size: int) -> None:
    stored = with_chunks(Stored(np.dtype("<i4"), (10,), None, (5,), (), np.zeros((), "i4")), {1: (offset, size)})
    expected = rf"at \(5,\) has {size} bytes at {offset}, expected it within the 99 bytes"
    with pytest.raises(TruncatedError, match=expected):
        read(MemoryBody("x", bytes(99)), stored, (slice(0, 10),))
