"""Hypothesis strategies for arrays, metadata and datasets. New kinds of data are added here."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ds_format.base.dtypes import TYPES
from ds_format.base.text import escape

NUMBERS = tuple(row.code for row in TYPES.values() if row.is_number)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.one_of(st.sampled_from(["x", "y", "time", ".hidden", "\\back", "\\.both", "ž", ""]), texts)
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6)


@st.composite
def arrays(draw: st.DrawFn, shape: Any = None) -> Any:
    """Draw an array of any type that the ds format holds, masked or not, in any byte order and memory layout."""
    shape = draw(shapes) if shape is None else shape
    kind = draw(st.sampled_from(["number", "bool", "text", "bytes"]))
    if kind == "number":
        order = draw(st.sampled_from("<>"))
        array = draw(hnp.arrays(np.dtype(order + draw(st.sampled_from(NUMBERS))), shape))
    elif kind == "bool":
        array = draw(hnp.arrays(np.bool_, shape))
    else:
        array = draw(hnp.arrays(object, shape, elements=texts if kind == "text" else st.binary(max_size=8)))
    if array.ndim > 1 and draw(st.booleans()):
        array = np.asfortranarray(array)
    if draw(st.booleans()):
        mask = draw(hnp.arrays(np.bool_, shape))
        array = np.ma.MaskedArray(array, mask)
    return array


@st.composite
def chunked(draw: st.DrawFn) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    """Draw an array of numbers or booleans, and for each dimension the lengths of chunks along it, some of them 0."""
    code = draw(st.sampled_from([*NUMBERS, "?", "?"]))
    dtype = np.dtype(code if code == "?" else draw(st.sampled_from("<>")) + code)
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=17).filter(lambda s: np.prod(s) < 3000))
    n = int(np.prod(shape))
    content = np.random.default_rng(n).integers(0, 256, n * dtype.itemsize, np.uint8)
    array = content % 2 == 1 if code == "?" else content.view(dtype)
    chunks = []
    for size in shape:
        step = draw(st.sampled_from([1, 8])) if code == "?" else 1
        cuts = sorted(min(step * cut, size) for cut in draw(st.lists(st.integers(0, size), max_size=3)))
        chunks.append(tuple(stop - start for start, stop in itertools.pairwise([0, *cuts, size])))
    return array.reshape(shape), tuple(chunks)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
numpy_scalars = st.one_of(
    *(hnp.from_dtype(np.dtype(code)) for code in (*NUMBERS, "?")),
)
numpy_arrays = st.sampled_from([*NUMBERS, "?"]).flatmap(
    lambda code: hnp.arrays(np.dtype(code), hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3))
)
attributes = st.dictionaries(names.map(escape), json_values | numpy_scalars | numpy_arrays, max_size=4)


@st.composite
def datasets(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a dataset with metadata."""
    dataset: dict[str, Any] = {}
    meta: dict[str, Any] = {".": draw(attributes)}
    for i, name in enumerate(draw(st.lists(names, max_size=4, unique=True))):
        key = escape(name)
        if key == ".":
            continue
        data = draw(st.none() | arrays())
        dataset[key] = data
        meta[key] = draw(attributes)
        if draw(st.booleans()):
            meta[key][".dims"] = [f"d{i}_{axis}" for axis in range(0 if data is None else data.ndim)]
    dataset["."] = meta
    return dataset


usual_names = st.sampled_from(["x", "y", "time", "lat", "station", "g/x", "žluť", "wind speed", "T_2m"])
usual_attributes = st.fixed_dictionaries(
    {},
    optional={
        "units": st.sampled_from(["K", "days since 2000-01-01", "žluť"]),
        "valid_max": st.sampled_from([400, 0.5, np.int16(7), np.float32(0.1)]),
        "flags": st.sampled_from([np.array([1, 2], "i1"), ["a", "b"], [1, 2]]),
        "scale_factor": st.sampled_from([0.1, np.float64(0.1), np.float32(2)]),
        "deep": st.sampled_from([None, True, {"a": [1, None]}, np.ones((2, 2)), [1, "a"], np.float16(1)]),
    },
)


@st.composite
def usual_datasets(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a dataset as programs make them: dimensions that variables share, coordinates, times, fill values."""
    names = draw(st.lists(usual_names, max_size=4, unique=True))
    is_table = draw(st.booleans())
    sizes = {dim: draw(st.integers(0, 4)) for dim in ("i", "time", "lat")}
    dataset: dict[str, Any] = {}
    meta: dict[str, Any] = {".": draw(usual_attributes)}
    for name in names:
        dims = ["i"] if is_table else draw(st.lists(st.sampled_from(sorted(sizes)), max_size=3, unique=True))
        data = draw(arrays([sizes[dim] for dim in dims]))
        is_empty = not is_table and draw(st.integers(0, 9)) == 0
        entry = {} if is_table and draw(st.booleans()) else dict(draw(usual_attributes))
        if is_number(data) and not is_empty and draw(st.integers(0, 4)) == 0:
            value = data.dtype.newbyteorder("=").type(draw(st.sampled_from([0, 7])))
            entry[draw(st.sampled_from(["_FillValue", "missing_value"]))] = value
        if draw(st.booleans()):
            entry[".dims"] = dims
        if data.dtype.kind == "f" and not is_empty and draw(st.integers(0, 4)) == 0:
            entry[".time"] = True
        dataset[name], meta[name] = (None if is_empty else data), entry
    dataset["."] = meta
    return dataset


def is_number(data: Any) -> bool:
    return bool(data.dtype.kind in "fiu")


@st.composite
def indexes(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    out: list[Any] = []
    for n in shape:
        kinds = [st.slices(n), st.lists(st.booleans(), min_size=n, max_size=n)]
        if n:
            kinds += [st.integers(-n, n - 1), st.lists(st.integers(-n, n - 1), max_size=5)]
        out.append(draw(st.one_of(kinds)))
    return tuple(out)


def grid(array: Any, index: tuple[Any, ...]) -> Any:
    """Index one dimension after the other."""
    for axis, item in reversed(list(enumerate(index))):
        if isinstance(item, list):
            item = np.array(item, bool if item and isinstance(item[0], bool) else int)
        array = array[(slice(None),) * axis + (item, ...)]  # a 0-d array, not a scalar
    return array
