"""Length-prefixed strings, to and from NumPy's StringDType."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.kernels.ds.strings import decode_strings

from .. import oracles
from .inputs import BEYOND, lengths_of, texts, u1

pytest.importorskip("numpy", "2.0")
from ds_format.kernels.ds.numpy_strings import decode_numpy_strings, encode_numpy_strings

STRING = np.dtypes.StringDType()


@given(texts, st.booleans())
def test_numpy_strings(values: list[str], big: bool) -> None:
    raw = [value.encode() for value in values]
    lengths, data = oracles.lengths(raw, ">" if big else "<"), oracles.data(raw)
    out = np.empty(len(values), STRING)
    decode_numpy_strings(u1(lengths), big, u1(data), out)
    assert out.tolist() == values
    for array in (out, np.repeat(np.array(values, STRING), 2)[::2]):
        assert [part.tobytes() for part in encode_numpy_strings(array)] == [oracles.lengths(raw, "<"), data]


@given(st.binary(max_size=12))
def test_both_decoders_agree_on_what_is_utf8(data: bytes) -> None:
    lengths = u1(len(data).to_bytes(8, "little"))
    try:
        expected: str | None = data.decode()
    except UnicodeDecodeError:
        expected = None
    out, numpy_out = np.empty(1, object), np.empty(1, STRING)
    if expected is None:
        with pytest.raises(ValueError, match="string 0"):
            decode_strings(lengths, False, u1(data), True, out)
        with pytest.raises(ValueError, match="string 0"):
            decode_numpy_strings(lengths, False, u1(data), numpy_out)
    else:
        decode_strings(lengths, False, u1(data), True, out)
        decode_numpy_strings(lengths, False, u1(data), numpy_out)
        assert out[0] == numpy_out[0] == expected


EDGES = [
    "\x7f",
    "\x80",
    "\u07ff",
    "\u0800",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\U00010000",
    "\U0010ffff",
    "",
    "a" * 15,
    "a" * 300,
]


@pytest.mark.parametrize("text", EDGES)
def test_the_edges_of_utf8(text: str) -> None:
    out = np.empty(1, STRING)
    data = text.encode()
    decode_numpy_strings(u1(len(data).to_bytes(8, "little")), False, u1(data), out)
    assert out[0] == text


@pytest.mark.parametrize(
    "data",
    [
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5",
        b"\x80",
    ],
)
def test_what_is_not_utf8(data: bytes) -> None:
    with pytest.raises(ValueError, match="string 0"):
        decode_numpy_strings(u1(len(data).to_bytes(8, "little")), False, u1(data), np.empty(1, STRING))


@pytest.mark.parametrize("sizes", BEYOND)
def test_lengths_that_run_beyond_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="3 bytes"):
        decode_numpy_strings(lengths_of(*sizes), False, u1(b"abc"), np.empty(len(sizes), STRING))


MISFITS = [
    lambda: decode_numpy_strings(lengths_of(1), False, u1(b"ab"), np.empty(1, STRING)),
    lambda: decode_numpy_strings(lengths_of(1), False, u1(b"a"), np.empty(2, STRING)),
    lambda: decode_numpy_strings(lengths_of(1), False, u1(b"a"), np.empty(1, object)),
    lambda: encode_numpy_strings(np.array([None], np.dtypes.StringDType(na_object=None))),
    lambda: encode_numpy_strings(np.array([["a"]], STRING)),
]


@pytest.mark.parametrize("i", range(len(MISFITS)))
def test_what_does_not_fit_is_refused(i: int) -> None:
    with pytest.raises(ValueError, match=r"\d"):
        MISFITS[i]()
