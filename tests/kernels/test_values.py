"""Bits and fixed-width values: the kernels against one line of NumPy each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ds_format.kernels.ds.values import count_bits, gather, pack_bits, scatter, unpack_bits

from .. import oracles
from .inputs import at_any_address

sizes = st.one_of(st.integers(0, 40), st.integers(60, 140))
flag_arrays = sizes.flatmap(lambda n: hnp.arrays(np.uint8, n, elements=st.sampled_from([0, 0, 0, 1, 2, 128, 255])))
widths = st.sampled_from([1, 2, 4, 8])


@given(sizes, st.data())
def test_unpack_and_count(n: int, data: st.DataObject) -> None:
    packed = data.draw(hnp.arrays(np.uint8, (n + 7) // 8))
    flags = np.full(n, 0xFF, np.uint8)
    unpack_bits(packed, flags)
    assert flags.tolist() == oracles.unpack_bits(packed, n).tolist()
    assert count_bits(packed, n) == oracles.count_bits(packed, n)


@given(flag_arrays, st.integers(0, 7), st.data())
def test_pack(flags: NDArray[np.uint8], first: int, data: st.DataObject) -> None:
    before = data.draw(hnp.arrays(np.uint8, first, elements=st.integers(0, 1)))
    expected = oracles.pack_bits(flags, before)
    packed = np.full(expected.size, 0xFF, np.uint8)  # the bits behind `first` are not looked at
    packed[:1] = np.packbits(np.concatenate([before, np.ones(8 - first, np.uint8)]))[:1]
    assert pack_bits(flags, packed, first) == np.count_nonzero(flags)
    assert not flags.size or packed.tolist() == expected.tolist()


@given(widths, flag_arrays, st.integers(0, 7), st.booleans(), st.data())
def test_gather_and_scatter(
    size: int, flags: NDArray[np.uint8], shift: int, swapped: bool, data: st.DataObject
) -> None:
    values = data.draw(hnp.arrays(np.dtype(f"u{size}"), flags.size))
    mask, present = np.packbits(flags != 0), oracles.gather(flags, values)
    out_present = np.empty(present.nbytes + shift, np.uint8)[shift:]
    given = oracles.swap(values) if swapped else values
    gather(flags, at_any_address(given, shift), out_present, size, swapped)
    assert out_present.tobytes() == present.tobytes()
    stored = at_any_address(oracles.swap(present) if swapped else present, shift)
    out_flags, out = np.full(flags.size, 0xFF, np.uint8), np.full(values.nbytes, 0xFF, np.uint8)
    scatter(mask, stored, out_flags, out, size, swapped)
    assert out_flags.tolist() == (flags != 0).tolist()
    assert out.tobytes() == oracles.scatter(flags, values).tobytes()


def u1(n: int) -> NDArray[np.uint8]:
    return np.zeros(n, np.uint8)


MISFITS = [
    lambda: unpack_bits(u1(1), u1(9)),
    lambda: count_bits(u1(1), 9),
    lambda: count_bits(u1(1), -1),
    lambda: scatter(u1(1), u1(8), u1(9), u1(9), 1, False),
    lambda: scatter(u1(1), u1(3), u1(4), u1(4), 1, False),
    lambda: scatter(u1(2), u1(8), u1(16), u1(16), 1, False),
    lambda: scatter(np.full(2, 255, np.uint8), u1(16), u1(16), u1(16), 1, False),
    lambda: scatter(u1(1), u1(3), u1(4), u1(8), 2, False),
    lambda: pack_bits(u1(9), u1(1)),
    lambda: pack_bits(u1(8), u1(2)),
    lambda: pack_bits(u1(8), u1(1), 1),
    lambda: pack_bits(u1(8), u1(2), 8),
    lambda: pack_bits(u1(8), u1(1), -1),
    lambda: gather(u1(4), u1(4), u1(3), 1, False),
    lambda: gather(np.ones(4, np.uint8), u1(4), u1(4), 1, False),
    lambda: gather(u1(16), u1(16), u1(8), 1, False),
    lambda: gather(u1(4), u1(3), u1(4), 1, False),
    lambda: gather(u1(4), u1(4), u1(4), 5, False),
]


@pytest.mark.parametrize("i", range(len(MISFITS)))
def test_lengths_that_do_not_fit_are_refused(i: int) -> None:
    with pytest.raises(ValueError, match=r"\d"):
        MISFITS[i]()


def test_inputs_may_be_read_only() -> None:
    out = u1(8)
    unpack_bits(b"\xa0", out)
    assert out.tolist() == [1, 0, 1, 0, 0, 0, 0, 0]
