"""Classic NetCDF files of all kinds, made at random."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ds_format.model.missing import DEFAULT_FILLS

from ....classic.files import CODES, NUMBERS, Attribute, File, Variable

NAMES = ("x", "time", ".hidden", "\\back", "ž", "日本", "with space", "Ω²", "_1", "a.b-c+d@e")

TEXTS = (b"", b"K", b"a longer text", b"\xff\xfe", b"ends\0\0", b"in\0side", "ž".encode(), b"true")


def raw(code: str, values: Any) -> bytes:
    return np.asarray(values).astype(np.dtype(code).newbyteorder(">")).tobytes()


@st.composite
def attributes(draw: st.DrawFn, types: list[int], code: str | None = None) -> list[Attribute]:
    found = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True)):
        number = draw(st.sampled_from(types))
        if number == 2:
            found.append(Attribute(name.encode(), number, draw(st.sampled_from(TEXTS))))
        else:
            numbers = draw(st.lists(st.integers(0, 100), min_size=0, max_size=4))
            found.append(Attribute(name.encode(), number, raw(CODES[number], numbers)))
    if code is None:
        return found
    given: dict[str, Attribute] = {}
    if code != "S1":
        for name in ("_FillValue", "missing_value"):
            chosen = draw(st.sampled_from(["none", "none", "one", "default", "two", "other type", "text"]))
            number = draw(st.sampled_from([n for n in types if n != 2])) if chosen == "other type" else NUMBERS[code]
            values: Any = {"one": [3], "default": [DEFAULT_FILLS[code]], "two": [2, 3], "other type": [3]}.get(chosen)
            if name == "_FillValue" and chosen in ("two", "text", "other type"):
                continue  # the library refuses to define such a one
            if chosen == "text":
                given[name] = Attribute(name.encode(), 2, b"3")
            elif values is not None:
                given[name] = Attribute(name.encode(), number, raw(CODES[number], values))
        for name, value in {"scale_factor": 0.5, "valid_min": 1.0}.items():
            if draw(st.booleans()):
                given[name] = Attribute(name.encode(), 6, raw("f8", [value]))
    if code == "i1" and draw(st.booleans()):
        given["dtype"] = Attribute(b"dtype", 2, b"bool")
    marker = draw(st.sampled_from([None, None, None, *MARKERS]))
    if marker is not None:
        given["ds_format"] = Attribute(b"ds_format", 2, json.dumps(marker).encode())
    return found + list(given.values())


MARKERS = (
    {"type": "unicode", "missing": "\x1a"},
    {"missing": ""},
    {"empty": True, "dims": ["i"], "type": "none"},
    {"empty": True},
    {"json": ["x", "time"]},
    [1],
)


@st.composite
def files(draw: st.DrawFn) -> File:
    """Draw a file that is not damaged."""
    version = draw(st.sampled_from([1, 2, 5]))
    types = list(CODES) if version == 5 else [1, 2, 3, 4, 5, 6]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    sizes = draw(st.lists(st.integers(1, 4), min_size=len(names), max_size=len(names)))
    record = draw(st.integers(-2, len(names) - 1))
    if record >= 0:
        sizes[record] = 0
    n_records = draw(st.integers(0, 4))
    variables = []
    for name in draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True)):
        fixed = [i for i, size in enumerate(sizes) if size]
        dims = draw(st.lists(st.sampled_from(fixed), max_size=3)) if fixed else []
        if record >= 0 and draw(st.booleans()):
            dims = [record, *dims]
        number = draw(st.sampled_from(types))
        code = CODES[number]
        shape = [sizes[i] or max(n_records, 1) for i in dims]
        values = _values(rng, code, shape)
        is_record = bool(dims) and dims[0] == record
        data = [raw(code, each) for each in values] if is_record else [raw(code, values)]
        variables.append(Variable(name.encode(), dims, number, data, draw(attributes(types, code))))
    dimensions = [(name.encode(), size) for name, size in zip(names, sizes, strict=True)]
    return File(version, dimensions, draw(attributes(types)), variables, n_records)


def _values(rng: np.random.Generator, code: str, shape: list[int]) -> Any:
    if code == "S1":
        return rng.choice(np.array([b"a", b"b", b"\0", b"\x1a"], "S1"), shape)
    values = rng.integers(0, 2 if rng.random() < 0.5 else 5, shape).astype(code)
    if rng.random() < 0.3:
        values = np.where(rng.random(shape) < 0.5, np.array(DEFAULT_FILLS[code], code), values)
    return values
