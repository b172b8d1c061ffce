"""Each kernel once more, in one line of NumPy or Python."""

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


def gather(flags: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    return np.packbits(flags != 0), values[flags == 0]


def scatter(flags: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    return np.where(flags != 0, values.dtype.type(0), values)


def lengths(strings: list[bytes], order: str) -> bytes:
    return np.array([len(string) for string in strings], f"{order}u8").tobytes()


def data(strings: list[bytes]) -> bytes:
    return b"".join(strings)
