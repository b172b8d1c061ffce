"""Length-prefixed strings, to and from Python strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.kernels.ds.strings import decode_strings, encode_strings, has_none, total_length

from .. import oracles
from .inputs import BEYOND, lengths_of, texts, u1

byte_strings = st.lists(st.binary(max_size=20), max_size=30)


@given(texts | byte_strings, st.booleans())
def test_python_strings(values: list[Any], big: bool) -> None:
    text = not values or isinstance(values[0], str)
    raw = [value.encode() if text else value for value in values]
    lengths, data = oracles.lengths(raw, ">" if big else "<"), oracles.data(raw)
    assert total_length(u1(lengths), big, len(data)) == len(data)
    out = np.empty(len(values), object)
    decode_strings(u1(lengths), big, u1(data), text, out)
    assert out.tolist() == values
    objects = np.empty(len(values), object)
    objects[:] = values
    stored = encode_strings(objects, text)
    assert [part.tobytes() for part in stored] == [oracles.lengths(raw, "<"), data]


@pytest.mark.parametrize("sizes", BEYOND)
def test_lengths_that_run_beyond_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="ends beyond"):
        total_length(lengths_of(*sizes), False, 3)
    with pytest.raises(ValueError, match="3 bytes"):
        decode_strings(lengths_of(*sizes), False, u1(b"abc"), True, np.empty(len(sizes), object))


MISFITS = [
    lambda: total_length(u1(b"123"), False, 3),
    lambda: decode_strings(lengths_of(1), False, u1(b"ab"), True, np.empty(1, object)),
    lambda: decode_strings(lengths_of(1), False, u1(b"a"), True, np.empty(2, object)),
    lambda: encode_strings(np.array(["\udc80"], object), True),
]


@pytest.mark.parametrize("i", range(len(MISFITS)))
def test_what_does_not_fit_is_refused(i: int) -> None:
    with pytest.raises(ValueError, match=r"\d|surrogates"):
        MISFITS[i]()


@pytest.mark.parametrize(("value", "text"), [(b"a", True), ("a", False), (None, True), (5, False)])
def test_other_types_are_refused(value: Any, text: bool) -> None:
    with pytest.raises(TypeError, match="string 1: found"):
        encode_strings(np.array(["" if text else b"", value], object), text)


@pytest.mark.parametrize(("values", "found"), [([], False), (["a", b"", 0], False), (["a", None], True)])
def test_none_is_found(values: list[Any], found: bool) -> None:
    assert has_none(np.array(values, object)) is found
