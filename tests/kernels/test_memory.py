"""Files in a row: what is compared of their headers."""

from __future__ import annotations

import json
import sys
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.codec.line import TYPES_BY_NUMBER, parse_usual
from ds_format.kernels.header.header import differing
from ds_format.kernels.header.memory import are_alike, merge_entries
from ds_format.kernels.header.parser import Model, Parser

from ..same import same_value
from ..strategies import json_values

FOREIGN = "b" if sys.byteorder == "little" else "l"
NATIVE = "l" if FOREIGN == "b" else "b"
NUMBERS = {ds_type.name: i for i, ds_type in enumerate(TYPES_BY_NUMBER)}
BODY = np.arange(4, dtype="i4").tobytes()


def made(entries: dict[str, Any], attributes: str = "{}", body: bytes = BODY) -> bytearray:
    text = json.dumps({key: {".type": "int32", ".endian": NATIVE, **entry} for key, entry in entries.items()})
    return bytearray(b"ds-1.0\n" + f'{text[:-1]}, ".": {attributes}}}'.encode() + b"\n" + body)


def header(data: bytearray) -> Any:
    found = parse_usual(data)
    assert found is not None
    return found[0]


def model(data: bytearray) -> Model:
    line = bytes(data[: data.index(b"\n", 8) + 1])
    own = json.loads(line.partition(b"\n")[2])["."]
    return Model(line, line.index(b'".": ') + 5, own)


@pytest.mark.parametrize(
    ("entry", "n"),
    [
        ({}, 0),
        ({".offset": 4}, 1),
        ({".endian": FOREIGN}, 1),
        ({".type": "float32"}, 1),
        ({".size": [2]}, 1),
        ({".missing": True}, 1),
        ({".len": 5}, 0),
        ({".offset": 17}, 1),
        ({".offset": 10**17}, 1),
    ],
)
def test_bytes_that_differ(entry: Any, n: int) -> None:
    first = made({"x": {".size": [3]}, "y": {".size": [1]}})
    other = made({"x": {".size": [3], **entry}, "y": {".size": [1], ".offset": 8}})
    expected = [BODY[:12], None]
    body = len(other) - len(BODY)
    assert differing(header(first), [*expected], header(other), other, body) == [0][:n]
    assert differing(header(first), [*expected], header(other), other, len(other)) == [0]
    assert differing(header(first), [None, None], header(other), other, body) == []
    for wrong in (-1, len(other) + 1):
        with pytest.raises(ValueError, match="body"):
            differing(header(first), [*expected], header(other), other, wrong)
    with pytest.raises(ValueError, match="2 and 2 variables, expected 1"):
        differing(header(first), [None], header(other), other, body)


def test_a_file_that_follows() -> None:
    first = made({"x": {".size": [4]}}, '{"a": 1, "b": [2]}')
    attributes = {"a": 1, "b": [2]}
    follows = model(first)
    for text, found in [
        ('{"a": 1, "b": [2]}', {"a": 1, "b": [2]}),
        ('{"a": "ž", "c": 1.5}  \t', {"a": "ž", "c": 1.5}),
        ("{}", {}),
        ('{"a": 1, "b": [2]}', {"a": 1, "b": [2]}),
    ]:
        other = made({"x": {".size": [4]}}, text)
        assert follows.match(other, attributes) == found
        assert follows.body == len(other) - len(BODY)
        assert attributes == {"a": 1, "b": [2]}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}}',
        '{"a": 1',
        '{"a": 1, "a": 1}',
        '{".dtypes": {"a": "int8"}, "a": 1}',
        '{".x": 1}',
        '{"\\\\x": 1}',
        '{"a": 1}, "y": {}',
        "[]",
        "",
    ],
)
def test_a_file_that_does_not_follow(text: str) -> None:
    first = made({"x": {".size": [4]}}, '{"a": 1}')
    attributes = {"a": 1}
    assert model(first).match(made({"x": {".size": [4]}}, text), attributes) is None
    for end in range(len(first) - len(BODY)):
        assert model(first).match(first[:end], attributes) is None
    assert attributes == {"a": 1}


def test_the_last_member_of_something_else_is_no_model() -> None:
    inner = bytearray(b'ds-1.0\n{"x": {"a": {"b": 1, ".": {}}}}\n')
    line = bytes(inner)
    follows = Model(line, line.index(b'".": ') + 5, {})
    assert follows.match(bytearray(b'ds-1.0\n{"x": {"a": {"b": 1, ".": {"c": 1}}\n'), {}) is None
    assert follows.match(bytearray(line), {}) == {}


entries = st.dictionaries(st.sampled_from(["units", "a", ".dtypes", "b"]), json_values, max_size=4)


@given(entries, entries, st.randoms())
def test_alike_by_the_values_of_some_members(left: Any, right: Any, random: Any) -> None:
    names = frozenset(("units", ".dtypes"))
    mixed = [*left.items()]
    random.shuffle(mixed)
    assert are_alike({"x": left}, {"x": dict(mixed)}, names)
    kept = [{name: value for name, value in entry.items() if name in names} for entry in (left, right)]
    assert are_alike({"x": left}, {"x": right}, names) is same_value(*kept)
    kept = [{name: value for name, value in entry.items() if name == ".dtypes"} for entry in (left, right)]
    assert are_alike({".": left}, {".": right}, names) is same_value(*kept)
    assert not are_alike({"x": left}, {"y": left}, names)
    assert not are_alike({"x": left}, {}, names)


@given(entries, entries)
def test_merging_is_updating(left: Any, right: Any) -> None:
    expected = {**left, **right}
    before = dict(right)
    merge_entries({"x": left}, {"x": right})
    assert list(left) == list(expected)
    assert same_value(left, expected)
    assert same_value(right, before)


MEMBERS: dict[str, list[Any]] = {
    ".size": [[2, 3], [2, 12]],
    ".dims": [["t", "x"], ["x", "y"]],
    ".offset": [0, 8, 16, 100, 116],
    ".len": [0, 8, 16, 24, 160],
    ".type": ["int32", "float64", "str", "unicode"],
    ".missing": [False, True],
    ".endian": ["l", "b"],
    "units": ["K", "Kelvin"],
    "note": [1, 12, 1.5, None, ["a"], {}],
}


def change(entry: dict[str, Any], random: Random) -> dict[str, Any]:
    """Change one member of an entry, which mostly is a position, or add or remove some."""
    name = random.choice([*40 * [".offset", ".len"], *MEMBERS])
    if random.random() < 0.02:
        return {}
    if random.random() < 0.02:
        return {key: value for key, value in entry.items() if key != name}
    return {**entry, name: random.choice(MEMBERS[name])}


def parsed(parser: Parser, data: bytes) -> Any:
    """Return all that a parser says of a header; None if it leaves it."""
    result = parser.parse(data)
    if result is None:
        return None
    found, meta = result
    return found.keys, [found.variable(i) for i in range(len(found.keys))], found.is_doubtful, repr(meta)


@pytest.mark.parametrize("seed", range(4))
def test_a_parser_that_has_read_others_reads_as_a_new_one(seed: int) -> None:
    random, parser = Random(seed), Parser(NUMBERS)
    entries: dict[str, Any] = {}
    for _ in range(1500):
        for key in random.sample("xyz", random.choice([0, 1, 2])):
            for _ in range(random.choice([1, 2])):
                entries[key] = change(entries.get(key, {}), random)
        if random.random() < 0.02:
            entries.pop("x", None)
        attributes = random.choice([{}, {"a": 1}, {"a": 2, "b": 3}])
        data = b"ds-1.0\n" + json.dumps({**entries, ".": attributes}).encode() + b"\n"
        assert parsed(parser, data) == parsed(Parser(NUMBERS), data)
