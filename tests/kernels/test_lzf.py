"""LZF: chunks that h5py wrote, a plain decoder, and damaged bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.codec.filters import HDF5
from ds_format.errors import FormatError
from ds_format.kernels.hdf5.chunks import decode_lzf

h5py = pytest.importorskip("h5py")  # wheels are tested without extras

LZF = HDF5[32000]


def plainly(data: bytes, limit: int) -> bytes | None:
    """Decode bytes one by one; None if they are damaged, or decode to more than the limit."""
    out, at = bytearray(), 0
    while at < len(data):
        code, at = data[at], at + 1
        if code < 32:
            part = data[at : at + code + 1]
            if len(part) <= code:
                return None
            out += part
            at += code + 1
        else:
            n = code >> 5
            rest = data[at : at + 1 + (n == 7)]
            if len(rest) < 1 + (n == 7):
                return None
            at += len(rest)
            n += (rest[0] if n == 7 else 0) + 2
            start = len(out) - ((code & 31) << 8 | rest[-1]) - 1
            if start < 0 or len(out) + n > limit:
                return None
            for i in range(n):
                out.append(out[start + i])
        if len(out) > limit:
            return None
    return bytes(out)


def kernel(data: bytes, limit: int) -> bytes | None:
    target = np.full(limit + 8, 0xAA, np.uint8)
    n = decode_lzf(np.frombuffer(data, np.uint8), target[:limit])
    assert (target[limit:] == 0xAA).all()
    return None if n < 0 else target[:n].tobytes()


@given(st.binary(max_size=60), st.integers(0, 400))
def test_any_bytes(data: bytes, limit: int) -> None:
    assert kernel(data, limit) == plainly(data, limit)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", ["zeros", "steps", "text"])
def test_chunks_of_h5py(kind: str, shuffle: bool, tmp_path: Path) -> None:
    values = {
        "zeros": np.zeros(20_000, "u1"),
        "steps": np.arange(20_000, dtype="u1") // 16,
        "text": np.frombuffer(b"a bird in the hand is worth two in the bush. " * 400, "u1"),
    }[kind]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", data=values, chunks=values.shape, compression="lzf", shuffle=shuffle)
        mask, data = dataset.id.read_direct_chunk((0,))
    assert mask == 0 and len(data) < values.size
    assert bytes(LZF.decode(data, values.size)) == values.tobytes()
    with pytest.raises(FormatError):
        LZF.decode(data, values.size - 1)
    with pytest.raises(FormatError):
        LZF.decode(b"\xe0" + data, values.size)


def test_no_bytes() -> None:
    assert kernel(b"", 0) == kernel(b"", 9) == b""
    assert kernel(b"\0a", 0) is None
