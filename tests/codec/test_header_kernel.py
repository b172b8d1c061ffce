"""The header in one compiled pass: the same outcome as the code that explains errors, whatever the bytes are."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.codec import line
from ds_format.codec.header import VERSION_LINE
from ds_format.errors import DsError

from ..same import same_value

TYPES = ("float32", "float64", "int8", "int64", "bool", "str", "unicode", "float16", None, 1)
PROPERTIES = (
    ".netcdf",
    ".size",
    ".offset",
    ".len",
    ".type",
    ".missing",
    ".endian",
    ".dims",
    ".dsize",
    ".dtypes",
    ".writer",
    ".x",
)
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
PIECES = (
    *(
        b'"',
        b"\\",
        b"\\u0041",
        b"\\ud83d",
        b"\\ude00",
        b"\\ud83d\\ude00",
        b"\xc3\xa9",
        b"\xed\xa0\x80",
        b"\xff",
        b"\x00",
    ),
    *(b"{", b"}", b"[", b"]", b",", b":", b" ", b"\t", b"\r", b"\n", b"\x1f", b"null", b"NaN", b"-Infinity", b"1e400"),
    *(b"-0", b"01", b"1.", b"1.5e3", b"999999999999999999", b"9999999999999999999", b'"\\u002esize":1,', b"[[" * 60),
    *(f'"{name}":1,'.encode() for name in PROPERTIES),
)


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
        patch.setattr(line, "compiled", lambda *_: None)
        expected = outcome(data)
    assert found[:-1] == expected[:-1]
    assert same_value(found[-1], expected[-1])


@given(HEADERS, st.booleans(), st.sampled_from(((", ", ": "), (",", ":"))))
def test_headers_as_programs_write_them(header: dict[str, Any], ascii_only: bool, separators: tuple[str, str]) -> None:
    text = json.dumps(header, ensure_ascii=ascii_only, separators=separators)
    check(VERSION_LINE + text.encode("utf-8", "surrogatepass") + b"\n")


@given(HEADERS, st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(PIECES)), max_size=3))
def test_damaged_headers(header: dict[str, Any], changes: list[tuple[float, int, bytes]]) -> None:
    text = json.dumps(header).encode()
    for where, n, piece in changes:
        at = math.floor(where * len(text))
        text = text[:at] + piece + text[at + n :]
    check(VERSION_LINE + text + b"\n")


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
        found = line.compiled(VERSION_LINE + text + b"\n")
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
