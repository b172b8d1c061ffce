"""The check of JSON lines, against the json module and against literals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from ds_format.kernels.json.values import (
    CARRIAGE_RETURN,
    FAULTS,
    ID_ESCAPED,
    ID_FOUND,
    ID_STRING,
    ID_TWICE,
    MAX_DEPTH,
    NUMBER_RANGE,
    VALID,
    big_number,
    check_line,
    check_text,
)

texts = st.text(st.characters(codec="utf-8"), max_size=70)
numbers = st.one_of(st.integers(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(texts, inner, max_size=5)),
    max_leaves=20,
)
documents = st.dictionaries(st.one_of(texts, st.just("_id")), values, max_size=8)
separators = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r: ")])


def refuse(word: str) -> None:
    raise ValueError(word)


def oracle(data: bytes) -> dict[str, Any] | None:
    """Return the object, or None if the data is no JSON with an object."""
    try:
        value = json.loads(data.decode(), parse_constant=refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@given(documents, separators, st.booleans(), st.sampled_from([None, 1]))
def test_what_the_json_module_writes_is_valid(
    document: dict[str, Any], between: tuple[str, str], ascii_only: bool, indent: int | None
) -> None:
    data = json.dumps(document, ensure_ascii=ascii_only, separators=between, indent=indent).encode()
    status, error, start, size, flags = check_text(data)
    assert (status, error) == (VALID, 0)
    if indent is None:
        assert check_line(data) == (status, error, start, size, flags)
        assert check_line(data + b"\n") == (status, error, start, size, flags)
    assert bool(flags & ID_FOUND) == ("_id" in document)
    assert bool(flags & ID_STRING) == isinstance(document.get("_id"), str)
    if flags & ID_STRING:
        raw = data[start : start + size]
        assert json.loads(b'"' + raw + b'"') == document["_id"]
        assert bool(flags & ID_ESCAPED) == (b"\\" in raw)


alphabet = st.sampled_from(list(b'{}[]:,"\\\n\r\t 019.-+eEtrufalsn_idNIy/\x00\x1f\x7f\x80\xbf\xc0\xe0\xed\xf4\xff'))
mutations = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from(["set", "insert", "delete", "cut"]), alphabet), max_size=3
)


@given(documents, separators, st.booleans(), mutations)
@example({"": "\ud7ff\ue000"}, (",", ":"), True, [(9, "set", 0x38)])
def test_changed_bytes_are_judged_as_the_json_module_does(
    document: dict[str, Any], between: tuple[str, str], ascii_only: bool, changes: list[tuple[int, str, int]]
) -> None:
    data = bytearray(json.dumps(document, ensure_ascii=ascii_only, separators=between).encode())
    for where, what, byte in changes:
        at = where % (len(data) + 1)
        data[at : at + (what in {"set", "delete"})] = b"" if what in {"delete", "cut"} else bytes([byte])
        if what == "cut":
            del data[at:]
    found = oracle(bytes(data))
    status, error, _, _, flags = check_text(data)
    assert (status == VALID) == (found is not None), (bytes(data), FAULTS[status], error)
    assert 0 <= error <= len(data)
    if b"\n" not in data:
        assert check_line(data)[:2] == (status, error)
    if found is not None:
        assert bool(flags & ID_FOUND) == ("_id" in found)


@given(st.binary(max_size=150))
def test_any_bytes_are_judged_as_the_json_module_does(data: bytes) -> None:
    for text in (data, b'{"a":"' + data + b'"}', b'{"a":' + data + b"}"):
        assert (check_text(text)[0] == VALID) == (oracle(text) is not None)


WRONG = [
    (b"", "only white space", 0),
    (b" \t\r\n", "only white space", 3),
    (b"[1]", "not an object", 0),
    (b"\0", "not an object", 0),
    (b"{", "truncated", 1),
    (b'{"a"', "truncated", 4),
    (b'{"a":', "truncated", 5),
    (b'{"a":1', "truncated", 6),
    (b'{"a":"', "truncated", 6),
    (b'{"a":1,\n', "truncated", 7),
    (b"{1:2}", "found no key in quotes", 1),
    (b'{"a":1,}', "found no key in quotes", 7),
    (b'{"a" 1}', "found no colon after a key", 5),
    (b'{"a":}', "found no value", 5),
    (b'{"a":tru}', "found no value", 5),
    (b'{"a":[1,]}', "found no value", 8),
    (b'{"a":1 2}', "found neither a comma nor the end of the object or array", 7),
    (b'{"a":[1}', "found neither a comma nor the end of the object or array", 7),
    (b'{"a":01}', "not a JSON number", 6),
    (b'{"a":-}', "not a JSON number", 6),
    (b'{"a":1.}', "not a JSON number", 7),
    (b'{"a":1e+}', "not a JSON number", 8),
    (b'{"a":NaN}', "NaN and Infinity are not JSON", 5),
    (b'{"a":-Infinity}', "NaN and Infinity are not JSON", 6),
    (b'{"a":"\x1f"}', "a control character in a string", 6),
    (b'{"a":"\\x"}', "not a JSON escape", 6),
    (b'{"a":"\\u12g4"}', "not a JSON escape", 6),
    (b'{"a":"\\ud800"}', "half a surrogate pair", 6),
    (b'{"a":"\\udc00\\ud800"}', "half a surrogate pair", 6),
    (b'{"a":"\\ud800\\u0041"}', "half a surrogate pair", 6),
    (b'{"a":"\xc0\x80"}', "not UTF-8", 6),
    (b'{"a":"\xed\xa0\x80"}', "not UTF-8", 6),
    (b'{"a":"\xf4\x90\x80\x80"}', "not UTF-8", 6),
    (b'{"a":"\xe2\x82"}', "not UTF-8", 6),
    (b'{"a":"\xff', "not UTF-8", 6),
    (b'{"a":\xff}', "not UTF-8", 5),
    (b"{}x", "found more after the object", 2),
    (b'{}\n{"a":1}', "found more after the object", 3),
    (b"\xef\xbb\xbf{}", "a byte order mark", 0),
]


@pytest.mark.parametrize(("data", "fault", "error"), WRONG)
def test_what_is_wrong_and_where(data: bytes, fault: str, error: int) -> None:
    status, at, *_ = check_line(data)
    assert (FAULTS[status], at) == (fault, error)


@pytest.mark.parametrize("opening", [b'{"a":', b"["])
def test_depth(opening: bytes) -> None:
    closing = b"}" if opening[:1] == b"{" else b"]"
    for n, fault in (
        (MAX_DEPTH - 1, "valid"),
        (MAX_DEPTH, f"more than {MAX_DEPTH} nested objects and arrays"),
    ):
        assert FAULTS[check_line(b'{"x":' + opening * n + b"1" + closing * n + b"}")[0]] == fault
    assert check_line(b'{"x":' + opening * 200_000)[0] != VALID


IDS = [
    (b"{}", -1, 0, 0),
    (b'{"a":{"_id":"x"}}', -1, 0, 0),
    (b'{"_id":"x"}', 8, 1, ID_FOUND | ID_STRING),
    (b'{"_id" : ""}', 10, 0, ID_FOUND | ID_STRING),
    (b'{"b":[1],"_id":"a\\nb"}', 16, 4, ID_FOUND | ID_STRING | ID_ESCAPED),
    (b'{"\\u005fi\\u0064":"x"}', 18, 1, ID_FOUND | ID_STRING),
    (b'{"\\u005fi\\u0044":"x"}', -1, 0, 0),
    (b'{"\\n005fid":"x"}', -1, 0, 0),
    (b'{"_id":5}', 7, 0, ID_FOUND),
    (b'{"_id":{"_id":"x"}}', 7, 0, ID_FOUND),
    (b'{"_id":"\\u0041","_id":"x"}', 23, 1, ID_FOUND | ID_STRING | ID_TWICE),
    (b'{"_id":"x","_id":null}', 17, 0, ID_FOUND | ID_TWICE),
    (b'{"_id":"x"}\r\n', 8, 1, ID_FOUND | ID_STRING | CARRIAGE_RETURN),
]


@pytest.mark.parametrize(("data", "start", "size", "flags"), IDS)
def test_where_the_id_is(data: bytes, start: int, size: int, flags: int) -> None:
    assert check_line(data) == (VALID, 0, start, size, flags)


@given(
    st.one_of(st.integers(-(2**66), 2**66), st.sampled_from([2**63, -(2**63), 2**64 - 1, 10**19, 10**18])),
    st.integers(-2, 2),
)
def test_integers_beyond_64_bits_are_flagged(value: int, more: int) -> None:
    value += more
    data = b'{"a":%d}' % value
    assert bool(check_line(data)[4] & NUMBER_RANGE) == (not -(2**63) <= value < 2**64)
    assert big_number(data) == (len(str(abs(value))) >= 19)
    assert check_line(b'{"a":%d.5}' % value)[4] == 0


@given(st.integers(0, 10**30), st.text("0123456789", max_size=340), st.integers(-420, 420))
def test_numbers_that_are_infinite_as_doubles_are_flagged(whole: int, fraction: str, exponent: int) -> None:
    for number in (f"{whole}.{fraction}5e{exponent}", f"-{whole}E{exponent:+04}", f"0.{fraction}1e{exponent}"):
        data = b'{"a":[%s]}' % number.encode()
        assert bool(check_line(data)[4] & NUMBER_RANGE) == (abs(float(number)) == float("inf"))


@given(st.lists(st.integers(0, 45)), st.sampled_from([b",", b"x.", b" - ", b'"']))
def test_long_runs_of_digits_are_found(lengths: list[int], between: bytes) -> None:
    data = between.join(b"7" * length for length in lengths)
    assert big_number(data) == any(length >= 19 for length in lengths)
    assert big_number(memoryview(data)) == big_number(data)
