"""Datasets ↔ data frames of pandas: the variables of one dimension are columns, and its coordinate is the index.

The attributes of a frame, `frame.attrs`, are the metadata of the dataset as JSON has them, since pandas compares them
and writes them to files. They have the units that columns cannot have, so a frame of a dataset makes the same dataset
again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from ..base.optional import library
from ..base.text import escape, unescape
from ..codec.attributes import from_json, to_json
from ..datasets import META, Dataset, arrays_of, as_array, attrs
from ..errors import DsError, UnsupportedError
from ..timeaxis.datetimes import timestamps
from .columns import JULIAN
from .rows import DIMENSION, rows_of, shapes_of

INDEX = "index"
"""The dimension of a frame whose index has no name."""


def to_pandas(d: Mapping[str, Any], dim: str | None = None, *, explode: bool = False) -> Any:
    """Return the variables of one dimension as a data frame.

    Times in real calendars become timestamps, and missing ones `NaT`. Integers and booleans with missing values get
    the nullable types of pandas, text has None there, and floats NaN. Byte strings in UTF-8 become text. Scalars, and
    variables of other dimensions, are left out.

    Parameters
    ----------
    d : dict
        A dataset.
    dim : str, optional
        The dimension. By default it is that of all variables with dimensions.
    explode : bool
        Include variables of several dimensions, and scalars: each is repeated along the dimensions that it lacks, and
        the index has a level for each dimension.

    Returns
    -------
    pandas.DataFrame
        Its index is the variable that is called like the dimension, or counts the rows. `attrs` are the metadata.

    Raises
    ------
    DriverError
        If pandas is not installed.
    MissingError
        If no variable has the dimension.
    UnsupportedError
        If variables have several dimensions, without `explode`; or a time is not one.

    Examples
    --------
    >>> import ds_format as ds
    >>> rain = {"day": [0, 1, 2], "rain": [0.0, None, 2.5]}
    >>> rain["."] = {
    ...     "day": {".dims": ["day"], "units": "days since 2026-01-01"},
    ...     "rain": {".dims": ["day"], "units": "mm"},
    ... }
    >>> print(ds.to_pandas(rain, "day").reset_index())
             day  rain
    0 2026-01-01   0.0
    1 2026-01-02   NaN
    2 2026-01-03   2.5
    """
    pandas = library("pandas", "ds-format-cython[pandas]", "to_pandas")
    arrays, meta = arrays_of(d)
    rows = rows_of(shapes_of(arrays, meta), dim, explode)
    columns = {
        unescape(key): _column(pandas, key, rows.values(key, arrays, meta), meta.get(key, {})) for key in rows.keys
    }
    frame = pandas.DataFrame(columns)
    if index := [name for name in rows.sizes if name in columns]:
        frame = frame.set_index(index)
    frame.attrs = {key: to_json(attrs(meta[key])) for key in (*rows.keys, META) if key in meta}
    return frame


def _column(pandas: Any, key: str, array: Any, entry: Mapping[str, Any]) -> Any:
    """Return the values of a variable as a column."""
    data, mask = np.ma.getdata(array), np.ma.getmask(array)
    try:
        times = timestamps(data, JULIAN if entry.get(".time") is True else attrs(entry))
    except DsError as error:
        raise error.at(variable=unescape(key))
    if times is not None:
        times[np.ma.getmaskarray(array)] = np.array("NaT", times.dtype)
        return times
    data = _as_text(data) if data.dtype.kind == "O" else data.astype(data.dtype.newbyteorder("="), copy=False)
    if not np.any(mask):
        return data
    if data.dtype.kind in "iu":
        return pandas.arrays.IntegerArray(data.copy(), np.array(mask))
    if data.dtype.kind == "b":
        return pandas.arrays.BooleanArray(data.copy(), np.array(mask))
    empty: Any = None if data.dtype.kind == "O" else np.nan
    return np.where(mask, empty, data)


def _as_text(data: Any) -> Any:
    """Return byte strings as text, if all are UTF-8, and other strings as they are."""
    try:
        return np.array([one.decode() if isinstance(one, bytes) else one for one in data.tolist()], object)
    except UnicodeDecodeError:
        return data


def from_pandas(frame: Any) -> Dataset:
    """Return a data frame, or one column of it, as a dataset.

    Parameters
    ----------
    frame : pandas.DataFrame or pandas.Series
        Columns, and an index that has a name or does more than counting, become variables of one dimension. It is
        called like the index. `attrs` are metadata, as of `to_pandas`, or else attributes of the dataset.

    Raises
    ------
    UnsupportedError
        If columns have several levels or the same name, or the values of one have no type of ds.
    """
    if not hasattr(frame, "columns"):
        frame = frame.to_frame("values" if frame.name is None else frame.name)
    if frame.columns.nlevels > 1:
        raise UnsupportedError("columns have several levels, expected one name for each")
    known = frame.attrs if META in frame.attrs else {META: frame.attrs}
    given = {key: from_json(dict(entry)) for key, entry in known.items()}
    dataset, meta = Dataset(), {META: given[META]}
    dim = DIMENSION if _only_counts(frame.index) else _name(frame.index.name, INDEX)
    if frame.index.nlevels > 1:
        dim = DIMENSION
    for name, column in (*_levels(frame.index), *((_name(name, ""), frame.iloc[:, i]) for i, name in enumerate(frame))):
        key = escape(name)
        if key in dataset:
            raise UnsupportedError(f'found two columns "{name}", or one that is called like the index')
        dataset[key] = _values(name, column)
        meta[key] = {**given.get(key, {}), ".dims": [dim]}
    dataset[META] = meta
    return dataset


def _name(name: Hashable, default: str) -> str:
    return default if name is None else str(name)


def _only_counts(index: Any) -> bool:
    """Return whether an index has no name and the numbers from 0 on."""
    return index.nlevels == 1 and index.name is None and hasattr(index, "start") and (index.start, index.step) == (0, 1)


def _levels(index: Any) -> Iterator[tuple[str, Any]]:
    if _only_counts(index):
        return
    for i in range(index.nlevels):
        name = _name(index.names[i], INDEX if index.nlevels == 1 else f"level_{i}")
        yield name, index.get_level_values(i).to_series()


def _values(name: str, column: Any) -> Any:
    """Return the values of a column, with missing ones masked if they are no floats and no times."""
    if hasattr(column, "cat"):
        column = column.astype(column.cat.categories.dtype)
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert(None)  # to UTC
    try:
        is_plain = isinstance(column.dtype, np.dtype) and column.dtype.kind != "O"
        if is_plain or getattr(column.dtype, "numpy_dtype", np.dtype("O")).kind != "O":
            return as_array(column)
        missing = np.asarray(column.isna())
        objects = np.asarray(column.to_numpy(object)).copy()
        objects[missing] = None
        return as_array(objects)
    except UnsupportedError as error:
        raise error.at(variable=name)
