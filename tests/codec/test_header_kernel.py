"""The header in one compiled pass: the same outcome as the code that explains errors, whatever the bytes are."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.api.files import read
from ds_format.codec import line
from ds_format.codec.attributes import from_json
from ds_format.codec.header import VERSION_LINE
from ds_format.errors import DsError

from ..headers.mutations import PIECES, PROPERTIES, TYPES
from ..same import same_value

NAMES = st.sampled_from((*PROPERTIES, "units", "long_name", "", ".", "\\.x", "\\", "é", "\U0001f600", '"', "a" * 41))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.text(max_size=50),
    st.sampled_from((*TYPES, "l", "b", "packed", [], [0], [2, 3], ["x"], ["x", "y"], {}, {"packed": True})),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))


@st.composite
def entries(draw: Any) -> Any:
    """Draw what is said of a variable: most of it as it should be."""
    size = draw(st.lists(st.integers(0, 4), max_size=3))
    usual = {
        ".dims": [f"d{i}" for i in range(len(size))],
        ".size": size,
        ".offset": draw(st.integers(0, 99)),
        ".len": 8,
        ".type": draw(st.sampled_from(("float64", "int16", "unicode", "str"))),
        ".missing": draw(st.booleans()),
        ".endian": draw(st.sampled_from("lb")),
    }
    chosen = {name: value for name, value in usual.items() if draw(st.integers(0, 9))}
    return {**chosen, **draw(st.dictionaries(NAMES, VALUES, max_size=3))}


HEADERS = st.dictionaries(NAMES | st.text(max_size=4), entries() | VALUES, max_size=4)


def outcome(data: bytes) -> Any:
    """Return all that is to be had from a header, or its error."""
    try:
        header, meta = line.parse(data, line.find_end(data, whole=True))
    except (DsError, ValueError) as error:  # Python refuses integers of thousands of digits with a ValueError
        return type(error), str(error)
    described = [(key, header.variables[key].var, header.variables[key].error) for key in header.keys]
    told = (header.version, header.body, header.keys, header.is_doubtful, described)
    records = [entry.get(name) for entry in meta.values() for name in (".netcdf", ".hdf5")]
    assert header.may_be_packed or {"packed": True} not in records
    return told, list(meta), [(key, list(entry)) for key, entry in meta.items()], meta


def check(data: bytes) -> None:
    found = outcome(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line, "parse_usual", lambda *_: None)
        expected = outcome(data)
    assert found[:-1] == expected[:-1]
    assert same_value(found[-1], expected[-1])


@given(HEADERS, st.booleans(), st.sampled_from(((", ", ": "), (",", ":"))))
def test_headers_as_programs_write_them(header: dict[str, Any], ascii_only: bool, separators: tuple[str, str]) -> None:
    text = json.dumps(header, ensure_ascii=ascii_only, separators=separators)
    check(VERSION_LINE + text.encode("utf-8", "surrogatepass") + b"\n")


@given(HEADERS, st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(PIECES)), max_size=3))
def test_damaged_headers(header: dict[str, Any], changes: list[tuple[float, int, bytes]]) -> None:
    check(VERSION_LINE + damaged(json.dumps(header).encode(), changes) + b"\n")


CHANGES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(PIECES)), max_size=2)


@given(HEADERS, st.lists(st.tuples(CHANGES, st.integers(1, 3)), min_size=1, max_size=4))
def test_what_is_remembered_of_the_headers_before(header: dict[str, Any], files: list[tuple[Any, int]]) -> None:
    """Files of one archive: their headers are the same but for some bytes, several times in a row."""
    text = json.dumps(header).encode()
    for changes, n in files:
        changed = damaged(text, changes)
        for data in (changed, text) * n:
            check(VERSION_LINE + data + b"\n")
            found = line.parse_usual(VERSION_LINE + data + b"\n")
            if found is not None:
                spoil(found[1])


def damaged(text: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    for where, n, piece in changes:
        at = math.floor(where * len(text))
        text = text[:at] + piece + text[at + n :]
    return text


def spoil(value: Any) -> None:
    """Change all that can be changed in a value: nobody else holds it."""
    if isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("spoilt")
    elif isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value["spoilt"] = True


def follow(*texts: str) -> list[Any]:
    """Return the metadata that the kernel finds in headers, one after another."""
    found = [line.parse_usual(VERSION_LINE + text.encode() + b"\n") for text in texts]
    return [None if one is None else one[1] for one in found]


X = '{"x": {".size": [2], ".type": "int8", ".offset": 1, "a": 1, "b": [[1], {"c": 2}]}, ".": {"n": 1}}'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"a": 1', '"a": 12'),
        ('"a": 1', '"a": 1.5'),
        ('"a": 1', '"a": "1"'),
        ('"a": 1', '"a":1'),
        ('"a": 1', '"a" : 1 '),
        ('"a": 1', '"a": 1, "d": 2'),
        ('"a": 1, ', ""),
        ('"a": 1, "b"', '"b": 1, "a"'),
        ('"a": 1', '"\\u0061": 1'),
        ('".size": [2]', '".size": [2, 3]'),
        ('".size": [2]', '".size": null'),
        ('".type": "int8"', '".type": "bool"'),
        ('".offset": 1', '".offset": 123'),
        ('[1], {"c": 2}', '{"c": 2}, [1]'),
        ('{"n": 1}', '{"n": 2}'),
        ('{"n": 1}', "{}"),
        ('"x"', '"y"'),
    ],
)
def test_one_thing_differs_from_the_header_before(old: str, new: str) -> None:
    other = X.replace(old, new)
    assert other != X
    first, second = (
        line.parse_any(VERSION_LINE + text.encode(), len(VERSION_LINE) + len(text))[1] for text in (X, other)
    )
    data = VERSION_LINE + other.encode() + b"\n"
    for _ in range(3):  # once remembered, then known, then in the place of the other
        found = follow(X, X, other, other, other, X)
        assert found == [found[0], found[0], found[2], found[2], found[2], found[0]]
        assert [found[0], found[2]] == [first, second]
        check(data)


@pytest.mark.parametrize(
    "wrong",
    [
        X.replace('"a": 1', '"a": 1, "a": 1'),
        X.replace('"a": 1', '"a": 1 2'),
        X.replace('"a": 1,', '"a": 1'),
        X.replace('"a": 1', '"a": 01'),
        X.replace('".type": "int8"', '".type": "int7"'),
        X.replace('".size": [2]', '".size": [2], ".dims": []'),
        X.replace('".offset": 1', '".offset": -1'),
        X.replace("]}, ", "]} "),
        X[:-1],
        X.replace('"."', '"x"'),
    ],
)
def test_what_is_wrong_stays_wrong_after_one_that_is_right(wrong: str) -> None:
    right = follow(X, X)[0]
    assert follow(X, wrong, wrong, X, wrong, X) == [right, None, None, right, None, right]
    check(VERSION_LINE + wrong.encode() + b"\n")


def test_very_many_and_very_long_entries_are_read() -> None:
    entry = {".size": [1] * 20, ".type": "int8", **{f"a{i}": i for i in range(60)}}
    header = {f"v{i}": entry for i in range(100)} | {".": {"history": "x" * 5000, **{f"a{i}": [i] for i in range(60)}}}
    for _ in range(3):
        found = line.parse_usual(VERSION_LINE + json.dumps(header).encode() + b"\n")
        assert found is not None
        assert found[1] == header
        assert found[0].variable(99)[1] == (1,) * 20
        spoil(found[1])


TYPED = (
    '{"x": {".size": [2], "a": [1, 2], "b": 1, "c": [0.5], "d": "t", "e": [[1, 2]], "f": 300, '
    '".dtypes": {"a": ["int16", 2], "b": "float32", "c": ["float64", 1], "d": "str", "e": ["uint8", 1, 2], '
    '"f": "int8"}}, ".": {"n": 1, "m": [1], ".dtypes": {"n": "int64"}}}'
)


def test_attributes_with_types_of_numpy() -> None:
    """They are the same as those of `from_json`, and arrays are not those of another one."""
    for text in (TYPED, TYPED, TYPED.replace('"b": 1', '"b": 2'), TYPED, TYPED.replace('"n": 1', '"n": 2'), TYPED):
        data = VERSION_LINE + text.encode() + b"\n"
        found, plain = line.parse_usual(data, None, from_json), line.parse_usual(data)
        assert found is not None
        assert plain is not None
        assert not found[0].has_dtypes
        assert plain[0].has_dtypes
        expected = {key: from_json(entry) for key, entry in plain[1].items()}
        assert same_value(found[1], expected)
        assert type(found[1]["x"]["b"]) is np.float32
        for name in ("a", "c", "e"):
            found[1]["x"][name][...] = 7
        found[1]["."]["m"].append(2)


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 2))))
def test_metadata_that_the_file_before_had_are_not_returned(changes: list[tuple[str, str, int, int]]) -> None:
    """With those of the files before, they are what each header says."""
    header = {
        key: {".size": [2], ".type": "int8", ".offset": 0, ".len": 2, "a": 1, "b": [1], "c": "t"} for key in "xyz"
    }
    known: list[Any] = []
    entries: dict[str, Any] = {}
    for key, name, value, offset in changes:
        header[key] = header[key] | {name: value, ".offset": offset}
        text = VERSION_LINE + json.dumps(header | {".": {"n": 1}}).encode() + b"\n"
        found, expected = line.parse_usual(text, None, None, known), line.parse_usual(text)
        assert found is not None
        assert expected is not None
        entries |= found[1]
        assert same_value(entries, expected[1])
        assert [found[0].variable(i) for i in range(3)] == [expected[0].variable(i) for i in range(3)]
        if value == 3:
            assert line.parse_usual(text[:-3] + b"\n", None, None, known) is None
            assert known == []


def test_only_positions_differ() -> None:
    known: list[Any] = []
    one = line.parse_usual(VERSION_LINE + X.encode() + b"\n", None, None, known)
    assert one is not None
    assert [*one[1]] == ["x", "."]
    moved = X.replace('".offset": 1', '".offset": 7')
    assert moved != X
    found = [line.parse_usual(VERSION_LINE + text.encode() + b"\n", None, None, known) for text in (X, moved, X, moved)]
    assert [[*each[1]] for each in found if each is not None][1:] == [["."]] * 3
    assert [each[0].variable(0)[2] for each in found if each is not None] == [1, 7, 1, 7]


def test_threads_have_memories_of_their_own() -> None:
    texts = [VERSION_LINE + X.replace('"a": 1', f'"a": {i}').encode() + b"\n" for i in range(50)]

    def parse(i: int) -> list[Any]:
        found = [line.parse_usual(texts[(i * 7 + k) % 50]) for k in range(500)]
        return [one and one[1]["x"]["a"] for one in found]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(parse, range(8))) == [[(i * 7 + k) % 50 for k in range(500)] for i in range(8)]


@pytest.mark.parametrize("name", ['"packed"', '"\\u0070acked"', '"p\\u0061cked"'])
@pytest.mark.parametrize("record", ['".netcdf"', '"\\u002enetcdf"'])
def test_a_record_of_packing_is_seen_however_it_is_written(name: str, record: str, tmp_path: Path) -> None:
    entry = f'{{".type": "int16", ".endian": "l", "scale_factor": 0.5, {record}: {{{name}: true}}}}'
    path = tmp_path / "x.ds"
    path.write_bytes(VERSION_LINE + f'{{"x": {entry}}}\n'.encode() + b"\3\0")
    assert read(path)["x"] == 1.5


def test_usual_headers_are_read_by_the_kernel() -> None:
    entry = {
        ".size": [2],
        ".dims": ["t"],
        ".type": "float32",
        ".offset": 0,
        ".endian": "l",
        "units": "\u00b5m",
        "v": [1.5],
    }
    for ascii_only in (True, False):
        text = json.dumps({"x": entry, ".": {"title": "a \u20ac"}}, ensure_ascii=ascii_only).encode()
        found = line.parse_usual(VERSION_LINE + text + b"\n")
        assert found is not None
        assert found[1]["x"]["units"] == "\u00b5m"


def test_nobody_else_holds_the_metadata() -> None:
    data = VERSION_LINE + b'{"x": {".size": [1], ".dims": ["t"], "v": [1], "w": {"a": 1}}, ".": {"v": [1]}}\n'
    for text in (data, data.replace(b'"v"', b'"\\\\v"')):  # the kernel leaves names with a backslash to others
        _, first = line.parse(text, len(text) - 1)
        _, second = line.parse(text, len(text) - 1)
        first["x"][".size"].append(2)
        first["x"][".dims"].append("u")
        first["x"]["w"]["b"] = 2
        next(iter(first["."].values())).append(2)
        first["y"] = {}
        assert line.parse(text, len(text) - 1)[1] == second


def test_a_part_of_the_metadata() -> None:
    entry = b'{".size": [1], ".dims": ["t"], "v": [1]}'
    data = VERSION_LINE + b'{"x": %b, "y": %b, ".": {"v": [1]}}\n' % (entry, entry)
    for text in (data, data.replace(b'"v"', b'"\\\\v"')):
        header, meta = line.parse(text, len(text) - 1, ["y", "z"])
        assert header.keys == ("x", "y")
        assert list(meta) == ["y", "."]
        meta["y"][".size"].append(2)
        next(iter(meta["."].values())).append(2)
        again = line.parse(bytearray(text), len(text) - 1, ["y"])[1]
        expected = line.parse(text, len(text) - 1)[1]
        del expected["x"]
        assert again == expected
