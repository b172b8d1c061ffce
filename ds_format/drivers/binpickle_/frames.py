"""Frames, series and indexes of pandas → arrays. pandas is not imported: whoever has such an object has it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

INDEX = "index"
"""What an index without a name is called."""
VALUES = "data"
"""What values without a name are called."""


class Column(NamedTuple):
    """Values along one dimension."""

    name: str
    dim: str
    values: Any
    """Series or index."""


def is_frame(value: Any) -> bool:
    """Whether this is a frame, a series or an index."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series, pandas.Index))


def columns(value: Any) -> Iterator[Column]:
    """Iterate over what a frame, a series or an index consists of: its index, unless that only counts, and columns."""
    pandas: Any = sys.modules["pandas"]
    index = value if isinstance(value, pandas.Index) else value.index
    dim = INDEX if index.name is None else str(index.name)
    if isinstance(index, pandas.MultiIndex):
        for i, name in enumerate(index.names):
            yield Column(f"{INDEX}_{i}" if name is None else str(name), dim, index.get_level_values(i))
    elif index is value or not index.equals(pandas.RangeIndex(len(index))):
        yield Column(dim, dim, index)
    if isinstance(value, pandas.DataFrame):
        for i, name in enumerate(value.columns):
            yield Column(str(name), dim, value.iloc[:, i])
    elif isinstance(value, pandas.Series):
        yield Column(VALUES if value.name is None else str(value.name), dim, value)


def array_of(values: Any) -> Any:
    """Return a series or an index as an array, (n,), masked where a value is missing; NaN among floats is a value."""
    mask = np.asarray(values.isna())
    plain = getattr(values.dtype, "numpy_dtype", None)
    if isinstance(values.dtype, np.dtype) and values.dtype.kind != "O":
        return values.to_numpy()
    if isinstance(plain, np.dtype) and plain.kind in "biuf":
        array = values.to_numpy(plain, na_value=plain.type(0)) if mask.any() else values.to_numpy(plain)
    elif getattr(values.dtype, "tz", None) is not None:
        return values.to_numpy("M8[ns]")
    else:
        array = values.to_numpy(object)
    return np.ma.MaskedArray(array, mask) if mask.any() else array
