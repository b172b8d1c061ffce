"""Bytes of chunks, for tests of the kernels of HDF5."""

from __future__ import annotations

import random
import struct
import zlib

import numpy as np
from hypothesis import strategies as st

UNDEFINED = 2**64 - 1

END = struct.pack("<IIQQ", 0, 0, 2**62, 0)


def node(level: int, entries: list[tuple[int, int, int]]) -> bytes:
    """Return a node of a tree of chunks along one axis; entries are first value, size and address.

    After them is a key that is greater than that of any chunk.
    """
    head = b"TREE" + struct.pack("<BBHQQ", 1, level, len(entries), UNDEFINED, UNDEFINED)
    return head + b"".join(struct.pack("<IIQQQ", size, 0, first, 0, at) for first, size, at in entries) + END


LEAF = len(node(0, [(0, 2, 0)]))

"""Bytes of a leaf of one chunk."""

payloads = (
    st.binary(min_size=1, max_size=400)
    | st.lists(st.tuples(st.binary(min_size=1, max_size=3), st.integers(1, 700)), min_size=1, max_size=8).map(
        lambda runs: b"".join(text * n for text, n in runs)
    )
    | st.lists(st.integers(0, 3), min_size=1, max_size=1500).map(bytes)
)

strategies = st.sampled_from([zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Draw bytes, and a zlib stream of them, of one block or several."""
    data = draw(payloads)
    level, window, strategy = draw(st.integers(0, 9)), draw(st.integers(9, 15)), draw(strategies)
    encoder = zlib.compressobj(level, zlib.DEFLATED, window, 9, strategy)
    half = draw(st.integers(0, len(data)))
    flush = draw(st.sampled_from([zlib.Z_NO_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_BLOCK]))
    stream = encoder.compress(data[:half]) + encoder.flush(flush) if flush else encoder.compress(data[:half])
    return data, stream + encoder.compress(data[half:]) + encoder.flush()


VALUES = np.arange(1, 17, dtype=">i2").reshape(4, 4)

CHUNKS = [VALUES[i : i + 2, j : j + 2].tobytes() for i in (0, 2) for j in (0, 2)]


def skewed(seed: int, n: int, n_symbols: int) -> bytes:
    """Return bytes of which each next one is rarer by a third, so that codes are as long as they can be."""
    rng = random.Random(seed)
    symbols = rng.sample(range(256), n_symbols)
    return bytes(rng.choices(symbols, [1.5**-i for i in range(n_symbols)], k=n))


def repeated(seed: int, n: int) -> bytes:
    """Return bytes with copies from near and far, short and long ones."""
    rng = random.Random(seed)
    found = bytearray(rng.randbytes(300))
    while len(found) < n:
        distance = min(int(rng.lognormvariate(5, 3)) + 1, len(found), 32_768)
        for _ in range(min(int(rng.lognormvariate(3, 2)) + 3, 1000)):
            found.append(found[-distance])
        found += rng.randbytes(rng.randrange(4))
    return bytes(found[:n])
