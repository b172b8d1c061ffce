"""DataFrame, Series and Index of pandas, from the blocks in which it keeps them.

Sources: the block managers of pandas 1.1 to 3.1, as they are pickled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...errors import FormatError
from ...kernels.pickle.machine import Global, Pending
from .known import Known, check, check_ints, check_state, wrong
from .pandas_arrays import Rows, check_labels, pandas

MAX_COLUMNS = 1 << 20
"""Columns of a frame; those of no rows need no bytes."""
FRAME = ("_mgr", "_typ", "_metadata", "attrs", "_flags", "_name", "name")
"""Keys that the state of a frame or a series may have."""
OLD_VERSION = "0.14.1"
"""Where the state of a block manager has what counts; the rest of it repeats that."""


class Block(NamedTuple):
    """Columns of one dtype."""

    values: Any
    """Array, (columns, rows) or (rows,)."""
    placement: Any
    """Slice, or array of numbers of columns."""


class Blocks(NamedTuple):
    """What a frame or series consists of."""

    blocks: tuple[Block, ...]
    axes: list[Any]
    """Columns, then index; of a series only its index."""


def block(values: Any, placement: Any, ndim: Any = 2) -> Block:
    """Stand for `pandas._libs.internals._unpickle_block`."""
    return Block(values, placement)


def manager(*args: Any) -> Blocks | Pending:
    """Stand for `BlockManager` and `SingleBlockManager`, which a state follows if they have no arguments."""
    if not args:
        return Pending(_finish_manager)
    blocks, axes = args
    if not all(type(part) is Block for part in check("pandas: blocks", blocks, tuple)):
        raise FormatError("pandas: found a block of another type")
    return Blocks(blocks, _check_axes(axes))


def _finish_manager(state: Any) -> Blocks:
    if type(state) is not tuple or not state:
        raise wrong("pandas: blocks", state, "a tuple")
    parts = check_state("pandas: blocks", state[-1], (OLD_VERSION,), (OLD_VERSION,))
    parts = check_state("pandas: blocks", parts[OLD_VERSION], ("axes", "blocks"), ("axes", "blocks"))
    blocks = []
    for part in check("pandas: blocks", parts["blocks"], list):
        entry = check_state("pandas: block", part, ("values", "mgr_locs"), ("values", "mgr_locs"))
        blocks.append(Block(entry["values"], entry["mgr_locs"]))
    return Blocks(tuple(blocks), _check_axes(parts["axes"]))


def _check_axes(axes: Any) -> list[Any]:
    if not all(isinstance(axis, pandas().Index) for axis in check("pandas: axes", axes, list)):
        raise FormatError("pandas: found an axis that is no index")
    return list(axes)


def new_index(kind: Any, parts: Any) -> Any:
    """Stand for `_new_Index` and its like: the type of an index, and its parts."""
    make = INDEXES.get(kind.name) if isinstance(kind, Global) else None
    if make is None:
        raise wrong("pandas: index", kind, "a known type of index")
    return make(check("pandas: index", parts, dict))


def _plain(parts: dict[Any, Any]) -> Any:
    state = check_state("Index", parts, ("data", "name"), ("data",))
    data = _column(state["data"])
    return pandas().Index(data, data.dtype, copy=False, name=_name(parts), tupleize_cols=False)


def _range(parts: dict[Any, Any]) -> Any:
    state = check_state("RangeIndex", parts, ("name", "start", "stop", "step"), ("start", "stop", "step"))
    bounds = check_ints("RangeIndex", (state["start"], state["stop"], state["step"]))
    return pandas().RangeIndex(*bounds, name=_name(parts))


def _dates(kind: str, parts: dict[Any, Any]) -> Any:
    state = check_state(kind, parts, ("data", "name", "freq", "tz"), ("data",))
    freq = state.get("freq")
    if freq is not None and not isinstance(freq, pandas().offsets.BaseOffset):
        raise wrong(f"{kind}: freq", freq, "a step of time")
    return getattr(pandas(), kind)(_column(state["data"]), name=_name(parts), freq=freq, copy=False)


def _of_array(kind: str, parts: dict[Any, Any]) -> Any:
    state = check_state(kind, parts, ("data", "name"), ("data",))
    return getattr(pandas(), kind)(_column(state["data"]), name=_name(parts), copy=False)


def _levels(parts: dict[Any, Any]) -> Any:
    state = check_state("MultiIndex", parts, ("levels", "codes", "sortorder", "names"), ("levels", "codes"))
    levels, codes = (check("MultiIndex", state[part], list) for part in ("levels", "codes"))
    for level in _check_axes(levels):
        check_labels(level)
    for numbers in codes:
        if type(numbers) is not np.ndarray or numbers.dtype.kind != "i" or numbers.ndim != 1:
            raise wrong("MultiIndex: codes", numbers, "an array of integers")
    names = [_name({"name": name}) for name in check("MultiIndex: names", state.get("names") or [], list)]
    return pandas().MultiIndex(levels, codes, names=names or None, verify_integrity=True)


INDEXES: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "RangeIndex": _range,
    "DatetimeIndex": partial(_dates, "DatetimeIndex"),
    "TimedeltaIndex": partial(_dates, "TimedeltaIndex"),
    "CategoricalIndex": partial(_of_array, "CategoricalIndex"),
    "PeriodIndex": partial(_of_array, "PeriodIndex"),
    "MultiIndex": _levels,
    **dict.fromkeys(("Index", "Int64Index", "UInt64Index", "Float64Index"), _plain),
}


def _name(parts: dict[Any, Any]) -> Any:
    """Return a name; pandas hashes it."""
    name = parts.get("name")
    check_labels(np.fromiter([name], object, 1))
    return name


def _column(values: Any) -> Any:
    """Return an array with one dimension, NumPy's or one of pandas'."""
    own = (pandas().api.extensions.ExtensionArray, pandas().Index)
    if not (type(values) is np.ndarray or isinstance(values, own)) or values.ndim != 1:
        raise wrong("pandas: values", values, "an array with one dimension")
    return values


def series() -> Pending:
    """Stand for `pandas.Series`, which a state follows."""
    return Pending(_finish_series)


def _finish_series(state: Any) -> Any:
    state = check_state("Series", state, FRAME, ("_mgr",))
    blocks = check("Series", state["_mgr"], Blocks)
    if len(blocks.blocks) != 1 or len(blocks.axes) != 1:
        raise FormatError("Series: found other blocks than one of one axis")
    values, index = _column(blocks.blocks[0].values), blocks.axes[0]
    if len(values) != len(index):
        raise FormatError(f"Series: found {len(values)} values for {len(index)} labels")
    name = _name({"name": state.get("_name", state.get("name"))})
    return _finished(pandas().Series(values, index, values.dtype, name=name, copy=False), state)


def frame() -> Pending:
    """Stand for `pandas.DataFrame`, which a state follows."""
    return Pending(_finish_frame)


def _finish_frame(state: Any) -> Any:
    state = check_state("DataFrame", state, FRAME, ("_mgr",))
    blocks = check("DataFrame", state["_mgr"], Blocks)
    if len(blocks.axes) != 2:
        raise FormatError(f"DataFrame: found {len(blocks.axes)} axes, expected 2")
    columns, index = blocks.axes
    if len(columns) > MAX_COLUMNS:
        raise FormatError(f"DataFrame: found {len(columns)} columns, expected at most {MAX_COLUMNS}")
    parts = [part for one in blocks.blocks for part in _parts(one, len(columns), len(index))]
    places = np.concatenate([np.empty(0, np.intp), *[places for _, places in parts]])
    if not np.array_equal(np.sort(places), np.arange(len(columns))):
        raise FormatError(f"DataFrame: found blocks that are not the {len(columns)} columns")
    return _finished(_assembled(parts, columns, index), state)


def _parts(one: Block, n_columns: int, n_rows: int) -> list[tuple[Any, Any]]:
    """Return arrays, of (columns, rows) or (rows,), and which columns they are."""
    values, places = one.values, one.placement
    if type(places) is slice:
        check_ints("DataFrame: columns of a block", (places.start, places.stop, places.step))
        places = np.arange(n_columns)[places]
    elif type(places) is not np.ndarray or places.dtype.kind != "i" or places.ndim != 1:
        raise wrong("DataFrame: columns of a block", places, "a slice or an array")
    places = places.astype(np.intp)
    if type(values) is np.ndarray and values.ndim == 2:
        arrays, shape = [(values, places)], values.shape
    else:
        single = values.arrays if type(values) is Rows else (values,)
        arrays = [(_column(array), places[i : i + 1]) for i, array in enumerate(single)]
        shape = (len(single), len(single[0]) if single else n_rows)
    if shape != (len(places), n_rows):
        raise FormatError(f"DataFrame: found a block of {shape}, expected {(len(places), n_rows)}")
    return arrays


def _assembled(parts: list[tuple[Any, Any]], columns: Any, index: Any) -> Any:
    """Return a frame that shares the memory of its blocks."""
    try:
        return importlib.import_module("pandas.api.internals").create_dataframe_from_blocks(parts, index, columns)
    except ImportError:  # before pandas 3
        single = {}
        for values, places in parts:
            rows = values if values.ndim == 2 else [values]
            for i, row in zip(places.tolist(), rows, strict=True):
                single[i] = pandas().Series(row, index, row.dtype, copy=False)
        made = pandas().DataFrame({i: single[i] for i in range(len(columns))}, index, copy=False)
        made.columns = columns
        return made


def _finished(made: Any, state: dict[str, Any]) -> Any:
    """Add what users have said of a frame or a series."""
    made.attrs = check("pandas: attrs", state.get("attrs", {}), dict)
    flags = check_state("pandas: flags", state.get("_flags", {}), ("allows_duplicate_labels",))
    if flags.get("allows_duplicate_labels") is False:
        for axis in made.axes:
            check_labels(axis)
        return made.set_flags(allows_duplicate_labels=False)
    return made


NAMES = {
    "base": ("Index",),
    "range": ("RangeIndex",),
    "datetimes": ("DatetimeIndex",),
    "timedeltas": ("TimedeltaIndex",),
    "category": ("CategoricalIndex",),
    "period": ("PeriodIndex",),
    "multi": ("MultiIndex",),
    "numeric": ("Int64Index", "UInt64Index", "Float64Index"),
}
"""Types of index, by the modules that they have been in before pandas 3."""
TABLE: dict[str, Known] = {
    **dict.fromkeys(("pandas:DataFrame", "pandas.core.frame:DataFrame"), Known(frame)),
    **dict.fromkeys(("pandas:Series", "pandas.core.series:Series"), Known(series)),
    "pandas.core.internals.managers:BlockManager": Known(manager),
    "pandas.core.internals.managers:SingleBlockManager": Known(manager),
    "pandas._libs.internals:_unpickle_block": Known(block),
    "pandas.core.indexes.base:_new_Index": Known(new_index),
    "pandas.core.indexes.datetimes:_new_DatetimeIndex": Known(new_index),
    "pandas.core.indexes.timedeltas:_new_TimedeltaIndex": Known(new_index),
    **{
        path: Known()
        for module, names in NAMES.items()
        for name in names
        for path in (f"pandas:{name}", f"pandas.core.indexes.{module}:{name}")
    },
}
"""What pickles of these name."""
