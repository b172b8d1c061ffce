"""The encoder of JSON, against the json module and against known bytes."""

from __future__ import annotations

import collections
import enum
import gc
import hashlib
import json
import math
import random
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from ds_format.kernels.json.values import MAX_DEPTH, VALID, check_line, dumps
from ds_format.kernels.zds.lines import Encoder, add_lines
from ds_format.kernels.zds.zdx import Table

texts = st.text(st.characters(codec="utf-8"), max_size=70)
floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), floats, texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.lists(inner, max_size=3).map(tuple), st.dictionaries(texts, inner, max_size=5)
    ),
    max_leaves=20,
)
ids = st.from_regex(r"[A-Za-z0-9_-]([A-Za-z0-9_.-]{0,30})", fullmatch=True).filter(lambda id: ".." not in id)
documents = st.dictionaries(texts.filter("_id".__ne__), values, max_size=8)


def oracle(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


@given(values)
@example(['\x00\x1f\x7f\x80"\\/\b\f\n\r\t\u2028', "é" * 40, "a" * 15 + "\n", "a" * 16 + '"', "abc\\", "\\abcdefg"])
def test_values_are_encoded_as_the_json_module_does(value: object) -> None:
    assert dumps(value) == oracle(value)


any_text = st.text(st.characters(), max_size=40)
any_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), any_text),
    lambda inner: (
        st.lists(inner, max_size=5) | st.lists(inner).map(tuple) | st.dictionaries(any_text, inner, max_size=5)
    ),
    max_leaves=20,
)


@given(any_values)
@example(['\x00\x1f\x7f\x80"\\/\b\f\n\r\t\u2028', "\ud800", "\udfff\ud800", "\U0010ffff\U00010000\uffff"])
@example([math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1e16, [], (), {}, [[]], {"": {}}])
def test_values_are_encoded_as_the_json_module_does_by_default(value: object) -> None:
    assert dumps(value, None, True) == json.dumps(value).encode()


def test_all_characters_are_encoded_as_the_json_module_does_by_default() -> None:
    for first in range(0, 0x110000, 0x1000):
        text = "".join(map(chr, range(first, first + 0x1000)))
        assert dumps({text: "a" + text}, None, True) == json.dumps({text: "a" + text}).encode()


@given(st.integers(0, 40), st.integers(0, 40), st.sampled_from('"\\\x00\x1f\x20\x7f\xffé€\U0001f600'))
def test_escapes_at_any_place_of_a_string(before: int, behind: int, character: str) -> None:
    text = "a" * before + character + "b" * behind
    assert dumps({text: text}) == oracle({text: text})
    assert dumps({text: text}, None, True) == json.dumps({text: text}).encode()


@given(st.integers(-(10**15), 10**15), st.integers(0, 12))
def test_decimals_are_written_as_repr_does(digits: int, places: int) -> None:
    for value in (digits / 10**places, math.nextafter(digits / 10**places, math.inf), float(digits), digits * 1e-20):
        assert dumps(value) == repr(value).encode()


@given(st.integers(0, 2**64 - 1))
def test_all_doubles_are_written_as_repr_does(bits: int) -> None:
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if math.isfinite(value):
        assert dumps(value) == repr(value).encode()


@given(st.integers(-(2**66), 2**66))
@example(2**63)
@example(-(2**63))
def test_integers(value: int) -> None:
    assert dumps(value) == str(value).encode()


class Letter(str):
    __slots__ = ()


class Level(enum.IntEnum):
    LOW = 3


Pair = collections.namedtuple("Pair", "a b")


def test_values_of_subclasses() -> None:
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    value = [
        Letter("x"),
        Level.LOW,
        np.float64(0.1),
        Pair(1, 2),
        ordered,
        collections.Counter("aab"),
        {Letter("k"): True},
    ]
    assert dumps(value) == b'["x",3,0.1,[1,2],{"b":2,"a":1},{"a":2,"b":1},{"k":true}]'


def convert(value: Any) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"no {type(value).__name__}")


def test_the_fallback() -> None:
    value = {"a": np.int32(5), "b": np.arange(3), "c": [np.float32(0.5), np.bool_(True), np.zeros((2, 1), "i2")]}
    assert dumps(value, convert) == b'{"a":5,"b":[0,1,2],"c":[0.5,true,[[0],[0]]]}'
    with pytest.raises(TypeError, match="no set"):
        dumps([{1}], convert)
    with pytest.raises(ValueError, match="nested dicts and lists"):
        dumps(object(), lambda value: value)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


WRONG = [
    (math.nan, ValueError, "JSON has no number nan"),
    ([math.inf], ValueError, "JSON has no number inf"),
    (np.float64("-inf"), ValueError, "JSON has no number -inf"),
    ("\ud800", ValueError, "surrogates not allowed"),
    ({"\udfff": 1}, ValueError, "surrogates not allowed"),
    ({1: 2}, TypeError, "found the key 1 of type int, expected str"),
    ({"a": {None: 2}}, TypeError, "found the key None of type NoneType, expected str"),
    ({1, 2}, TypeError, "of type set"),
    (b"abc", TypeError, "of type bytes"),
    (nested(MAX_DEPTH + 1), ValueError, f"found more than {MAX_DEPTH} nested dicts and lists"),
    (cyclic(), ValueError, f"found more than {MAX_DEPTH} nested dicts and lists"),
]


@pytest.mark.parametrize(("value", "error", "message"), WRONG)
def test_what_json_has_not(value: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dumps(value)
    encoder = Encoder()
    encoder.add("good", {"a": 1})
    with pytest.raises(error, match=message):
        encoder.add("bad", {"a": "x" * 1000, "b": value})
    assert encoder.take() == b'{"_id":"good","a":1}\n'


def test_the_deepest() -> None:
    assert dumps(nested(MAX_DEPTH)) == b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    encoder = Encoder()
    encoder.add("a", {"a": nested(MAX_DEPTH - 1)})
    assert check_line(encoder.take())[0] == VALID


@given(st.lists(st.tuples(ids, documents, st.sampled_from(["id", "own", "both"])), max_size=6))
def test_lines(items: list[tuple[str, dict[str, Any], str]]) -> None:
    encoder, expected = Encoder(), b""
    for id, document, how in items:
        given_document = document if how == "id" else {**document, "_id": id}
        place = encoder.add(None if how == "own" else id, given_document)
        line = oracle({"_id": id, **document}) + b"\n"
        assert place == (len(expected), len(line))
        assert encoder.view(place[0], place[0] + place[1]) == line
        expected += line
        assert check_line(line)[0] == VALID
    assert encoder.size == len(encoder) == len(expected)
    assert bytes(encoder) == expected
    assert encoder.take() == expected
    assert (encoder.take(), bytes(encoder)) == (b"", b"")


BAD_IDS = ["", ".a", "a..b", "a/b", "a b", "é", "x" * 256, "a\n", "\ud800"]


@pytest.mark.parametrize("id", BAD_IDS)
def test_ids_that_are_refused(id: str) -> None:
    encoder = Encoder()
    for call in (
        lambda: encoder.add(id, {}),
        lambda: encoder.add(None, {"_id": id}),
        lambda: encoder.add(id, {"_id": id}),
    ):
        with pytest.raises(ValueError, match=r"found the id .*, expected 1 to 255 of"):
            call()
    assert encoder.size == 0


REFUSED = [
    (lambda encoder: encoder.add(None, {}), ValueError, "found a document without _id"),
    (lambda encoder: encoder.add(None, {"_id": 5}), ValueError, "found the id 5"),
    (lambda encoder: encoder.add("a", {"_id": "b"}), ValueError, "found the _id 'b' in the document with the id 'a'"),
    (lambda encoder: encoder.add("a", {"_id": None}), ValueError, "found the _id None in the document with the id 'a'"),
    (lambda encoder: encoder.add("a", [("x", 1)]), TypeError, "found a document of type list, expected dict"),
    (
        lambda encoder: encoder.put_all([("a", {}), 5], Table(), 0, 100),
        TypeError,
        "found a document of type int, expected dict",
    ),
    (lambda encoder: encoder.put_all([(None, {"_id": "a"})], Table(), 0, 100), ValueError, "found the id None"),
    (lambda encoder: encoder.view(0, 1000), IndexError, "no bytes 0 to 1000"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_an_encoder_refuses(call, error: type[Exception], message: str) -> None:
    encoder = Encoder()
    with pytest.raises(error, match=message):
        call(encoder)


def records(n: int) -> Iterator[dict[str, Any]]:
    """The records that the benchmarks of the reference program write, with their id as _id, too."""
    draw = random.Random(42)
    for i in range(n):
        age, score, active = draw.randint(18, 80), round(draw.uniform(0, 100), 2), draw.choice([True, False])
        n_tags = draw.randint(1, 3)
        tags, source = draw.sample(["a", "b", "c", "d", "e"], n_tags), draw.choice(["web", "mobile", "api"])
        names = {
            "_id": f"record_{i:08d}",
            "id": f"record_{i:08d}",
            "name": f"User {i}",
            "email": f"user{i}@example.com",
        }
        metadata = {"created": f"2025-01-{i % 28 + 1:02d}", "source": source}
        yield {**names, "age": age, "score": score, "active": active, "tags": tags, "metadata": metadata}


def test_put_all_writes_known_bytes() -> None:
    encoder, table, data, source = Encoder(), Table(), b"", iter(records(10_000))
    counts, done = 0, False
    while not done:
        count, done = encoder.put_all(source, table, len(data), 100_000)
        counts += count
        assert done or 100_000 <= encoder.size < 101_000
        data += encoder.take()
    assert (counts, len(data)) == (10_000, 2_050_701)
    assert hashlib.sha256(data).hexdigest() == "0bc046a79e99baff7f2a8a06956fd2f1c96cd09e0bee67530094f96582f6d249"
    again = Table()
    assert add_lines(again, data, 0, False) == (len(data), [])
    assert again.encode() == table.encode()


def test_put_all_keeps_what_came_before_an_error() -> None:
    encoder, table = Encoder(), Table()
    with pytest.raises(ValueError, match="nan"):
        encoder.put_all([("a", {"x": 1}), {"_id": "b"}, ("c", {"x": math.nan})], table, 50, 1 << 20)
    assert bytes(encoder) == b'{"_id":"a","x":1}\n{"_id":"b"}\n'
    assert (table.span("a"), table.span("b"), table.span("c")) == ((50, 18), (68, 12), None)
    assert encoder.put_all([], table, 50, 30) == (0, False)
    assert encoder.put_all([], table, 50, 31) == (0, True)


def test_a_buffer_that_is_held_does_not_change() -> None:
    encoder = Encoder()
    encoder.add("a", {})
    with memoryview(encoder) as view:
        for call in (lambda: encoder.add("b", {}), encoder.clear, encoder.take):
            with pytest.raises(BufferError):
                call()
        assert bytes(view) == b'{"_id":"a"}\n'
    encoder.clear()
    assert encoder.size == 0


def test_a_fallback_that_uses_its_encoder() -> None:
    def convert(value: object) -> object:
        errors = []
        for call in (lambda: encoder.add("b", {}), lambda: bytes(encoder), encoder.clear):
            try:
                call()
            except BufferError as error:
                errors.append(str(error))
        return errors

    encoder = Encoder(convert)
    encoder.add("a", {"x": {1}})
    assert json.loads(encoder.take())["x"] == [
        "the buffer is in use",
        "a document is being added",
        "the buffer is in use",
    ]


def test_a_fallback_that_changes_what_is_written() -> None:
    document: dict[str, Any] = {"a": {1}, "b": 2}

    def convert(value: object) -> object:
        document.clear()
        document.update((str(i), None) for i in range(100))
        gc.collect()
        return None

    with pytest.raises(RuntimeError):
        Encoder(convert).add("a", document)
