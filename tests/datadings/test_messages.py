"""Samples ↔ messages: what comes back, what is refused, and that no object is ever made from a file."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from enum import IntEnum
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as npst

from ds_format.datadings import messages
from ds_format.errors import FormatError, TruncatedError, UnsafeError, UnsupportedError

from ..numpy_versions import NUMPY_2
from ..same import same_object

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
scalar_dtypes = npst.scalar_dtypes().filter(lambda dtype: dtype.char not in "gG")


def has_titles(dtype: np.dtype[Any]) -> bool:
    return any(len(field) > 2 or has_titles(field[0]) for field in (dtype.base.fields or {}).values())


dtypes = (scalar_dtypes | npst.array_dtypes(scalar_dtypes, max_size=4)).filter(
    lambda dtype: dtype.itemsize > 0 and not has_titles(dtype)
)
ndarrays = npst.arrays(dtypes, npst.array_shapes(min_dims=0, min_side=0, max_side=4))
numbers = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.complex_numbers(allow_nan=False)
)
values = st.recursive(
    numbers | texts | st.binary(max_size=40) | ndarrays,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts | st.integers(0, 99), inner, max_size=5),
    max_leaves=10,
)


def encoded(**entries: Any) -> bytes:
    return bytes(msgpack.packb({name.encode(): value for name, value in entries.items()}))


def array_map(array: Any) -> dict[bytes, Any]:
    """What the format says of an array, in one line."""
    kind = array.dtype.kind == "V"
    type_ = array.dtype.descr if kind else array.dtype.str
    return {b"nd": True, b"type": type_, b"kind": b"V" * kind, b"shape": array.shape, b"data": array.tobytes()}


@given(values)
def test_what_is_packed_comes_back(value: Any) -> None:
    for _ in range(2):  # the second time the kernels know the dtypes
        assert same_object(messages.unpack(messages.pack(value)), value)
        assert same_object(messages.unpack(messages.pack(value), writable=True), value)


@given(ndarrays, st.booleans())
def test_arrays_are_packed_as_the_format_says(array: Any, fortran: bool) -> None:
    for _ in range(2):
        expected = msgpack.packb(array_map(array))
        assert messages.pack(np.asfortranarray(array) if fortran and array.ndim else array) == expected
        assert messages.pack({"key": "a", "x": [array]})[-len(expected) :] == expected


@given(scalar_dtypes, st.data())
def test_scalars(dtype: Any, data: Any) -> None:
    value: Any = np.array(data.draw(npst.from_dtype(dtype)), dtype.newbyteorder("="))[()]
    message = messages.pack({"a": value})
    if value.dtype.kind in "SU" or value.dtype == np.float64:  # these are Python's types, too
        assert message[3:] == msgpack.packb(value.item())
    else:
        assert same_object(messages.unpack(message)["a"], value)
        assert message[3:] == msgpack.packb({b"nd": False, b"type": value.dtype.str, b"data": value.tobytes()})


def test_python_types_that_are_others_in_the_file() -> None:
    class Number(IntEnum):
        ONE = 1

    given_ = [
        (1, 2),
        OrderedDict(b=1, a=2),
        Number.ONE,
        bytearray(b"x"),
        memoryview(b"y"),
        np.float64(1.5),
        np.str_("s"),
    ]
    assert messages.unpack(messages.pack(given_)) == [[1, 2], {"b": 1, "a": 2}, 1, b"x", b"y", 1.5, "s"]


def test_extensions_pass_through() -> None:
    for value in (msgpack.ExtType(5, b"abc"), msgpack.Timestamp(1, 2)):
        assert messages.unpack(messages.pack({"key": "a", "x": value}))["x"] == value


def test_other_kinds_of_arrays() -> None:
    plain = np.arange(6, dtype="<i2").reshape(2, 3)
    record = np.array([(1, 2.5)], [("a", "<i4"), ("b", "<f4")])
    for array, expected in [
        (plain[::-1, ::2], plain[::-1, ::2].copy()),
        (plain.T, plain.T.copy()),
        (np.broadcast_to(plain[0], (2, 3)), np.array([[0, 1, 2]] * 2, "<i2")),
        (np.ma.array(plain), plain),
        (np.ma.array(plain, mask=np.zeros((2, 3), bool)), plain),
        (record.view(np.recarray), record),
    ]:
        assert same_object(messages.unpack(messages.pack(array)), expected)


def test_arrays_are_read_only_unless_they_are_asked_to_change() -> None:
    for dtype in ("u1", "<f8", "M8[s]", [("a", "<i2"), ("b", "<f8")]):
        message = messages.pack({"key": "a", "x": np.zeros(3, dtype)})
        assert not messages.unpack(message)["x"].flags.writeable
        array = messages.unpack(message, writable=True)["x"]
        array[:] = array[::-1]
        assert messages.unpack(bytearray(message))["x"].shape == (3,)
        assert messages.unpack(memoryview(message))["x"].shape == (3,)


def test_padding_comes_back() -> None:
    aligned = np.array([(1, 10), (2, 20)], np.dtype([("a", "i1"), ("b", "<i4")], align=True))
    found = messages.unpack(messages.pack(aligned))
    assert found.dtype.names == ("a", "b")
    assert found["b"].tolist() == [10, 20]
    assert messages.pack(found) == messages.pack(aligned)
    assert messages.unpack(messages.pack(np.zeros(2, "V4"))).dtype == np.dtype("V4")


class WithObjects:
    def __reduce__(self) -> Any:
        return pytest.fail, ("code from the file was run",)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([object()]), "object"),
        (np.zeros(2, [("a", "O")]), "object"),
        (np.zeros(2, [("a", [("b", "O", 2)])]), "object"),
        *([(np.array(["a"], np.dtypes.StringDType()), "StringDType")] if NUMPY_2 else []),
        (np.zeros(2, "g"), "differs from machine to machine"),
        (np.zeros(2, [("a", "G")]), "differs from machine to machine"),
        (np.longdouble(1), "differs from machine to machine"),
        (np.zeros(2, np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i4"], "offsets": [0, 2]})), "overlap"),
        (np.zeros(2, np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i4"], "offsets": [4, 0]})), "order"),
        (np.zeros(2, [(("title", "a"), "<i4")]), "titles"),
        (np.ma.array([1, 2], mask=[False, True]), "masked"),
        (np.zeros((), [("a", "<i4")])[()], "structured"),
        ({1, 2}, "set"),
        (object(), "object"),
        (2**64, "18446744073709551616"),
        (-(2**63) - 1, "64 bits"),
        ({(1, 2): 3}, "an array as key of a map"),
        ("\ud800", "surrogates"),
        ([], None),
    ],
)
def test_what_cannot_be_stored_is_named(value: Any, message: str | None) -> None:
    sample = {"key": "a", "x": [0, {"y": value}]}
    if message is None:
        messages.pack(sample)
        return
    with pytest.raises(UnsupportedError, match=message) as caught:
        messages.pack(sample)
    assert "entry ['x'][1]['y']" in str(caught.value)
    assert messages.unpack(messages.pack({"key": "b"})) == {"key": "b"}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting() -> None:
    assert messages.pack(messages.unpack(messages.pack(nested(1024)))) == b"\x91" * 1024 + b"\x01"
    for depth in (1025, 1026, 3000):
        with pytest.raises(UnsupportedError) as caught:
            messages.pack(nested(depth))
        assert caught.value.message.count("[0]") <= messages.MAX_STEPS
    with pytest.raises(FormatError, match="1024 containers inside of one another, at byte 1024 of the message"):
        messages.unpack(b"\x91" * 20_000 + b"\x01")


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"", TruncatedError, "cut off, at byte 0"),
        (b"\x92\x01", TruncatedError, "cut off, at byte 0"),
        (b"\xdd\xff\xff\xff\xff", TruncatedError, "cut off, at byte 0"),
        (b"\xc1", FormatError, "does not use, at byte 0"),
        (b"\x01\x02\x03", FormatError, "2 bytes behind the message, from its byte 1 on"),
        (b"\xa2\xff\xfe", FormatError, "not UTF-8"),
        (b"\x81\x91\x01\x02", FormatError, "an array as key of a map, at byte 1"),
        (b"\x81\x81\x01\x02\x03", FormatError, "unhashable"),
        (b"\xc7\x0c\xff" + b"\xff" * 12, FormatError, "nanoseconds"),
    ],
)
def test_messages_that_are_wrong(data: bytes, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        messages.unpack(data)


DATA = bytes(16)


@pytest.mark.parametrize(
    ("entries", "kind", "message"),
    [
        ({"type": "<f8", "shape": [3]}, FormatError, r"shape \[3\] and dtype float64: needs 24 bytes, found 16"),
        ({"type": "<f8", "shape": [-1]}, FormatError, r"found \[-1\], expected integers"),
        ({"type": "<f8", "shape": 2}, FormatError, "found 2, expected a list"),
        ({"type": "<f8", "shape": ["2"]}, FormatError, "expected integers"),
        ({"type": "<f8", "shape": [True]}, FormatError, "expected integers"),
        ({"type": "<f8", "shape": [2**62, 4]}, FormatError, "needs 147573952589676412928 bytes"),
        ({"type": "<f8", "shape": [0, 2**62, 2**62]}, FormatError, "too large"),
        ({"type": "<f8", "shape": [1] * 65}, FormatError, "65 dimensions"),
        ({"type": "zz", "shape": [1]}, FormatError, "found 'zz', expected a type string"),
        ({"type": "f4,f4", "shape": [1]}, FormatError, "expected a type string"),
        ({"type": "<M8[lightyears]", "shape": [1]}, FormatError, "expected a type string"),
        ({"type": 5, "shape": [1]}, FormatError, "found 5, expected a type string or fields"),
        ({"type": [["a"]], "shape": [1]}, FormatError, r"field of an array: found \['a'\]"),
        ({"type": [["a", "<i4"], ["a", "<i4"]], "shape": [1]}, FormatError, "type of an array"),
        ({"type": [["a", "<i4", [-1]]], "shape": [1]}, FormatError, "expected integers"),
        ({"type": "<f16", "shape": [1]}, UnsupportedError, "differ from machine to machine"),
        ({"type": "<c32", "shape": [1]}, UnsupportedError, "differ from machine to machine"),
        ({"type": "|O", "shape": [2]}, UnsafeError, "Python objects"),
        ({"type": "O8", "shape": [2]}, UnsafeError, "Python objects"),
        ({"type": [["a", "|O"]], "shape": [2]}, UnsafeError, "Python objects"),
        ({"type": [["", "|O"]], "shape": [2], "kind": b"V"}, UnsafeError, "Python objects"),
        ({"type": [["a", [["b", "|O", [1]]]]], "shape": [2], "kind": b"V"}, UnsafeError, "Python objects"),
        ({"type": b"|O", "shape": [2]}, UnsafeError, "Python objects"),
        ({"type": "<f8", "shape": [2], "data": "text"}, FormatError, "found str, expected bytes"),
        ({"type": "<f8", "shape": [2], "data": 5}, FormatError, "found int, expected bytes"),
    ],
)
def test_arrays_that_are_wrong(entries: dict[str, Any], kind: type[Exception], message: str) -> None:
    for is_array in (True, False):
        if not is_array and "shape" in message:
            continue
        data = encoded(**({"nd": is_array, "kind": b"", "data": DATA} | entries))
        if is_array or kind is not FormatError:
            with pytest.raises(kind, match=message):
                messages.unpack(data)


def test_fields_inside_of_fields_without_end() -> None:
    type_: Any = "<i4"
    for _ in range(100):
        type_ = [["a", type_]]
    with pytest.raises(FormatError, match="expected a type string or fields"):
        messages.unpack(encoded(nd=True, type=type_, kind=b"V", shape=[1], data=DATA))


@pytest.mark.parametrize("type_", ["|O", "<f8", [["", "|O"]]])
def test_no_pickle_is_ever_opened(type_: Any) -> None:
    data = pickle.dumps(WithObjects())
    entries = {"nd": True, "kind": b"O", "data": data}
    for entry in (entries, entries | {"type": type_, "shape": [1]}):
        for writable in (False, True):
            with pytest.raises(UnsafeError, match="pickle"):
                messages.unpack(encoded(**entry), writable=writable)


@pytest.mark.parametrize("type_", ["|S0", "<U0"])
def test_elements_without_bytes(type_: str) -> None:
    for shape in ([], [1], [3], [0]):
        found = messages.unpack(encoded(nd=True, type=type_, kind=b"", shape=shape, data=b""))
        assert found.shape == tuple(shape)
        assert found.tolist() == np.zeros(shape, type_).tolist()


def test_maps_that_only_look_like_arrays() -> None:
    for entries in (
        {b"nd": True},
        {b"nd": True, b"data": b"", b"type": "<f8"},
        {b"complex": True},
        {"nd": True, "x": 1},
    ):
        assert messages.unpack(msgpack.packb(entries)) == entries
    assert messages.unpack(encoded(nd=0, type="<i4", data=b"\x05\0\0\0rest")) == 5
    assert messages.unpack(encoded(complex=False, data=b"1+2j")) == 1 + 2j
    for data in ("one", 5, b"\xff"):
        with pytest.raises(FormatError, match="complex number"):
            messages.unpack(encoded(complex=True, data=data))


@pytest.mark.parametrize("value", [1j, -1j, 1 - 0j, complex(-0.0, 1), complex("nan+infj"), 1e16 + 1e-5j, 1.5 - 2.25j])
def test_complex_text(value: complex) -> None:
    assert messages.pack(value) == msgpack.packb({b"complex": True, b"data": repr(value)})
    assert same_object(messages.unpack(messages.pack(value)), value) or "nan" in repr(value)


def test_a_sample_is_data_however_often_it_names_types() -> None:
    for i in range(messages.MAX_LEARNT + 50):
        messages.unpack(encoded(nd=True, type=f"|S{i + 1}", kind=b"", shape=[0], data=b""))
        messages.pack(np.zeros(1, f"S{i + 1}"))
    assert len(messages.DTYPES) <= messages.MAX_LEARNT and len(messages.PREFIXES) <= messages.MAX_LEARNT
    assert same_object(messages.unpack(messages.pack(np.zeros(2, "S5000"))), np.zeros(2, "S5000"))


def test_threads_share_nothing() -> None:
    value = {"key": "a", "x": [{1: np.arange(9)}, 2j]}
    expected = messages.pack(value)
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(
            1 for _ in range(300) if messages.pack(value) != expected or messages.unpack(expected)["key"] != "a"
        )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
