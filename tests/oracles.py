"""Each kernel in one line of NumPy or Python, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unpack_bits(packed: NDArray[np.uint8], n: int) -> NDArray[np.uint8]:
    return np.unpackbits(packed, count=n)


def count_bits(packed: NDArray[np.uint8], n: int) -> int:
    return int(np.unpackbits(packed, count=n).sum())


def swap(values: NDArray[Any]) -> NDArray[Any]:
    return values.byteswap()


def pack_bits(flags: NDArray[Any], before: NDArray[Any]) -> NDArray[np.uint8]:
    return np.packbits(np.concatenate([before, flags]) != 0)


def gather(flags: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    return values[flags == 0]


def scatter(flags: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    return np.where(flags != 0, values.dtype.type(0), values)


def lengths(strings: list[bytes], order: str) -> bytes:
    return np.array([len(string) for string in strings], f"{order}u8").tobytes()


def data(strings: list[bytes]) -> bytes:
    return b"".join(strings)


def shuffle(values: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(-1, values.itemsize).T.copy().reshape(-1)


def fletcher32(data: bytes) -> int:
    """Return the checksum as H5checksum.c has it, in which a sum that is a multiple of 65535 is 0 only at first."""
    first = second = 0
    for word in np.frombuffer(data + b"\0" * (len(data) % 2), ">u2").tolist():
        first += word
        second += first
    return (((second - 1) % 65535 + 1) if second else 0) << 16 | (((first - 1) % 65535 + 1) if first else 0)
