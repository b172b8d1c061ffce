"""Datasets with each type, in each state of data, and with attributes of each kind: the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..base.dtypes import TYPES
from ..base.text import escape
from ..datasets import attrs
from .comparing import Passage, variables

Dataset = dict[str, Any]

N = 5
"""Values along a dimension: not a multiple of the length of a small block."""


def values(type_name: str) -> Any:
    """Return (5,) values of a type: small and negative ones, and text of several languages."""
    row = TYPES[type_name]
    if row.is_string:
        texts = ["one", "žluť", "2", "日本 and a longer text", "e"]
        return np.array([text.encode() for text in texts] if type_name == "str" else texts, object)
    if row.code == "?":
        return np.array([True, False, False, True, True])
    return np.array([3, 1, 4, 1, 5] if row.code[0] == "u" else [-3, 1, -4, 1, 5], row.code)


def extremes(type_name: str) -> Any:
    """Return (5,) values of a type: the limits of its range, both zeros, infinity and NaN."""
    row = TYPES[type_name]
    if row.code[0] == "f":
        floats = np.finfo(row.code)
        return np.array([floats.max, floats.tiny, -0.0, -np.inf, np.nan], row.code)
    if row.code[0] in "iu":
        limits = np.iinfo(row.code)
        return np.array([limits.min, limits.max, 0, 1, limits.max // 3], row.code)
    return values(type_name)[::-1]


def _masked(array: Any) -> Any:
    return np.ma.MaskedArray(array, np.arange(array.size).reshape(array.shape) % 3 == 1)


STATES: dict[str, tuple[Callable[[str], Any], list[str]]] = {
    "plain": (values, ["i"]),
    "extreme": (extremes, ["i"]),
    "masked": (lambda name: _masked(values(name)), ["i"]),
    "all missing": (lambda name: np.ma.MaskedArray(values(name), True), ["i"]),
    "nothing missing": (lambda name: np.ma.MaskedArray(values(name), False), ["i"]),
    "scalar": (lambda name: np.array(values(name)[1], values(name).dtype), []),
    "missing scalar": (lambda name: np.ma.MaskedArray(np.array(values(name)[1], values(name).dtype), True), []),
    "empty": (lambda name: values(name)[:0], ["i"]),
    "empty in the second dimension": (lambda name: values(name)[:, None][:, :0], ["i", "k"]),
    "plane": (lambda name: np.stack([values(name), extremes(name), values(name)]), ["k", "i"]),
    "masked cube": (lambda name: _masked(np.stack([values(name)] * 6).reshape(2, 3, N)), ["j", "k", "i"]),
    "Fortran order": (lambda name: np.asfortranarray(np.stack([values(name), extremes(name)])), ["k", "i"]),
    "big endian": (lambda name: values(name).astype(values(name).dtype.newbyteorder(">")), ["i"]),
    "reversed view": (lambda name: _masked(values(name).repeat(2))[::-2], ["i"]),
}
"""State of data → a function that makes an array of a type in this state, and its dimensions."""

ATTRIBUTES: dict[str, Any] = {
    "text": "žluť\nsecond line",
    "empty text": "",
    "texts": ["a", "b"],
    "integer": 1,
    "float": 0.1,
    "integers": [1, -2],
    "floats": [0.5, 1.5],
    "boolean": True,
    "none": None,
    "object": {"a": [1, None], "b": "text"},
    "mixed list": [1, "a"],
    "NaN": np.float64("nan"),
    **{f"{row.name} scalar": np.dtype(row.code).type(1) for row in TYPES.values() if not row.is_string},
    **{f"{row.name} array": np.array([0, 1], row.code) for row in TYPES.values() if not row.is_string},
    "plane": np.ones((2, 2)),
}
"""Attributes of each kind."""

GROUP = 4
"""Variables with losses that are written together: one message may name only a few of them."""

NAMES = ["x", "y z", ".hidden", "g/x", "g/h/x", "žluť", "T_2m", "\\back", "a:b", "1", ""]
"""Names of variables."""


def examples() -> dict[str, Dataset]:
    """Return all examples by name.

    Most have a variable of each type. Each has `.dims` and attributes of the dataset, as `ds_format.read` returns them.
    """
    found = {state: _dataset({name: make(name) for name in TYPES}, dims) for state, (make, dims) in STATES.items()}
    numbers = np.arange(float(N))
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0xFFF0000000000002], "u8").view("f8")
    fill = np.ma.MaskedArray([9.969209968386869e36, 1.0], [False, True])
    others: dict[str, Dataset] = {
        "nothing": {},
        "no data": {"x": None, "y": 1.0},
        "names": {escape(name): numbers for name in NAMES},
        "other lengths": {"x": numbers, "y": numbers[:3]},
        "NaN": {"x": nans, "y": np.ma.MaskedArray(nans, True)},
        "default fill value": {"x": fill},
        "fill value": {"x": fill},
        "times": {"t": numbers},
        "packed": {"x": np.arange(N, dtype="i2")},
        "bytes": {"x": np.array([b"\xff", b"a\0b", b""], object)},
        "text": {"x": np.array(["a\0b", "", '",;\n'], object)},
    }
    found.update({name: _dataset(data, None) for name, data in others.items()})
    found["fill value"]["."]["x"]["_FillValue"] = 1.0
    found["times"]["."]["t"].update({".time": True, ".dims": ["t"]})
    found["packed"]["."]["x"].update(scale_factor=0.5, add_offset=1.0)
    found["attributes"] = _dataset({"x": numbers}, ["i"])
    found["attributes"]["."]["x"].update(ATTRIBUTES)
    found["attributes of the dataset"] = _dataset({"x": numbers}, ["i"])
    found["attributes of the dataset"]["."]["."] = dict(ATTRIBUTES)
    return found


def _dataset(data: Dataset, dims: list[str] | None) -> Dataset:
    return {**data, ".": {**{key: {} if dims is None else {".dims": dims} for key in data}, ".": {}}}


def pieces(dataset: Dataset, passage: Callable[[Dataset], Passage]) -> Iterator[Dataset]:
    """Divide a dataset: each part that a format refuses is alone, those that it changes are a few together.

    Parameters
    ----------
    dataset : dict
    passage : callable
        Called with a dataset; returns its `Passage`.
    """
    whole = passage(dataset)
    parts = [*_single(dataset)]
    if len(parts) == 1 or not (whole.errors or whole.warnings):
        yield dataset
        return
    refused: list[Dataset] = []
    lossy: list[Dataset] = []
    kept: list[Dataset] = []
    for part in parts:
        found = passage(part)
        (refused if found.errors else lossy if found.warnings else kept).append(part)
    yield from refused
    yield from (_joined(lossy[i : i + GROUP]) for i in range(0, len(lossy), GROUP))
    yield _joined(kept)
    if whole.errors:
        yield dataset


def _single(dataset: Dataset) -> Iterator[Dataset]:
    """Iterate over datasets with one variable each, and with one attribute each if there is one variable."""
    meta = dataset["."]
    keys = [key for key, *_ in variables(dataset)]
    if len(keys) != 1:
        yield from ({key: dataset[key], ".": {key: meta[key], ".": {}}} for key in keys)
        return
    (key,) = keys
    technical = {name: value for name, value in meta[key].items() if name not in attrs(meta[key])}
    yield {key: dataset[key], ".": {key: technical, ".": {}}}
    for name, value in attrs(meta[key]).items():
        yield {key: dataset[key], ".": {key: {**technical, name: value}, ".": {}}}
    for name, value in attrs(meta["."]).items():
        yield {key: dataset[key], ".": {key: technical, ".": {name: value}}}


def _joined(parts: Iterable[Dataset]) -> Dataset:
    joined: Dataset = {".": {".": {}}}
    for part in parts:
        for key in part.keys() - {"."}:
            joined[key] = part[key]
            joined["."][key] = {**joined["."].get(key, {}), **part["."][key]}
        joined["."]["."].update(part["."]["."])
    return joined
