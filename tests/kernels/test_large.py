"""Chunks of a large variable, put to their places by a kernel, against zlib and NumPy."""

from __future__ import annotations

import random
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from ds_format.kernels.hdf5.chunks import put_chunks

from .. import oracles
from .chunks import CHUNKS, VALUES, payloads, repeated, skewed, strategies, streams

PADDING = bytes(600)
"""Bytes after a short stream, for which the way of long ones is taken."""


def inflated(stream: bytes, n: int) -> bytes | None:
    """Decode a stream to `n` bytes by the kernel; None: it is damaged."""
    target = np.zeros(n, np.uint8)
    shape = np.array([n])
    found, _ = put_chunks(
        np.frombuffer(stream, np.uint8),
        np.array([len(stream)]),
        np.zeros(1, np.uint32),
        np.array([[0, n, 0]]),
        shape,
        target,
        shape,
        1,
        False,
        False,
        np.zeros(n, np.uint8),
        None,
    )
    return target.tobytes() if found else None


def expected(stream: bytes, n: int) -> bytes | None:
    """Decode a stream to `n` bytes by zlib; None: it is damaged."""
    decoder = zlib.decompressobj()
    try:
        found = decoder.decompress(stream, n + 1)
    except zlib.error:
        return None
    return found if decoder.eof and len(found) == n else None


def smooth(seed: int, n: int) -> bytes:
    """Return shuffled floats."""
    rng = np.random.default_rng(seed)
    values = np.round(np.sin(np.linspace(0, 9, n // 4 + 1)) + rng.normal(0, 0.1, n // 4 + 1), 3).astype("f4")
    return oracles.shuffle(values).tobytes()[:n]


long_payloads = (
    st.builds(skewed, st.integers(0, 2**32), st.integers(1, 40_000), st.integers(1, 256))
    | st.builds(repeated, st.integers(0, 2**32), st.integers(1, 100_000))
    | st.builds(smooth, st.integers(0, 2**32), st.integers(1, 40_000))
    | payloads
)


@given(long_payloads, st.integers(0, 9), st.integers(9, 15), strategies, st.integers(1, 9))
@example(bytes(400_000), 9, 15, zlib.Z_DEFAULT_STRATEGY, 9)
@example(bytes(range(256)) * 40, 0, 15, zlib.Z_DEFAULT_STRATEGY, 9)
@example(skewed(0, 40_000, 30), 9, 15, zlib.Z_HUFFMAN_ONLY, 9)
@example(repeated(0, 100_000), 9, 15, zlib.Z_DEFAULT_STRATEGY, 9)
@example(repeated(1, 100_000), 9, 15, zlib.Z_FIXED, 9)
def test_inflate(data: bytes, level: int, window: int, strategy: int, memory: int) -> None:
    encoder = zlib.compressobj(level, zlib.DEFLATED, window, memory, strategy)
    stream = encoder.compress(data) + encoder.flush()
    assert inflated(stream, len(data)) == data
    assert inflated(stream + PADDING, len(data)) == data
    assert inflated(stream, len(data) + 1) is None
    assert len(data) == 1 or inflated(stream + PADDING, len(data) - 1) is None
    for cut in (1, 3, 4, 5, 12, 30, len(stream) // 2):
        assert inflated(stream[: max(len(stream) - cut, 1)], len(data)) is None


@given(streams(), st.data())
def test_damaged_streams(drawn: tuple[bytes, bytes], data: st.DataObject) -> None:
    content, stream = drawn
    damaged = bytearray(stream)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    del damaged[data.draw(st.integers(1, len(damaged))) :]
    assert inflated(bytes(damaged) + PADDING, len(content)) == expected(bytes(damaged) + PADDING, len(content))


@given(st.integers(0, 2**32), st.integers(1, 4))
def test_damaged_codes(seed: int, n: int) -> None:
    """Bits near the beginning of blocks say what the codes are; the checksum is right for whatever they decode to."""
    rng = random.Random(seed)
    data = rng.choice([skewed(seed, 3000, 200), smooth(seed, 3000), repeated(seed, 3000)])
    encoder = zlib.compressobj(rng.randrange(10), zlib.DEFLATED, -15, rng.randrange(1, 10), rng.randrange(5))
    damaged = bytearray(encoder.compress(data) + encoder.flush())
    for _ in range(n):
        damaged[min(int(rng.expovariate(1 / 30)), len(damaged) - 1)] ^= 1 << rng.randrange(8)
    decoder = zlib.decompressobj(-15)
    try:
        content = decoder.decompress(bytes(damaged))
    except zlib.error:
        content = None
    if content is None or not decoder.eof:
        # it is wrong before its checksum
        assert inflated(b"\x78\x9c" + bytes(damaged) + PADDING, len(data)) is None
        return
    body = damaged[: len(damaged) - len(decoder.unused_data)]
    stream = b"\x78\x9c" + bytes(body) + zlib.adler32(content).to_bytes(4, "big")
    if content:
        assert inflated(stream + PADDING, len(content)) == content
        assert inflated(stream, len(content)) == content


@given(st.binary(max_size=120), st.integers(1, 3000))
def test_any_bytes(body: bytes, n: int) -> None:
    """Most of these end early, so that no checksum hides what was decoded."""
    stream = b"\x78\x9c" + body + PADDING
    assert inflated(stream, n) == expected(stream, n)


# several chunks


def put(
    chunks: list[bytes], skipped: list[int], is_deflated: bool = False, is_shuffled: bool = False, **changed: Any
) -> Any:
    """Put chunks of 2 x 2 big-endian numbers into an array of 3 x 3; return how many were put, and the array."""
    target = np.zeros((3, 3), "i2")
    corners = [[0, 0, 2, 2, 0, 0], [0, 0, 2, 1, 0, 2], [0, 0, 1, 2, 2, 0], [0, 0, 1, 1, 2, 2]]
    arguments: dict[str, Any] = {
        "data": np.frombuffer(b"".join(chunks), np.uint8),
        "sizes": np.array(list(map(len, chunks)), np.int64),
        "masks": np.array(skipped, np.uint32),
        "parts": np.array(corners[: len(chunks)], np.int64).reshape(-1, 6),
        "shape": np.array([2, 2]),
        "target": target.reshape(-1).view(np.uint8),
        "target_shape": np.array([3, 3]),
        "size": 2,
        "swapped": True,
        "is_shuffled": is_shuffled,
        "inflated": np.zeros(8, np.uint8) if is_deflated else None,
        "wanted": None,
    }
    n, found = put_chunks(**(arguments | changed))
    return n, found, target


@pytest.mark.parametrize("is_shuffled", [False, True])
@pytest.mark.parametrize("is_deflated", [False, True])
def test_put_chunks(is_shuffled: bool, is_deflated: bool) -> None:
    chunks = [oracles.shuffle(np.frombuffer(each, ">i2")).tobytes() for each in CHUNKS] if is_shuffled else CHUNKS
    chunks = list(map(zlib.compress, chunks)) if is_deflated else chunks
    n, found, target = put(chunks, [0] * 4, is_deflated, is_shuffled)
    assert (n, found) == (4, False)
    assert target.tolist() == VALUES[:3, :3].tolist()
    assert put([chunks[0], b"", chunks[2]], [0] * 3, is_deflated, is_shuffled)[2].tolist() == [
        [1, 2, 0],
        [5, 6, 0],
        [9, 10, 0],
    ]


def test_put_chunks_stops_where_one_is_not_as_the_others() -> None:
    assert put(CHUNKS, [0, 0, 1, 0])[0] == 2
    assert put([CHUNKS[0], CHUNKS[1][:-1]], [0, 0])[0] == 1
    streams = list(map(zlib.compress, CHUNKS))
    assert put([streams[0], streams[1][:-1], streams[2]], [0] * 3, is_deflated=True)[0] == 1


@pytest.mark.parametrize("is_deflated", [False, True])
@pytest.mark.parametrize(("wanted", "is_found"), [([3], True), ([77, 9], True), ([4, 12, 16], False), ([], False)])
def test_put_chunks_searches_what_is_in_the_array(is_deflated: bool, wanted: list[int], is_found: bool) -> None:
    chunks = list(map(zlib.compress, CHUNKS)) if is_deflated else CHUNKS
    assert put(chunks, [0] * 4, is_deflated, wanted=np.array(wanted, "i2"))[1] == is_found


@pytest.mark.parametrize("code", ["u1", "i2", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("is_shuffled", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
def test_search_of_long_runs(code: str, is_shuffled: bool, swapped: bool) -> None:
    dtype, n = np.dtype(code), 50_001
    for place in (None, 0, 16_383, 20_000, n - 1):
        for value in (7, np.nan) if dtype.kind == "f" else (7,):
            values = np.full(n, 3, dtype)
            if place is not None:
                values[place] = value
            stored = oracles.swap(values) if swapped else values
            data = (oracles.shuffle(stored) if is_shuffled else stored).view(np.uint8)
            target, shape = np.zeros(n, dtype), np.array([n])
            one, mask, part = np.array([data.size]), np.zeros(1, np.uint32), np.array([[0, n, 0]])
            to, item_size = target.view(np.uint8), dtype.itemsize
            wanted = np.array([5, value], dtype)
            found = put_chunks(data, one, mask, part, shape, to, shape, item_size, swapped, is_shuffled, None, wanted)
            assert found == (1, place is not None)
            assert target.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    "changed",
    [
        {"size": 3},
        {"size": 4},
        {"shape": np.array([2])},
        {"shape": np.array([2, 2**40])},
        {"target_shape": np.array([3, 4])},
        {"target_shape": np.array([-3, -3])},
        {"masks": np.zeros(3, np.uint32)},
        {"parts": np.zeros((3, 6), np.int64)},
        {"parts": np.full((4, 6), 3)},
        {"parts": np.full((4, 6), -1)},
        {"sizes": np.full(4, 33)},
        {"sizes": np.full(4, -8)},
        {"sizes": np.full(4, 2**62)},
        {"inflated": np.zeros(7, np.uint8)},
        {"wanted": np.zeros(1, "i4")},
        {"wanted": np.zeros(1, "f2")},
    ],
)
def test_put_chunks_refuses(changed: Any) -> None:
    with pytest.raises(ValueError, match=r"\d"):
        put(CHUNKS, [0] * 4, **changed)
