"""PST: the recorded cases, what they leave open, and properties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.cli import pst

CASES = json.loads((Path(__file__).parents[1] / "golden" / "cli" / "pst_cases.json").read_text())


def plain(data: Any) -> Any:
    """Return a value of a case with the floats that JSON lacks."""
    if isinstance(data, dict):
        return float(data["$float"]) if list(data) == ["$float"] else {key: plain(part) for key, part in data.items()}
    return [plain(part) for part in data] if isinstance(data, list) else data


def same(a: Any, b: Any) -> bool:
    """Equal, types and NaN included."""
    return repr(a) == repr(b)


@pytest.mark.parametrize("case", CASES["decode"], ids=lambda case: json.dumps(case["words"]))
def test_words_are_decoded(case: dict[str, Any]) -> None:
    assert same(plain(case["value"]), pst.decode(case["words"]))


@pytest.mark.parametrize("case", CASES["decode_text"], ids=lambda case: json.dumps(case["text"]))
def test_text_is_decoded(case: dict[str, Any]) -> None:
    assert same(plain(case["value"]), pst.decode_text(case["text"]))


@pytest.mark.parametrize("case", CASES["encode"], ids=lambda case: json.dumps(case["value"]))
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
    assert same(value, pst.decode([word]))


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
    assert same(value, pst.decode_text(text))


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
