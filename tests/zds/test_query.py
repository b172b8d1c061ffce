"""Which documents, and which of their fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.zds.query import MISSING, OPERATORS, finder, parse, paths_of, predicate, projection, same

ANN: dict[str, Any] = {
    "_id": "ann",
    "age": 30,
    "score": 2.5,
    "ok": True,
    "none": None,
    "tags": ["red", "blue", 7],
    "home": {"city": "Oslo", "zip": {"code": "0150"}, "floors": [{"n": 1}, {"n": 2}]},
    "a.b": {"c": 1},
    "a": {"b": {"c": 2, "d": 3}, "b.d": 4},
    "": "no name",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("age", 30),
        ("none", None),
        ("home.city", "Oslo"),
        ("home.zip.code", "0150"),
        ("home.floors.1.n", 2),
        ("home.floors.-2.n", 1),
        ("tags.0", "red"),
        ("tags.-1", 7),
        ("a.b.c", 1),
        ("a.b.d", 4),
        ("a.b", {"c": 1}),
        ("tags.3", MISSING),
        ("tags.-4", MISSING),
        ("tags.x", MISSING),
        ("tags.99999999999999999999", MISSING),
        ("tags.٣", MISSING),
        ("age.x", MISSING),
        ("none.x", MISSING),
        ("home.city.0", MISSING),
        ("home.", MISSING),
        (".", MISSING),
        ("nowhere", MISSING),
    ],
)
def test_a_path_leads_to_a_value(path: str, value: Any) -> None:
    assert finder(path)(ANN) == value


def test_a_path_goes_on_where_the_longest_key_ends_in_nothing() -> None:
    assert finder("a.b.c")({"a.b": {"x": 1}, "a": {"b.c": 2}}) == 2


@given(
    st.recursive(
        st.integers(), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab.", max_size=3), inner)
    ),
    st.text("ab.01-", max_size=6),
)
def test_no_path_and_no_document_raises(value: Any, path: str) -> None:
    finder(path)({"a": value, "a.b": value, "": value})


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({}, True),
        ([], True),
        ({"age": 30}, True),
        ({"age": 30.0}, True),
        ({"age": "30"}, False),
        ({"ok": True}, True),
        ({"ok": 1}, False),
        ({"none": None}, True),
        ({"nowhere": None}, False),
        ({"tags": ["red", "blue", 7]}, True),
        ({"tags": ("red", "blue", 7)}, True),
        ({"tags": ["red", "blue"]}, False),
        ({"home.zip": {"eq": {"code": "0150"}}}, True),
        ({"home.zip": {"eq": {"code": 150}}}, False),
        ({"age": np.int16(30)}, True),
        ({"age": {"ne": 30}}, False),
        ({"age": {"ne": "30"}}, True),
        ({"nowhere": {"ne": 30}}, True),
        ({"age": {"lt": 31, "gt": 29, "le": 30, "ge": 30}}, True),
        ({"age": {"lt": 30}}, False),
        ({"age": {"gt": 30}}, False),
        ({"age": {"gt": "2"}}, False),
        ({"home.city": {"gt": 2}}, False),
        ({"home.city": {"ge": "Oslo", "lt": "Osm"}}, True),
        ({"ok": {"ge": 0}}, False),
        ({"none": {"le": 0}}, False),
        ({"tags": {"lt": "z"}}, False),
        ({"nowhere": {"lt": 5}}, False),
        ({"age": {"in": [29, 30]}}, True),
        ({"age": {"in": {30}}}, True),
        ({"age": {"in": np.array([1, 30])}}, True),
        ({"ok": {"in": [0, 1]}}, False),
        ({"ok": {"in": [True]}}, True),
        ({"tags": {"in": [["red", "blue", 7]]}}, True),
        ({"tags": {"in": ["red"]}}, False),
        ({"none": {"in": [None]}}, True),
        ({"nowhere": {"in": [None]}}, False),
        ({"age": {"not_in": [1]}}, True),
        ({"age": {"not_in": [30]}}, False),
        ({"nowhere": {"not_in": [1]}}, True),
        ({"none": {"exists": True}}, True),
        ({"nowhere": {"exists": True}}, False),
        ({"nowhere": {"exists": False}}, True),
        ({"tags": {"contains": "red"}}, True),
        ({"tags": {"contains": 7}}, True),
        ({"tags": {"contains": "re"}}, False),
        ({"home.city": {"contains": "sl"}}, True),
        ({"home.city": {"contains": 1}}, False),
        ({"home": {"contains": "city"}}, False),
        ({"home.city": {"startswith": "Os"}}, True),
        ({"home.city": {"startswith": "sl"}}, False),
        ({"age": {"startswith": "3"}}, False),
        ({"age": 30, "home.city": "Oslo"}, True),
        ({"age": 30, "home.city": "Rome"}, False),
        ("age>=30", True),
        (["age>=30", {"ok": True}, lambda document: document["_id"] == "ann"], True),
        (["age>=30", "age>30"], False),
        ([[{"age": 30}], []], True),
    ],
)
def test_conditions(where: Any, matches: bool) -> None:
    wanted = predicate(where)
    assert (True if wanted is None else wanted(ANN)) is matches


def test_a_function_is_taken_as_it_is() -> None:
    assert predicate(len) is len
    assert predicate(None) is None


@pytest.mark.parametrize("operator", sorted(set(OPERATORS) - {"exists"}))
@given(
    value=st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([1]) | st.just({"x": 1}),
    operand=st.integers() | st.floats() | st.text(),
)
def test_no_value_makes_a_comparison_raise(operator: str, value: Any, operand: Any) -> None:
    listed = [operand] if operator.endswith("in") else operand
    if operator != "startswith" or isinstance(operand, str):
        wanted = predicate({"x": {operator: listed}})
        assert wanted is not None
        assert wanted({"x": value}) in (True, False)
        assert wanted({}) is (operator in ("ne", "not_in"))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"age": {"$gt": 3}}, r"age: no operator '\$gt'; expected one of eq, ne,"),
        ({"age": {}}, "age: no operator; expected one of eq"),
        ({"age": {"gt": None}}, "age: gt: None cannot be ordered"),
        ({"age": {"gt": True}}, "age: gt: True cannot be ordered"),
        ({"age": {"in": "abc"}}, "age: in: 'abc': expected a list"),
        ({"age": {"not_in": 3}}, "age: not_in: 3: expected a list"),
        ({"age": {"in": [{1}]}}, "age: in: "),
        ({"age": {"exists": 1}}, "age: exists: 1: expected true or false"),
        ({"age": {"startswith": 1}}, "age: startswith: 1: expected a text"),
        ({3: 4}, "condition of 3: expected the name"),
        ({"": 4}, "condition of '': expected the name"),
        (3, "where 3: expected a dict"),
        ("age", "condition 'age': expected a field, an operator"),
        (">3", "condition '>3': expected a field"),
        ("tags contains", "nothing after contains"),
    ],
)
def test_mistakes_in_conditions_are_told_at_once(where: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        predicate(where)


@pytest.mark.parametrize(
    ("text", "path", "operator", "value"),
    [
        ("age>=30", "age", "ge", 30),
        (" age <= 3.5 ", "age", "le", 3.5),
        ("a.b<-1e3", "a.b", "lt", -1000.0),
        ("a>b>c", "a", "gt", "b>c"),
        ("city=Oslo", "city", "eq", "Oslo"),
        ("city == New York", "city", "eq", "New York"),
        ('zip="0150"', "zip", "eq", "0150"),
        ("zip=0150", "zip", "eq", "0150"),
        ("ok=true", "ok", "eq", True),
        ("x=null", "x", "eq", None),
        ("x!=NaN", "x", "ne", "NaN"),
        ("x=", "x", "eq", ""),
        ("tags=[1, 2]", "tags", "eq", [1, 2]),
        ("tags contains a=b", "tags", "contains", "a=b"),
        ("k in [1,2]", "k", "in", [1, 2]),
        ("k not_in [1,2]", "k", "not_in", [1, 2]),
        ("name startswith An", "name", "startswith", "An"),
        ("k exists", "k", "exists", True),
        ("k exists false", "k", "exists", False),
        ("a = b contains c", "a", "eq", "b contains c"),
        ("first name=Ann", "first name", "eq", "Ann"),
    ],
)
def test_conditions_as_text(text: str, path: str, operator: str, value: Any) -> None:
    assert parse(text) == {path: {operator: value}}
    assert type(parse(text)[path][operator]) is type(value)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (["age"], {"_id": "ann", "age": 30}),
        (["age", "-_id"], {"age": 30}),
        (
            ["home.city", "tags.1", "nowhere", "none"],
            {"_id": "ann", "home.city": "Oslo", "tags.1": "blue", "none": None},
        ),
        ("score, age", {"_id": "ann", "score": 2.5, "age": 30}),
        ("age,_id", {"_id": "ann", "age": 30}),
        ([], {"_id": "ann"}),
    ],
)
def test_fields(fields: Any, found: dict[str, Any]) -> None:
    project = projection(fields)
    assert project is not None
    assert list(project(ANN).items()) == list(found.items())


def test_all_fields_are_no_projection() -> None:
    assert projection(None) is None


@pytest.mark.parametrize("fields", [[""], [3], "a,,b", ""])
def test_fields_have_names(fields: Any) -> None:
    with pytest.raises(ValueError, match="expected the name of a field"):
        paths_of(fields)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (0, False, False),
        ("1", 1, False),
        (None, False, False),
        ([1, [True]], [1, [1]], False),
        ({"a": 1, "b": [0]}, {"b": [0.0], "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ([1], (1,), False),
    ],
)
def test_values_are_the_same_as_json(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is same(right, left) is equal
