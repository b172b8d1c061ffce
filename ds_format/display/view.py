"""A dataset or metadata → what is shown of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import TYPE_OF_CODE, TYPES
from ..base.names import unescape
from ..base.wording import bytes_of
from ..dataset import META
from ..model.conventions import coordinates
from . import preview, written

MAX_ROWS = 50
"""Variables, and attributes of one of them, that are shown."""
MAX_COORDINATES = 20
"""Variables of these that are coordinates, if there are others."""
MAX_DIMS = 64
"""Levels of nested lists that are looked into."""


class Row(NamedTuple):
    """What is known of one variable."""

    name: str
    type: str
    dims: tuple[tuple[str, int | None], ...]
    """Names and sizes; None for a size that is not known."""
    size: int | None
    """Bytes in memory, of text in UTF-8; None if they are not known without a long look at the data."""
    units: str
    values: str
    """Some of them, if they are in memory."""
    attributes: Mapping[Any, Any]


class View(NamedTuple):
    """What is shown: of some variables a row each, of all the dimensions."""

    title: str
    n: int
    """Variables."""
    size: int
    """Bytes in memory of all variables of which they are known."""
    dims: Mapping[str, int | None]
    coordinates: tuple[Row, ...]
    data: tuple[Row, ...]
    """The other variables."""
    n_coordinates: int
    attributes: Mapping[Any, Any]
    """Of the dataset."""

    @property
    def groups(self) -> Iterator[tuple[str, tuple[Row, ...], int]]:
        """Coordinates and other variables, those of both that exist: a caption, rows, and how many are left out."""
        for caption, rows, n in (
            ("coordinates", self.coordinates, self.n_coordinates),
            ("data", self.data, self.n - self.n_coordinates),
        ):
            if n:
                yield caption, rows, n - len(rows)


def of_dataset(dataset: Mapping[Any, Any]) -> View:
    """Return what is shown of a dataset."""
    meta = dataset.get(META)
    data = {key: value for key, value in dataset.items() if key != META}
    return of("ds_format.Dataset", data, meta if isinstance(meta, dict) else {})


def of(title: str, data: Mapping[Any, Any], meta: Mapping[Any, Any]) -> View:
    """Return what is shown of data and their metadata.

    Parameters
    ----------
    title : str
    data : mapping
        Key → data, or None where only the metadata tell of them.
    meta : mapping
        Key → metadata, and under `"."` the attributes of the dataset.
    """
    shapes = {key: _dims(key, value, _entry(meta, key)) for key, value in data.items()}
    found = coordinates(meta, {key: [name for name, _ in shape] for key, shape in shapes.items()})
    where = [key for key in data if key in found]
    others = [key for key in data if key not in found]
    dims: dict[str, int | None] = {}
    for shape in shapes.values():
        for name, n in shape:
            if dims.get(name) is None:
                dims[name] = n
    room = min(len(where), MAX_COORDINATES if others else MAX_ROWS)
    shown = {*where[:room], *others[: MAX_ROWS - room]}
    rows, total = {}, 0
    for key, value in data.items():
        row = _row(key, value, shapes[key], _entry(meta, key), is_shown=key in shown)
        total += row.size or 0
        if key in shown:
            rows[key] = row
    attributes = meta.get(META)
    return View(
        title,
        len(data),
        total,
        dims,
        tuple(rows[key] for key in where if key in rows),
        tuple(rows[key] for key in others if key in rows),
        len(where),
        attributes if isinstance(attributes, dict) else {},
    )


def attributes_of(entry: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes in metadata by their names."""
    for key, value in entry.items():
        if not (isinstance(key, str) and key.startswith(".")):
            yield unescape(str(key)), value


def summary(view: View) -> str:
    """Return how much a dataset is."""
    told = f"{view.n} variable{'s' if view.n != 1 else ''}"
    return f"{told}, {bytes_of(view.size)}" if view.size else told


def _entry(meta: Mapping[Any, Any], key: Any) -> Mapping[Any, Any]:
    entry = meta.get(key)
    return entry if isinstance(entry, dict) else {}


def _dims(key: Any, data: Any, entry: Mapping[Any, Any]) -> tuple[tuple[str, int | None], ...]:
    shape = _shape(data, entry)
    given = entry.get(".dims")
    names = list(map(str, given)) if isinstance(given, (list, tuple)) else []
    if shape is None:
        return tuple((name, None) for name in names)
    name = unescape(str(key))
    names += [f"{name}_{i + 1}" for i in range(len(names), len(shape))]
    return tuple(zip(names, shape, strict=False))


def _row(
    key: Any, data: Any, dims: tuple[tuple[str, int | None], ...], entry: Mapping[Any, Any], *, is_shown: bool
) -> Row:
    kind, units = _type(data, entry), entry.get("units", "")
    return Row(
        str(key),
        kind,
        dims,
        _size(data, kind, entry),
        "" if units is None or not is_shown else written.value(units),
        preview.values(data) if is_shown else "",
        entry,
    )


def _size(data: Any, kind: str, entry: Mapping[Any, Any]) -> int | None:
    if preview.is_text(data):
        return preview.text_size(data)
    shape = _shape(data, entry)
    item_size = 1 if kind == "bool" else TYPES[kind].size if kind in TYPES and TYPES[kind].is_number else 0
    return None if shape is None or not item_size else item_size * math.prod(shape)


def _shape(data: Any, entry: Mapping[Any, Any]) -> tuple[int, ...] | None:
    shape = getattr(data, "shape", None)
    if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
        return shape
    if isinstance(data, (bool, int, float, str, bytes)):
        return ()
    if isinstance(data, (list, tuple)):
        found: list[int] = []
        while isinstance(data, (list, tuple)) and len(found) < MAX_DIMS:
            found.append(len(data))
            data = data[0] if data else None
        return tuple(found)
    size = entry.get(".size")
    if isinstance(size, (list, tuple)) and all(isinstance(n, int) for n in size):
        return tuple(size)
    return None


def _type(data: Any, entry: Mapping[Any, Any]) -> str:
    """Return the ds type of data, or what Python calls them."""
    dtype = getattr(data, "dtype", None)
    if isinstance(dtype, np.dtype):
        row = TYPE_OF_CODE.get(dtype.str[1:] if dtype.kind != "b" else "?")
        if row is not None:
            return row.name
    given = entry.get(".type")
    if isinstance(given, str):
        return given
    if isinstance(dtype, np.dtype):
        return {"U": "unicode", "T": "unicode", "S": "str"}.get(dtype.kind, dtype.name)
    kinds = {type(None): "", str: "unicode", bytes: "str", bool: "bool", int: "int64", float: "float64"}
    return kinds.get(type(data), type(data).__name__)
