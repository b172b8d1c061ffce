"""Where numbers lie in a file, as a record that travels: slabs are read of it and the body of the file alone."""

from __future__ import annotations

import math
import pickle
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from ds_format.base.dtypes import MAX_COUNT
from ds_format.body.body import FileBody, MemoryBody
from ds_format.codec.filters import SHUFFLE, ZLIB_NUMBER
from ds_format.codec.pipeline import find_filter
from ds_format.codec.slab_reading import slab_reader
from ds_format.codec.stored import Stored, StoredChunks
from ds_format.errors import FormatError, TruncatedError


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), order=st.sampled_from("<>"), names=st.sampled_from([(), (ZLIB_NUMBER,), (SHUFFLE, ZLIB_NUMBER)]))
def test_chunks(tmp_path: Path, data: st.DataObject, order: str, names: tuple[int, ...]) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=7))
    chunk = tuple(data.draw(st.integers(1, n + 2)) for n in shape)
    values = np.arange(math.prod(shape), dtype=f"{order}i4").reshape(shape)
    expected = np.full(shape, 9, "i4")
    content = bytearray(b"header")
    found: list[Any] = []
    for position in np.ndindex(*(-(-n // step) for n, step in zip(shape, chunk, strict=True))):
        first = tuple(i * step for i, step in zip(position, chunk, strict=True))
        if data.draw(st.booleans()):
            found.append((first, None, 0, 0))
            continue
        part = tuple(slice(i, i + step) for i, step in zip(first, chunk, strict=True))
        block = np.zeros(chunk, values.dtype)
        block[tuple(slice(0, n) for n in values[part].shape)] = values[part]
        expected[part] = values[part]
        raw = block.reshape(-1).view(np.uint8).reshape(-1, 4).T.tobytes() if SHUFFLE in names else block.tobytes()
        raw = zlib.compress(raw) + bytes(3000) if ZLIB_NUMBER in names else raw  # longer than any chunk without it
        found.append((first, len(content), len(raw), 0))
        content += raw
    filters = tuple(one for name in names if (one := find_filter(name, (4,))) is not None)
    assert len(filters) == len(names)
    stored = Stored(values.dtype, shape, None, chunk, filters, np.asarray(9, values.dtype))
    stored = pickle.loads(pickle.dumps(stored.with_chunks(data.draw(st.permutations(found)))))
    (tmp_path / "a").write_bytes(content)
    slices = tuple(
        slice(i, data.draw(st.integers(i + 1, n))) for n in shape for i in [data.draw(st.integers(0, n - 1))]
    )
    read = slab_reader(FileBody.open(tmp_path / "a"), stored, slices)
    assert read is not None
    slab = read()
    assert slab.dtype == np.dtype("i4") and slab.tobytes() == expected[slices].tobytes()


def test_values_in_one_piece(tmp_path: Path) -> None:
    values = np.arange(12, dtype=">f8").reshape(3, 4)
    (tmp_path / "a").write_bytes(b"12345" + values.tobytes())
    file = FileBody.open(tmp_path / "a")
    stored = pickle.loads(pickle.dumps(Stored(values.dtype, (3, 4), 5)))
    read = slab_reader(file, stored, (slice(1, 3), slice(0, 4)))
    assert read is not None and read().tolist() == values[1:].tolist()
    read = slab_reader(file, stored, (slice(0, 3), slice(1, 3)))
    assert read is not None and read().tolist() == values[:, 1:3].tolist()
    assert slab_reader(file, Stored(values.dtype, (3, 4)), (slice(0, 3), slice(0, 4))) is None
    with pytest.raises(TruncatedError, match="found 101 bytes in the file, expected at least 102"):
        slab_reader(file, Stored(values.dtype, (3, 4), 6), (slice(0, 3), slice(0, 4)))


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
        read = slab_reader(body, stored, (slice(0, 1_000), slice(0, 1_000)))
        assert read is not None
        found = read()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    np.testing.assert_array_equal(found, expected)
    assert peak < 2 * found.nbytes
    part = slab_reader(body, stored, (slice(0, 2), slice(2, 4)))
    assert part is not None
    np.testing.assert_array_equal(part(), expected[:2, 2:4])


def test_an_index_of_chunks_that_is_odd() -> None:
    stored = Stored(np.dtype("<i4"), (10,), None, (5,), (), np.zeros((), "i4"))
    with pytest.raises(FormatError, match=r"has the chunk at \(0,\) twice"):
        stored.with_chunks([((0,), 0, 20, 0), ((0,), 40, 20, 0)])
    found = stored.with_chunks([((5,), 8, 20, 0), ((10,), 90, 20, 0), ((2,), 50, 20, 0), ((0,), None, 0, 0)])
    assert found is not None and found.chunks is not None
    assert found.chunks.numbers.tolist() == [1] and found.chunks.offsets.tolist() == [8]
    assert Stored(np.dtype("<i4"), (2**40, 2**40), None, (1, 1)).with_chunks([]) is None
    assert Stored(np.dtype("<i4"), (MAX_COUNT + 1,), None, (2**31,)).with_chunks([]) is None
