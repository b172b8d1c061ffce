"""Inputs of kernels that several tests have."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


def at_any_address(array: NDArray[Any], shift: int) -> NDArray[np.uint8]:
    """Return the bytes of an array at an address that suits no item size."""
    room = np.zeros(array.nbytes + shift, np.uint8)
    room[shift:] = array.view(np.uint8).reshape(-1)
    return room[shift:]


texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=30)


def u1(data: bytes) -> Any:
    return np.frombuffer(b"?" + data, np.uint8)[1:]


def lengths_of(*sizes: int) -> Any:
    return u1(b"".join(size.to_bytes(8, "little") for size in sizes))


BEYOND = [(3, 1), (1 << 63,), (1, (1 << 64) - 1), ((1 << 64) - 1, 2)]
