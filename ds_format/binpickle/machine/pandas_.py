"""DataFrame, Series and Index of pandas, from their blocks, with its arrays, dtypes and values.

All are made by public constructors, which check their arguments. Objects of the file are checked first, because pandas
would convert them to text, or hash them, even if they are huge.

Sources: `__reduce__` of these types in pandas 1.3 to 3.1; pickled block managers of pandas 1.1 to 3.1; files of pandas
2.3.3 and 3.1.1.
"""

from __future__ import annotations

import datetime
import decimal
import importlib
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...base.optional import library
from ...errors import FormatError
from ...kernels.pickle.machine import Global, Pending
from .allowed import AllowedName, check, check_buffer, check_ints, check_state, wrong

PERIOD = re.compile(r"period\[[A-Za-z0-9-]{1,40}\]")
UNITS = {7: "s", 8: "ms", 9: "us", 10: "ns"}
"""Units of times, by their numbers in NumPy."""
INTEGERS = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
PLAIN = {*INTEGERS, "Float32", "Float64", "Boolean"}
"""Dtypes without parameters."""
MASKED = {"IntegerArray": "iu", "FloatingArray": "f", "BooleanArray": "b"}
"""Arrays with a mask, and the kinds of their values."""
OFFSETS = (
    "Day", "Hour", "Minute", "Second", "Milli", "Micro", "Nano", "MonthEnd", "MonthBegin", "QuarterEnd", "QuarterBegin",
    "YearEnd", "YearBegin", "BusinessMonthEnd", "BusinessMonthBegin",
)  # fmt: skip
TIMES = (datetime.date, datetime.time, datetime.timedelta)
LABELS = (str, bytes, int, float, complex, bool, type(None), decimal.Decimal, np.generic, *TIMES)
MAX_EMPTY_ROWS = 1 << 12
"""Limit of columns of a block without rows, whose number does not follow from its bytes."""
MAX_LABEL_DEPTH = 4
"""Limit of nested tuples in a label."""


class Rows(NamedTuple):
    """The columns of a block whose array can only be made with one dimension."""

    arrays: tuple[Any, ...]
    """(N,) each."""


def pandas() -> Any:
    """Return the library."""
    return library("pandas", "ds-format-cython[pandas]", "an object of pandas")


def pyarrow() -> Any:
    """Return the library."""
    return library("pyarrow", "ds-format-cython[tables]", "a column of texts of pandas")


def _is_ours(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"


def check_labels(values: Any) -> None:
    """Refuse objects that pandas would hash for a very long time: deeply nested tuples."""
    if getattr(values, "dtype", None) != np.dtype(object):
        return
    todo = [(value, 0) for value in np.asarray(values)]
    while todo:
        value, depth = todo.pop()
        if type(value) is tuple and depth < MAX_LABEL_DEPTH and len(todo) < 1000 + 100 * len(values):
            todo += [(part, depth + 1) for part in value]
        elif not isinstance(value, LABELS) and not _is_ours(value):
            raise wrong("pandas: label", value, "a plain value")


def backed(kind: Any, checksum: Any, state: Any) -> Pending:
    """Replace `pandas._libs.arrays.__pyx_unpickle_NDArrayBacked`; a state follows."""
    make = BACKED.get(kind.name) if isinstance(kind, Global) else None
    if make is None or state is not None:
        raise wrong("pandas: array", kind, "a supported type of array")
    return Pending(partial(_finish_backed, make))


def _finish_backed(make: Any, state: Any) -> Any:
    if type(state) is not tuple or len(state) not in (2, 3):
        raise wrong("pandas: array", state, "dtype, values and attributes")
    dtype, values = state[:2]
    if type(values) is not np.ndarray:
        dtype, values = values, dtype
    if type(check("pandas: values", values, np.ndarray)) is np.ndarray and values.ndim == 2:
        if len(values) > MAX_EMPTY_ROWS and not values.size:
            raise FormatError(f"pandas: found {len(values)} columns without rows")
        return Rows(tuple(make(dtype, row) for row in values))
    if values.ndim != 1:
        raise FormatError(f"pandas: found values of {values.ndim} dimensions, expected 1 or 2")
    made = make(dtype, values)
    step = state[2].get("_freq") if len(state) == 3 and type(state[2]) is dict else None
    return made if step is None or made.dtype.kind not in "mM" else _stepped(made, step)


def _stepped(times: Any, step: Any) -> Any:
    """Return times with their step, which pandas before 3.1 stores in the array and later versions in the index."""
    index = pandas().Index(times)
    index.freq = _step(step)
    return index.array


def _step(step: Any) -> Any:
    if step is not None and not isinstance(step, pandas().offsets.BaseOffset):
        raise wrong("pandas: freq", step, "a step of time")
    return step


def _times(kind: str, dtype: Any, values: Any) -> Any:
    if values.dtype.kind != kind[0]:
        raise wrong("pandas: times", values, "an array of times")
    if kind == "m8":
        return pandas().TimedeltaIndex(values, copy=False).array
    times = pandas().DatetimeIndex(values, copy=False)
    zone = getattr(dtype, "tz", None)
    return (times if zone is None else times.tz_localize("UTC").tz_convert(zone)).array


def _periods(dtype: Any, values: Any) -> Any:
    if not isinstance(dtype, pandas().PeriodDtype) or values.dtype != np.int64:
        raise wrong("pandas: periods", dtype, "a dtype of periods and integers")
    return pandas().arrays.PeriodArray(values, dtype=dtype)


def _categories(dtype: Any, codes: Any) -> Any:
    if not isinstance(dtype, pandas().CategoricalDtype) or codes.dtype.kind != "i":
        raise wrong("pandas: categories", dtype, "categories and their numbers")
    return pandas().Categorical.from_codes(codes, dtype=dtype)


def _texts(dtype: Any, values: Any) -> Any:
    if not isinstance(dtype, pandas().StringDtype) or values.dtype != object:
        raise wrong("pandas: texts", dtype, "an array of objects and their dtype")
    absent = (None, pandas().NA)
    for value in values:
        if type(value) is not str and type(value) is not float and not any(value is one for one in absent):
            raise wrong("pandas: text", value, "a text")
    return pandas().array(values, dtype=dtype)


BACKED = {
    "DatetimeArray": partial(_times, "M8"),
    "TimedeltaArray": partial(_times, "m8"),
    "PeriodArray": _periods,
    "Categorical": _categories,
    "StringArray": _texts,
}


def masked(name: str) -> Pending:
    """Replace a type of array with a mask; a state follows."""
    return Pending(partial(_finish_masked, name))


def _finish_masked(name: str, state: Any) -> Any:
    state = check_state(name, state, ("_data", "_mask", "_dtype", "_cache", "_readonly"), ("_data", "_mask"))
    data, mask = state["_data"], state["_mask"]
    if type(data) is not np.ndarray or data.dtype.kind not in MASKED[name] or data.ndim != 1:
        raise wrong(name, data, "an array with one dimension")
    if type(mask) is not np.ndarray or mask.dtype != np.bool_ or mask.shape != data.shape:
        raise wrong(f"{name}: mask", mask, f"an array of {len(data)} flags")
    return getattr(pandas().arrays, name)(data, mask)


def plain_dtype(name: str) -> Any:
    """Replace a dtype that has no parameters."""
    return getattr(pandas(), name)()


def has_cache(value: Any) -> bool:
    """Return whether a value is a dtype without parameters, whose state is only a cache."""
    return _is_ours(value) and type(value).__name__.removesuffix("Dtype") in PLAIN


def string_dtype(*args: Any) -> Any:
    """Replace `pandas.StringDtype(storage, na_value)`."""
    if args and args[0] == "pyarrow":
        pyarrow()
    if len(args) > 2 or (args and args[0] not in (None, "python", "pyarrow")):
        raise wrong("StringDtype", args, "python or pyarrow, and the absent value")
    if len(args) == 2 and type(args[1]) is not float and args[1] is not pandas().NA:
        raise wrong("StringDtype: absent value", args[1], "NA or nan")
    return pandas().StringDtype(*args)


def period_dtype(freq: Any) -> Any:
    """Replace `pandas.PeriodDtype`."""
    if not PERIOD.fullmatch(check("PeriodDtype", freq, str)):
        raise wrong("PeriodDtype", freq, "a frequency")
    return pandas().PeriodDtype(freq[7:-1])


def categorical_dtype() -> Pending:
    """Replace `pandas.CategoricalDtype`; a state follows."""
    return Pending(_finish_categorical)


def _finish_categorical(state: Any) -> Any:
    state = check_state("CategoricalDtype", state, ("categories", "ordered"), ("categories", "ordered"))
    categories = state["categories"]
    if categories is not None and not isinstance(categories, pandas().Index):
        raise wrong("CategoricalDtype", categories, "an index")
    check_labels(categories)
    ordered = state["ordered"]
    return pandas().CategoricalDtype(categories, None if ordered is None else check("ordered", ordered, bool))


def zoned_dtype() -> Pending:
    """Replace `pandas.DatetimeTZDtype`; a state follows."""
    return Pending(_finish_zoned)


def _finish_zoned(state: Any) -> Any:
    state = check_state("DatetimeTZDtype", state, ("unit", "tz"), ("unit", "tz"))
    if state["unit"] not in UNITS.values() or not isinstance(state["tz"], datetime.tzinfo):
        raise wrong("DatetimeTZDtype", state["tz"], "a unit and a time zone")
    return pandas().DatetimeTZDtype(state["unit"], state["tz"])


def timestamp(value: Any, _freq: Any, zone: Any, unit: Any = 10) -> Any:
    """Replace `_unpickle_timestamp`."""
    time = pandas().Timestamp(np.array(check("Timestamp", value, int)).astype(f"M8[{UNITS[unit]}]")[()])
    if zone is None:
        return time
    if not isinstance(zone, datetime.tzinfo):
        raise wrong("Timestamp: time zone", zone, "a time zone")
    return time.tz_localize("UTC").tz_convert(zone)


def timedelta(value: Any, unit: Any = 10) -> Any:
    """Replace `_timedelta_unpickle`."""
    return pandas().Timedelta(np.array(check("Timedelta", value, int)).astype(f"m8[{UNITS[unit]}]")[()])


def not_a_time(_: Any = None) -> Any:
    """Replace `_nat_unpickle`."""
    return pandas().NaT


def offset(name: str, *args: Any) -> Any:
    """Replace a step of time, with its count, whether it starts at midnight, and often a month."""
    if not 1 <= len(args) <= 3 or type(args[-1 if len(args) == 1 else 1]) not in (bool, int):
        raise wrong(name, args, "a count")
    check_ints(name, (args[0], *args[2:]))
    return getattr(pandas().offsets, name)(*args)


def arrow_type(name: Any) -> Any:
    """Replace `pyarrow.lib.type_for_alias`, for texts."""
    if name not in ("string", "large_string"):
        raise wrong("pyarrow: type", name, "string or large_string")
    return getattr(pyarrow(), name)()


def arrow_buffer(buffer: Any) -> Any:
    """Replace `pyarrow.lib.py_buffer`."""
    return pyarrow().py_buffer(memoryview(check_buffer("pyarrow: buffer", buffer)))


def arrow_array(data: Any) -> Any:
    """Replace `pyarrow.lib._restore_array`, for texts; every offset and character is checked."""
    kind, n, _, start, buffers, children, dictionary = check("pyarrow: array", data, tuple)
    check_ints("pyarrow: array", (n, start), 2)
    arrow = pyarrow()
    if not isinstance(kind, arrow.DataType) or children or dictionary is not None or n < 0 or start < 0:
        raise wrong("pyarrow: array", kind, "an array of texts")
    if not all(part is None or isinstance(part, arrow.Buffer) for part in check("pyarrow: buffers", buffers, list)):
        raise FormatError("pyarrow: array: found a buffer of another type")
    array = arrow.Array.from_buffers(kind, n, buffers, -1, start)
    array.validate(full=True)
    return array


def arrow_texts() -> Pending:
    """Replace `pandas.arrays.ArrowStringArray`; a state follows."""
    return Pending(_finish_arrow_texts)


def _finish_arrow_texts(state: Any) -> Any:
    needed = ("_pa_array", "_dtype")
    state = check_state("ArrowStringArray", state, (*needed, "_cache", "_readonly"), needed)
    if not isinstance(state["_pa_array"], pyarrow().Array) or not isinstance(state["_dtype"], pandas().StringDtype):
        raise wrong("ArrowStringArray", state["_pa_array"], "an array of texts and their dtype")
    return state["_dtype"].__from_arrow__(state["_pa_array"])


def _names(old: str, name: str, new: str = "pandas.arrays") -> tuple[str, str]:
    """Return the names of a type in pandas 3 and before."""
    return f"{new}:{name}", f"pandas.core.{old}:{name}"


NA = AllowedName(fetch=lambda: pandas().NA)
OLD_MASKED = {"IntegerArray": "integer", "FloatingArray": "floating", "BooleanArray": "boolean"}
ARRAY_TABLE: dict[str, AllowedName] = {
    "pandas._libs.arrays:__pyx_unpickle_NDArrayBacked": AllowedName(backed),
    **dict.fromkeys(_names("arrays.datetimes", "DatetimeArray"), AllowedName()),
    **dict.fromkeys(_names("arrays.timedeltas", "TimedeltaArray"), AllowedName()),
    **dict.fromkeys(_names("arrays.period", "PeriodArray"), AllowedName()),
    **dict.fromkeys(_names("arrays.categorical", "Categorical", "pandas"), AllowedName()),
    **dict.fromkeys(_names("arrays.string_", "StringArray"), AllowedName()),
    **dict.fromkeys(_names("arrays.string_arrow", "ArrowStringArray"), AllowedName(arrow_texts)),
    **{
        path: AllowedName(partial(masked, name))
        for name, module in OLD_MASKED.items()
        for path in _names(f"arrays.{module}", name)
    },
    **{
        path: AllowedName(partial(plain_dtype, f"{name}Dtype"))
        for name in sorted(PLAIN)
        for module in ("integer" if "Int" in name else "floating" if "Float" in name else "boolean",)
        for path in _names(f"arrays.{module}", f"{name}Dtype", "pandas")
    },
    **dict.fromkeys(_names("arrays.string_", "StringDtype", "pandas"), AllowedName(string_dtype)),
    **dict.fromkeys(_names("dtypes.dtypes", "CategoricalDtype", "pandas"), AllowedName(categorical_dtype)),
    **dict.fromkeys(_names("dtypes.dtypes", "DatetimeTZDtype", "pandas"), AllowedName(zoned_dtype)),
    **dict.fromkeys(_names("dtypes.dtypes", "PeriodDtype", "pandas"), AllowedName(period_dtype)),
    **dict.fromkeys(("pandas:NA", "pandas._libs.missing:NA"), NA),
    "pandas._libs.tslibs.timestamps:_unpickle_timestamp": AllowedName(timestamp),
    "pandas._libs.tslibs.timedeltas:_timedelta_unpickle": AllowedName(timedelta),
    "pandas._libs.tslibs.nattype:_nat_unpickle": AllowedName(not_a_time),
    "pandas._libs.tslibs.nattype:__nat_unpickle": AllowedName(not_a_time),
    **{f"pandas._libs.tslibs.offsets:{name}": AllowedName(partial(offset, name)) for name in OFFSETS},
    "pyarrow.lib:type_for_alias": AllowedName(arrow_type),
    "pyarrow.lib:py_buffer": AllowedName(arrow_buffer),
    "pyarrow.lib:_restore_array": AllowedName(arrow_array),
}
"""Names in pickles of these types."""


MAX_COLUMNS = 1 << 20
"""Limit of columns of a frame, which need no bytes without rows."""
FRAME = ("_mgr", "_typ", "_metadata", "attrs", "_flags", "_name", "name")
"""Keys that the state of a frame or a series may have."""
OLD_VERSION = "0.14.1"
"""Key of the relevant part of the state of a block manager; other parts repeat it."""


class FrameBlock(NamedTuple):
    """Columns of one dtype."""

    values: Any
    """Array, (columns, rows) or (rows,)."""
    placement: Any
    """Slice, or array of numbers of columns."""


class Blocks(NamedTuple):
    """The parts of a frame or series."""

    blocks: tuple[FrameBlock, ...]
    axes: list[Any]
    """Columns, then index; of a series only its index."""


def block(values: Any, placement: Any, ndim: Any = 2) -> FrameBlock:
    """Replace `pandas._libs.internals._unpickle_block`."""
    return FrameBlock(values, placement)


def manager(*args: Any) -> Blocks | Pending:
    """Replace `BlockManager` and `SingleBlockManager`; a state follows if they have no arguments."""
    if not args:
        return Pending(_finish_manager)
    blocks, axes = args
    if not all(type(part) is FrameBlock for part in check("pandas: blocks", blocks, tuple)):
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
        blocks.append(FrameBlock(entry["values"], entry["mgr_locs"]))
    return Blocks(tuple(blocks), _check_axes(parts["axes"]))


def _check_axes(axes: Any) -> list[Any]:
    if not all(isinstance(axis, pandas().Index) for axis in check("pandas: axes", axes, list)):
        raise FormatError("pandas: found an axis that is not an index")
    return list(axes)


def new_index(kind: Any, parts: Any) -> Any:
    """Replace `_new_Index` and its like: the type of an index, and its parts."""
    make = INDEXES.get(kind.name) if isinstance(kind, Global) else None
    if make is None:
        raise wrong("pandas: index", kind, "a supported type of index")
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
    times = _column(state["data"])
    step = _step(state.get("freq", getattr(times, "freq", None)))
    return getattr(pandas(), kind)(times, name=_name(parts), freq=step, copy=False)


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
    """Replace `pandas.Series`; a state follows."""
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
    """Replace `pandas.DataFrame`; a state follows."""
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


def _parts(one: FrameBlock, n_columns: int, n_rows: int) -> list[tuple[Any, Any]]:
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
    """Set attributes and flags of a frame or a series."""
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
"""Types of index, by their modules before pandas 3."""
TABLE: dict[str, AllowedName] = {
    **ARRAY_TABLE,
    **dict.fromkeys(("pandas:DataFrame", "pandas.core.frame:DataFrame"), AllowedName(frame)),
    **dict.fromkeys(("pandas:Series", "pandas.core.series:Series"), AllowedName(series)),
    "pandas.core.internals.managers:BlockManager": AllowedName(manager),
    "pandas.core.internals.managers:SingleBlockManager": AllowedName(manager),
    "pandas._libs.internals:_unpickle_block": AllowedName(block),
    "pandas.core.indexes.base:_new_Index": AllowedName(new_index),
    "pandas.core.indexes.datetimes:_new_DatetimeIndex": AllowedName(new_index),
    "pandas.core.indexes.timedeltas:_new_TimedeltaIndex": AllowedName(new_index),
    **{
        path: AllowedName()
        for module, names in NAMES.items()
        for name in names
        for path in (f"pandas:{name}", f"pandas.core.indexes.{module}:{name}")
    },
}
"""Names in pickles of these types."""
