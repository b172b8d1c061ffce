"""PST, and what is printed: as PST or JSON, in every locale."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.cli import pst

from ..conftest import cases
from ..same import same_value

CASES = json.loads((Path(__file__).parents[1] / "golden" / "cli" / "pst_cases.json").read_text())


def plain(data: Any) -> Any:
    """Return a value of a case with the floats that JSON lacks."""
    if isinstance(data, dict):
        return float(data["$float"]) if list(data) == ["$float"] else {key: plain(part) for key, part in data.items()}
    return [plain(part) for part in data] if isinstance(data, list) else data


@cases("case", CASES["decode"])
def test_words_are_decoded(case: dict[str, Any]) -> None:
    assert same_value(plain(case["value"]), pst.decode(case["words"]))


@pytest.mark.parametrize("case", CASES["decode_text"], ids=lambda case: json.dumps(case["text"]))
def test_text_is_decoded(case: dict[str, Any]) -> None:
    assert same_value(plain(case["value"]), pst.decode_text(case["text"]))


@cases("case", CASES["encode"])
def test_values_are_encoded(case: dict[str, Any]) -> None:
    assert case["indent"] == pst.encode(plain(case["value"]))
    assert case["noindent"] == pst.encode(plain(case["value"]), indent=False)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (r"\303\251", "é"),
        (r"\351", "\udce9"),
        (r"\5\60", "\x050"),
        (r"\51 1", ") 1"),
        (r"5\400", "5"),
        ('5"', 5),
        ("5\\", 5),
        ('tr"u"e', "true"),
        (r"-\-x", {"-": True, "x": True}),
        ("---x", {"-x": True}),
        ("-é", {"é": True}),
        ("- 5", {" ": True, "5": True}),
        ("٣", "٣"),
        ("-nan", float("nan")),
        ("1" * 5000, float("inf")),
    ],
)
def test_odd_words(word: str, value: Any) -> None:
    assert same_value(value, pst.decode([word]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1 } b: 2", [{"a": 1}, {"b": 2}]),
        ("a: 1 }} b: 2", {"a": 1, "b": 2}),
        ("a: 1 - b: 2", {"a": 1, "b": 2}),
        ("a: 1 {{ b: 2 }}", [{"a": 1}, {"b": 2}]),
        ("{{ { 1 } {{ b: 2 }} a: 1 }}", {"a": 1}),
        ("a: } 1", [{"a": None}, 1]),
        (r"a\ b c", ["a b", "c"]),
        (r"a\"b c", ['a"b', "c"]),
    ],
)
def test_odd_texts(text: str, value: Any) -> None:
    assert same_value(value, pst.decode_text(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"z": {"a": [1, {"b": 1, "c": 2}, 3]}}, "z: {{\n\ta: { 1\tb: 1\tc: 2 3 }\n}}"),
        ({"a": [{"b": 1}, {}]}, "a: { {{\n\tb: 1\n}}\n{{ }}\n}"),
        ([{}, 1], "{{ }}\n1"),
        ("a\x1cb", "a\x1cb"),
        ("\x85", "\x85"),
        ("5..", "5.."),
        (b"a b\xff", '"a b\udcff"'),
        ((1, 2), "1 2"),
    ],
)
def test_odd_values(value: Any, text: str) -> None:
    assert text == pst.encode(value)


def test_what_a_bare_word_means_is_left_open() -> None:
    items = pst.parse(["2020", '"2020"', "a:", "true", "-x"])
    assert items == ["2020", "2020", {"a": "true", "x": True}]
    assert [type(item) for item in items[:2]] == [pst.Bare, str]
    assert type(items[2]["a"]) is pst.Bare
    assert pst.value(items) == [2020, "2020", {"a": True, "x": True}]


@given(st.lists(st.text(st.sampled_from('ab:-"\\{} 5.n\t0'), max_size=5), max_size=10))
def test_all_words_mean_something(words: list[str]) -> None:
    pst.encode(pst.decode(words))
    pst.encode(pst.decode_text(" ".join(words)))


def looks_like_a_number(text: str) -> bool:
    """Such text is not always quoted: so pst-format 2.1.0 does it."""
    return isinstance(pst.value(pst.Bare(text)), (int, float))


@given(st.text().filter(lambda text: not looks_like_a_number(text)))
def test_text_is_read_back(text: str) -> None:
    assert text == pst.decode_text(pst.encode(text))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text().filter(lambda text: not looks_like_a_number(text)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(VALUES, min_size=2, max_size=4))
def test_values_are_read_back(items: list[Any]) -> None:
    assert items == pst.decode_text(pst.encode(items)) == pst.decode_text(pst.encode(items, indent=False))


def printed(item: Any, capsysbinary: pytest.CaptureFixture[bytes], **options: bool) -> bytes:
    pst.write([item], **options)
    return capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("item", "pst", "json"),
    [
        (None, b"\n", b"null\n"),
        (["a", "b c"], b'a "b c"\n', b'["a", "b c"]\n'),
        ("žč", "žč\n".encode(), b'"\\u017e\\u010d"\n'),
        ("\udcff", b"\xff\n", b'"\\udcff"\n'),
        ("\ud800", b"\xed\xa0\x80\n", b'"\\ud800"\n'),
        (b"\xff", b"\xff\n", b'"\\udcff"\n'),
        (float("nan"), b"nan\n", b"NaN\n"),
        (["v", np.float32(0.5)], b"v 0.500000\n", b'["v", 0.5]\n'),
        (3.4e-7, b"3.4e-07\n", b"3.4e-07\n"),
        (-4e-7, b"-4e-07\n", b"-4e-07\n"),
        (6e-7, b"0.000001\n", b"6e-07\n"),
        ([0.0, -0.0], b"0.000000 -0.000000\n", b"[0.0, -0.0]\n"),
        (12345678901.5, b"12345678901.500000\n", b"12345678901.5\n"),
        (123456789012.5, b"123456789012.5\n", b"123456789012.5\n"),
        (99999999999.9999999, b"100000000000.0\n", b"100000000000.0\n"),
        (-1e300, b"-1e+300\n", b"-1e+300\n"),
        ([float("inf"), float("-inf")], b"inf -inf\n", b"[Infinity, -Infinity]\n"),
        (np.float32(9.96921e36), b"9.96921e+36\n", b"9.969209968386869e+36\n"),
        ({"a": np.array([3.4e-7, 1], "f4")}, b"a: { 3.4e-07 1.000000 }\n", b'{"a": [3.400000139208714e-07, 1.0]}\n'),
        (np.float16(6e-8), b"6e-08\n", b"5.960464477539063e-08\n"),
        (["v", np.array([1, 2], "i2")], b"v { 1 2 }\n", b'["v", [1, 2]]\n'),
        ({"a": (np.int8(1), b"x")}, b"a: { 1 x }\n", b'{"a": [1, "x"]}\n'),
        (["v", np.array([b"x"], object)], b"v { x }\n", b'["v", ["x"]]\n'),
    ],
)
def test_items_are_printed(item: Any, pst: bytes, json: bytes, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert pst == printed(item, capsysbinary)
    assert json == printed(item, capsysbinary, as_json=True, indent=False)


def test_indent(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    item = {"a": {"b": 1}}
    assert printed(item, capsysbinary) == b"a: {{\n\tb: 1\n}}\n"
    assert printed(item, capsysbinary, indent=False) == b"a: {{ b: 1 }}\n"
    assert printed(item, capsysbinary, as_json=True) == b'{\n    "a": {\n        "b": 1\n    }\n}\n'


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_stdout_of_any_encoding_gets_utf8(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    pst.write(["ž\udcff"])
    assert raw.getvalue() == b"\xc5\xbe\xff\n"


def test_stdout_without_bytes_gets_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    pst.write(["ž", 5])
    assert stream.getvalue() == "ž\n5\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_stdout_is_an_error_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(OSError, match="No space left"):
            pst.write(["a"])
        assert stream.closed


def test_an_error_of_the_data_leaves_stdout_open(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def items() -> Any:
        yield "a"
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        pst.write(items())
    pst.write(["b"])
    assert capsysbinary.readouterr().out == b"a\nb\n"


@given(
    st.one_of(
        st.floats(width=16, allow_nan=False, allow_infinity=False).map(np.float16),
        st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32),
        st.floats(width=64, allow_nan=False, allow_infinity=False).map(np.float64),
    )
)
def test_hidden_floats_have_the_digits_of_numpy(value: Any) -> None:
    text = pst.number(pst.as_lists(value))
    fixed = f"{value:f}"
    is_hidden = value and (float(fixed) == 0 or sum(char.isdigit() for char in fixed) > 17)
    assert text == fixed if not is_hidden else float(text) == float(str(value))
