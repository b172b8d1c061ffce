"""szip: chunks that the HDF5 library wrote, a plain decoder, and damaged bytes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.codec.filters import HDF5
from ds_format.codec.pipeline import decode, find_filter
from ds_format.errors import FormatError
from ds_format.kernels.hdf5.szip import decode_szip

h5py = pytest.importorskip("h5py")  # wheels are tested without extras

SZIP = HDF5[4]
EC, LITTLE, BIG, NN = 4, 8, 16, 32
"""Options of the filter."""


class DamagedError(Exception):
    pass


class Bits:
    """Bytes, as bits that are taken one after another."""

    def __init__(self, data: bytes) -> None:
        self.text = "".join(f"{byte:08b}" for byte in data)
        self.at = 0

    def take(self, n: int) -> int:
        if self.at + n > len(self.text):
            raise DamagedError
        self.at += n
        return int(self.text[self.at - n : self.at] or "0", 2)

    def zeros(self) -> int:
        one = self.text.find("1", self.at)
        if one < 0:
            raise DamagedError
        n, self.at = one - self.at, one + 1
        return n


PAIRS = [(total - second, second) for total in range(13) for second in range(total + 1)]


def block_of(bits: Bits, n: int, width: int, is_first: bool) -> list[int] | int:
    """Return the numbers of a block, or how many numbers are zeros: 1 to 4, 0 for all others."""
    id_width = 4 if width > 8 else 3
    code = bits.take(id_width)
    if code == 2**id_width - 1:
        return [bits.take(width) for _ in range(n)]
    is_pairs = bits.take(1) if code == 0 else None
    start = [bits.take(width)] if is_first else []
    if is_pairs is None:
        high = []
        for _ in range(n - len(start)):
            high.append(bits.zeros() << (code - 1))
            if high[-1] >= 2**width:
                raise DamagedError
        return start + [value | bits.take(code - 1) for value in high]
    if is_pairs:
        numbers: list[int] = []
        for _ in range(n // 2):
            at = bits.zeros()
            if at >= len(PAIRS):
                raise DamagedError
            numbers += PAIRS[at]
        return start + numbers[len(start) :]
    count = bits.zeros() + 1
    bits.start = start[0] if start else 0  # type: ignore[attr-defined]
    return {5: -1}.get(count, count - (count > 5))


def line_of(bits: Bits, wanted: int, n: int, blocks: int, width: int, is_predicted: bool) -> list[int]:
    """Return the numbers of the first blocks of a scanline."""
    numbers: list[int] = []
    while (done := len(numbers) // n) < wanted:
        found = block_of(bits, n, width, is_predicted and not done)
        if isinstance(found, int):
            count = min(blocks - done, 64 - done % 64) if found < 0 else found
            if count > blocks - done:
                raise DamagedError
            start = getattr(bits, "start", 0)
            found = [start] + [0] * (count * n - 1)
        numbers += found
    return numbers


def plainly(data: bytes, size: int, options: int, block: int, width: int, scanline: int) -> bytes | None:
    """Decode bytes; None if they are damaged."""
    words = width // 8 if width > 16 else 1
    width = 16 if width == 16 else 8
    bits = Bits(data)
    values: list[int] = []
    most = 2**width - 1
    while left := size // (width // 8) - len(values):
        count = min(left, scanline)
        try:
            line = line_of(bits, -(-count // block), block, -(-scanline // block), width, bool(options & NN))[:count]
        except DamagedError:
            return None
        if options & NN:
            for i in range(1, count):
                before, number = line[i - 1], line[i]
                mirror = most if before > most // 2 else 0
                step = -(number + 1) // 2 if number & 1 else number // 2
                line[i] = mirror ^ number if (number + 1) // 2 > mirror ^ before else before + step
        values += line
    planes = np.array(values).astype({8: "u1", 16: ">u2" if options & BIG else "<u2"}[width]).view("u1")
    n = size // words
    return planes[: n * words].reshape(words, n).T.tobytes() + planes[n * words :].tobytes()


def kernel(data: bytes, size: int, *values: int) -> bytes | None:
    target = np.full(size + 8, 0xAA, np.uint8)
    is_good = decode_szip(np.frombuffer(data, np.uint8), target[:size], *values)
    assert (target[size:] == 0xAA).all()
    return target[:size].tobytes() if is_good else None


OPTIONS = st.tuples(
    st.sampled_from([LITTLE | NN, BIG | NN, LITTLE | EC]),
    st.sampled_from([2, 4, 8, 32]),
    st.sampled_from([8, 16, 32, 64]),
    st.integers(1, 200),
)


@given(data=st.binary(max_size=60), size=st.integers(0, 200), values=OPTIONS)
def test_any_bytes(data: bytes, size: int, values: tuple[int, int, int, int]) -> None:
    size -= size % 2
    assert kernel(data, size, *values) == plainly(data, size, *values)


def arrays(code: str, shape: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(3)
    size = int(np.prod(shape))
    limits = np.iinfo(code) if np.dtype(code).kind in "iu" else np.finfo(code)
    with np.errstate(invalid="ignore"):
        found = [
            np.zeros(size),
            np.cumsum(rng.integers(-3, 4, size)) % 100,
            np.arange(size) // 5 % 120,
            rng.random(size) < 0.02,
            np.round(rng.normal(size=size) * 20) % 120,
        ]
        made = [array.astype(code) for array in found]
        made.append(rng.choice(np.array([limits.min, limits.max], np.dtype(code)), size))
        made.append(np.where(rng.random(size) < 0.1, made[-1], made[1]))
    return [array.reshape(shape) for array in made]


@pytest.mark.parametrize("coding", ["nn", "ec"])
@pytest.mark.parametrize("code", ["i1", "u1", "<i2", ">u2", "<u4", ">i4", "<i8", ">u8", "<f4", ">f4", "<f8", ">f8"])
def test_chunks_of_the_library(code: str, coding: str, tmp_path: Path) -> None:
    n = 0
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for shape, block in itertools.product([(40,), (5000,), (3, 21, 20), (2, 4500)], [2, 8, 20, 32]):
            for i, array in enumerate(arrays(code, shape)):
                name = f"{shape}, {block}, {i}"
                storage = {"compression": "szip", "compression_opts": (coding, block)}
                dataset = file.create_dataset(name, data=array, chunks=shape, **storage)
                mask, data = dataset.id.read_direct_chunk((0,) * len(shape))
                if mask:  # it would be longer
                    continue
                n += 1
                filter_ = find_filter(4, dataset.id.get_create_plist().get_filter(0)[2])
                assert filter_ is not None
                assert bytes(decode(data, (filter_,), 0, array.nbytes).data) == array.tobytes(), name
                if array.nbytes < 200:
                    assert plainly(data[4:], array.nbytes, *filter_.values) == array.tobytes()
    assert n > 50


def chunk() -> tuple[bytes, tuple[int, ...], bytes]:
    """Return the bytes of a chunk, the client values of its filter, and what it decodes to."""
    values = (np.arange(300, dtype="<i2") // 7).tobytes()
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        data = np.frombuffer(values, "<i2")
        dataset = file.create_dataset("x", data=data, chunks=(300,), compression="szip", compression_opts=("nn", 8))
        return dataset.id.read_direct_chunk((0,))[1], dataset.id.get_create_plist().get_filter(0)[2], values


def test_damaged_chunks() -> None:
    data, client, values = chunk()
    filter_ = find_filter(4, client)
    assert filter_ is not None
    assert bytes(filter_.decode(data, len(values))) == values
    with pytest.raises(FormatError, match="filter szip: decodes to 600 bytes, expected at most 599"):
        filter_.decode(data, len(values) - 1)
    with pytest.raises(FormatError, match="filter szip: the bytes are damaged, or decode to less than 600"):
        filter_.decode(data[: len(data) // 2], len(values))
    with pytest.raises(FormatError, match="decodes to 1073741824 bytes, expected at most 32768"):
        filter_.decode((1 << 30).to_bytes(4, "little") + data[:4], 1 << 31)
    with pytest.raises(FormatError, match="filter szip: found 599 bytes of values of 16 bits"):
        filter_.decode((599).to_bytes(4, "little") + data[4:], 599)
    for bad in (data[:3], b""):
        with pytest.raises(FormatError):
            filter_.decode(bad, len(values))


@pytest.mark.parametrize("values", [(NN, 3, 8, 9), (NN, 0, 8, 9), (NN, 34, 8, 9), (NN, 8, 8, 0), (NN, 8, 8, 4097)])
def test_client_values_that_are_damaged(values: tuple[int, ...]) -> None:
    filter_ = find_filter(4, values)
    assert filter_ is not None
    with pytest.raises(FormatError, match=f"found blocks of {values[1]} and scanlines of {values[3]} values"):
        filter_.decode(b"\x08\0\0\0abcdefgh", 8)


@pytest.mark.parametrize("values", [(), (NN, 8, 8), (NN, 8, 12, 9), (NN, 8, 24, 9), (NN, 8, 8, 9, 0)])
def test_client_values_that_are_unusual(values: tuple[int, ...]) -> None:
    assert find_filter(4, values) is None


def test_no_bytes() -> None:
    assert kernel(b"", 0, NN, 8, 8, 9) == b""
    assert kernel(b"", 8, NN, 8, 8, 9) is None
