"""Calls of the functions on datasets, and what came of each: the same text under this package and under the reference.

This file is run by both, so it imports neither.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

M = np.ma.array


def example() -> dict[str, Any]:
    """Return a dataset with everything that can be in one: also no data, no metadata, and metadata only."""
    return {
        "x": np.array([1, 2, 3]),
        "y": np.arange(6.0).reshape(2, 3),
        "s": "hi",
        "l": [1, 2],
        "n": None,
        "\\.h": np.array([True, False]),
        ".": {
            "x": {".dims": ["i"], "units": "m", "\\.a": 1},
            "y": {".dims": ["t", "i"], "units": "K"},
            ".": {"title": "T", "author": "me"},
            "m": {".dims": ["q", "i"], ".size": [4, 3], ".type": "int8"},
            "\\.h": {},
        },
    }


def numbers() -> dict[str, Any]:
    """Return a dataset that the reference can split and select, with two coordinates."""
    return {
        "i": np.array([10.0, 20.0, 30.0]),
        "t": np.array([0.0, 1.0]),
        "x": M(np.arange(6.0).reshape(2, 3), mask=np.array([[0, 1, 0], [0, 0, 0]], bool)),
        ".": {"i": {".dims": ["i"], "u": 1}, "t": {".dims": ["t"]}, "x": {".dims": ["t", "i"]}, ".": {}},
    }


def _products() -> Iterator[str]:
    names = ("x", "s", "n", ".h", "m", "nope", "", ".", None, 5)
    getters = ["var(d, {})", "type(d, {})", "size(d, {})", "dims(d, {})", "dims(d, {}, full=True)"]
    getters += ["dims(d, {}, size=True)", "get_dims(d, {})", "get_dims(d, {}, full=True)", "meta(d, {})"]
    getters += ["meta(d, {}, create=True)", "attrs(d, {})", "attr(d, 'units', var={})", "attr(d, '.a', var={})"]
    getters += ["attr(d, 'title', var={})", "dim(d, {})", "time(d, {})", "rm_attr(d, 'units', {})"]
    getters += ["rename(d, 'x', {})", "rename(d, {}, 'new')", "rename_attr(d, 'units', 'new', {})"]
    setters = ["var(d, {}, 5)", "type(d, {}, 'int8')", "dims(d, {}, ['a'])", "attr(d, 'a', 5, var={})"]
    setters += [
        "attrs(d, {}, dict(a=1))",
        "meta(d, {}, dict(a=1))",
        "meta(d, {}, None)",
        "time(d, {}, True)",
        "rm(d, {})",
    ]
    for call, name in itertools.product(getters + setters, names):
        yield f"ds.{call.format(repr(name))}"
    dims = ("i", "t", "q", "nope", "x_1", ".h_1", "i*", None)
    for call, name in itertools.product(["dim(d, {})", "dim(d, {}, full=True)", "rename_dim(d, {}, 'new')"], dims):
        yield f"ds.{call.format(repr(name))}"
    whats, patterns = ("var", "dim", "attr", "foo"), ("x", "m", "nope", "*", "[xy]", "t*", "units", "i", "q")
    calls = ["find(d, {})", "findall(d, {})", "require(d, {})", "require(d, {}, full=True)"]
    for call, what, name, var in itertools.product(calls, whats, patterns, (None, "x", "nope")):
        yield f"ds.{call.format(f'{what!r}, {name!r}, {var!r}')}"


DATA = (
    *("[1, 2]", "(1, 2)", "[1.5, None]", "[]", "[[]]", "[True, False]", "['a', None]", "['a', 'bb']", "[b'a', b'bb']"),
    *("5", "2.5", "True", "'hi'", "b'hi'", "None", "np.int8(3)", "np.array(3)", "np.array('a')", "[1, 2.5]", "2**63"),
    *("np.array(['a', 'bb'])", "np.array([b'a'])", "M([1, 2], mask=[0, 1])", "np.ma.masked", "M(5, mask=False)"),
    *("np.array([1], '>i4')", "[np.int8(1), np.int8(2)]", "[np.array([1, 2], 'f4'), np.array([3, 4], 'f4')]"),
    *("M(['a', 'b'], mask=[0, 1])", "M(['a', 'b'], mask=[0, 1], dtype='O')", "[np.str_('a'), 'b']"),
)
CONVERTED = (
    *("np.array([1.5, -2.7])", "np.array([100, -1])", "M([1, 300], mask=[0, 1])", "'5'", "np.array(['1', '2'])"),
    *("True", "np.array([2.0, 0.0])", "None", "np.int64(5)", "[1, 2]", "np.array(['5'], 'O')", "['a', '']", "[b'1.5']"),
)
OTHERS = (
    *("ds.vars(d)", "ds.vars(d, full=True)", "ds.vars({}, True)", "ds.vars([])", "ds.dims(d)", "ds.dims(d, full=True)"),
    *("ds.dims(d, size=True)", "ds.dims(d, size=True, full=True)", "ds.get_dims(d)", "ds.get_dims(d, full=True)"),
    *("ds.get_dims(d, 'x', size=True)", "ds.dims({})", "ds.attrs({})", "ds.meta({})", "ds.meta({}, create=True)"),
    *("ds.attr(d, 'a', 1, 2)", "ds.var(d, 'x', 1, 2)", "ds.dims(d, 'x', 1, 2)", "ds.type(d, 'x', 'int8', 2)"),
    *("ds.meta(d, 'x', {}, 2)", "ds.attrs(d, 'x', {}, 2)", "ds.type(d, 'x', 5)", "ds.type(d, 'x', None)"),
    *("ds.time(d, 'x', 5)", "ds.time(d, 'x', False)", "ds.dims(d, 'x', [1])", "ds.dims(d, 'x', 'a')", "ds.attr(d, 5)"),
    *("ds.attr(d, 'a', None, var='x')", "ds.attrs(d, 'x', [1])", "ds.meta(d, 'x', [1])", "ds.meta(d, None, {'x': {}})"),
    *("ds.find(d, 5, 'x')", "ds.findall(d, 'var', 5)", "ds.copy(5)", "ds.copy({'x': 1})", "ds.rename_m(d, 5)"),
    *("ds.rename_m(d, {'x': 5})", "ds.rename_m(d, {5: 'x'})", "ds.rename_dim_m(d, {'i': None})", "ds.rename_m(d, {})"),
    *("ds.rename_attr_m(d, {'units': 5}, 'x')", "ds.rename_attr_m(d, {'units': '.a', '.a': 'units'}, 'x')"),
    *(
        "ds.rename_attr_m(d, {'units': None, '.a': 'b'}, 'x')",
        "ds.rename_attr(d, 'author', 'title')",
        "ds.rename(d, 'y', 'x')",
    ),
    *("ds.rename_m(d, {'x': 'y', 'y': 'x'})", "ds.rename_dim_m(d, {'i': 'k', 't': 'l'})", "ds.rename_dim(d, 'i', 't')"),
    *("ds.rename(g, 'i', 'k')", "ds.rename(g, 'i', None)", "ds.rename(g, 'i', 't')", "ds.rename_dim(g, 'i', 'k')"),
    *("ds.rename_m(g, {'i': 'k', 't': 'l'})", "ds.rename(g, 'nope', 'k')", "ds.rm(g, 'i')", "ds.copy(g)"),
)
COMPUTED = (
    *("ds.group_by(g, 'i', np.array([5, 3, 5]), np.max)", "ds.group_by(g, 't', np.array(['b', 'a']), np.max)"),
    *("ds.group_by(g, 'nope', np.array([0]), np.max)", "ds.group_by(d, 'l_1', np.array([0, 0]), np.sum)"),
    *(
        "ds.group_by(g, 5, np.array([1]), np.sum)",
        "ds.group_by(g, 'i', 5, np.sum)",
        "ds.group_by(g, 'i', np.array([1]), 5)",
    ),
    *("ds.apply(g, np.sum, 't')", "ds.apply(g, np.sum, ['t', 'i'])", "ds.apply(d, lambda x: x * 2, 'i')"),
    *("ds.apply(d, np.sum, 'nope')", "ds.apply(d, np.sum, ['t', 'nope'])", "ds.apply(d, lambda x: x[:2], 'i', ['k'])"),
    *("ds.apply(d, lambda x: x[:2], 'i', 'k')", "ds.apply(d, lambda x: np.outer(x, x)[:2], 'i', ['k', 'j'])"),
    *("ds.apply(d, lambda x: x.T, ['t', 'i'], ['i', 't'])", "ds.apply(d, lambda x: x.sum(axis=0), ['t', 'i'], ['i'])"),
    *("ds.apply(d, np.sum, 'i', vars=['y'])", "ds.apply(d, np.sum, 'i', vars='y')", "ds.apply(d, np.sum, 'l_1')"),
    *("ds.apply(d, lambda x, sel: x.sum() + sel.get('t', 0), 'i', with_sel=True)", "ds.apply(d, 5, 'i')"),
    *("ds.rm(d, 'm') or ds.group_by(d, 'i', np.array([0, 1, 0]), np.mean)", "ds.apply(d, np.mean, 'i', vars='x')"),
    *("ds.apply(d, lambda x: x / 1, 'i', vars='x')", "ds.apply(d, lambda x: x.astype('f4').max(), 'i', vars='x')"),
    *("ds.apply(d, np.sum, 5)", "ds.split(g, 't')", "ds.split(g, ('i',))", "ds.split(g, 5)", "ds.select(g, 5)"),
    *("ds.select(g, {})", "ds.select(g, {'i': 0})", "ds.select(g, {'i': [0, 2]})", "ds.select(g, {'i': [2, 0]})"),
    *("ds.select(g, {'i': -1})", "ds.select(g, {'i': np.array([0, 1])})", "ds.select(g, {'i': [True, False, True]})"),
    *(
        "ds.select(g, {'i': np.array([True, False, True])})",
        "ds.select(g, {'nope': 0})",
        "ds.select(g, {'i': np.int64(1)})",
    ),
    *(
        "ds.select(g, {'i': 0, 't': 1})",
        "ds.select(g, {'i': [0, 1], 't': [0]})",
        "ds.select(g, {'i': [0, 2], 't': [0, 1]})",
    ),
    *("ds.select(g, {}, {'i': [0, 1]})", "ds.select(g, {}, {'i': [1, None]})", "ds.select(g, {}, {'i': [-2, None]})"),
    *(
        "ds.select(g, {}, None, {'i': 22})",
        "ds.select(g, {}, None, {'i': [10, 30]})",
        "ds.select(g, {}, None, None, {'i': [15, 30]})",
    ),
    *("ds.select(g, {'i': [0, 1]}, {'i': [1, None]})", "ds.select(g, {'i': 0}, {'i': [0, 2]})"),
)


def codes() -> Iterator[str]:
    """Yield all calls: `d` is the example, `g` the numbers."""
    yield from _products()
    for data in DATA:
        yield f"ds.var(d, 'new', {data}), ds.var(d, 'new'), ds.type(d, 'new'), ds.size(d, 'new')"
        yield f"ds.var({{'x': {data}}}, 'x')"
    for data, name in itertools.product(CONVERTED, ("int8", "uint8", "bool", "float32", "float64", "int64")):
        yield f"(c := {{'x': {data}}}), ds.type(c, 'x', {name!r}), ds.type(c, 'x')"
    yield from OTHERS
    yield from COMPUTED


MODES = ("soft", "moderate", "strict")


def cases() -> Iterator[tuple[str, str]]:
    """Yield mode and call; in the stricter modes only calls that can miss something."""
    for mode in MODES:
        for code in codes() if mode == "soft" else (*_products(), *OTHERS):
            yield mode, code


def outcome(ds: Any, mode: str, code: str) -> str:
    """Return what came of a call: the value, the first warning or the exception, and what changed in the datasets."""
    scope = {"ds": ds, "np": np, "M": M, "d": example(), "g": numbers()}
    with warnings.catch_warnings(record=True) as told, ds.with_mode(mode):
        warnings.simplefilter("always")
        try:
            text = shown(eval(code, scope))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what came of it
            builtin = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
            text = f"{builtin.__name__}: {error}"
    lines = [text, *(f"warning: {warning.message}" for warning in told[:1])]
    for name, before in (("d", example()), ("g", numbers())):
        lines += (f"{name}: {line}" for line in changes(before, scope[name]))
    return "\n".join(lines)


def changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each key, in data and in metadata, whose value is another."""
    for path in ((), (".",)):
        old, new = before, after
        for key in path:
            old, new = old.get(key, {}), new.get(key, {})
        for key in sorted({*old, *new} - ({"."} if not path else set())):
            values = [shown(where[key]) if key in where else "absent" for where in (old, new)]
            if values[0] != values[1]:
                yield f"{''.join(path)}[{key!r}] = {values[1]}"


def shown(value: Any) -> str:
    """Return a value as text; of text in arrays the width does not count, nor do masked values and fill values."""
    if value is np.ma.masked:
        return "masked"
    if isinstance(value, np.ndarray):
        kind = "masked " if isinstance(value, np.ma.MaskedArray) else ""
        name = value.dtype.kind if value.dtype.kind in "US" else value.dtype.str
        return f"{kind}{name}{value.shape} {value.tolist()!r}"
    if isinstance(value, np.generic):
        return f"{value.dtype.name.rstrip('0123456789') if value.dtype.kind in 'US' else value.dtype} {value.item()!r}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {shown(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(shown, value))})"
    return repr(value)
