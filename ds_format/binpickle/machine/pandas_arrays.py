"""What is in the columns and indexes of pandas: arrays of its own, their dtypes, and single values.

All of them are made by public constructors, which check their arguments; but objects of the file are looked at first,
since pandas would convert them to text, or hash them, however large they are.

Sources: `__reduce__` of these types in pandas 1.3 to 3.1; files of pandas 2.3.3 and 3.1.1.
"""

from __future__ import annotations

import datetime
import decimal
import re
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...base.optional import library
from ...errors import FormatError
from ...kernels.pickle.machine import Global, Pending
from .known import Known, check, check_buffer, check_ints, check_state, wrong

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
"""Columns of a block without rows, of which its bytes cannot say how many there may be."""
MAX_LABEL_DEPTH = 4
"""Tuples inside of one another, in a label."""


class Rows(NamedTuple):
    """The columns of a block whose array can only be made with one dimension."""

    arrays: tuple[Any, ...]
    """(N,) each."""


def pandas() -> Any:
    """Return the library."""
    return library("pandas", "ds-format-cython[pandas]", "an object of pandas")


def pyarrow() -> Any:
    """Return the library."""
    return library("pyarrow", "ds-format-cython[arrow]", "a column of texts of pandas")


def _is_ours(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"


def check_labels(values: Any) -> None:
    """Refuse objects that pandas would have to hash although this could take forever: tuples in tuples in tuples."""
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
    """Stand for `pandas._libs.arrays.__pyx_unpickle_NDArrayBacked`, which a state follows."""
    make = BACKED.get(kind.name) if isinstance(kind, Global) else None
    if make is None or state is not None:
        raise wrong("pandas: array", kind, "a known type of array")
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
    return make(dtype, values)


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
    """Stand for a type of array with a mask, which a state follows."""
    return Pending(partial(_finish_masked, name))


def _finish_masked(name: str, state: Any) -> Any:
    state = check_state(name, state, ("_data", "_mask", "_dtype", "_cache", "_readonly"), ("_data", "_mask"))
    data, mask = state["_data"], state["_mask"]
    if type(data) is not np.ndarray or data.dtype.kind not in MASKED[name] or data.ndim != 1:
        raise wrong(name, data, "an array with one dimension")
    if type(mask) is not np.ndarray or mask.dtype != np.bool or mask.shape != data.shape:
        raise wrong(f"{name}: mask", mask, f"an array of {len(data)} flags")
    return getattr(pandas().arrays, name)(data, mask)


def plain_dtype(name: str) -> Any:
    """Stand for a dtype that has no parameters."""
    return getattr(pandas(), name)()


def has_cache(value: Any) -> bool:
    """Return whether a value is a dtype without parameters: its state is only what it has remembered."""
    return _is_ours(value) and type(value).__name__.removesuffix("Dtype") in PLAIN


def string_dtype(*args: Any) -> Any:
    """Stand for `pandas.StringDtype(storage, na_value)`."""
    if args and args[0] == "pyarrow":
        pyarrow()
    if len(args) > 2 or (args and args[0] not in (None, "python", "pyarrow")):
        raise wrong("StringDtype", args, "python or pyarrow, and the absent value")
    if len(args) == 2 and type(args[1]) is not float and args[1] is not pandas().NA:
        raise wrong("StringDtype: absent value", args[1], "NA or nan")
    return pandas().StringDtype(*args)


def period_dtype(freq: Any) -> Any:
    """Stand for `pandas.PeriodDtype`."""
    if not PERIOD.fullmatch(check("PeriodDtype", freq, str)):
        raise wrong("PeriodDtype", freq, "a frequency")
    return pandas().PeriodDtype(freq[7:-1])


def categorical_dtype() -> Pending:
    """Stand for `pandas.CategoricalDtype`, which a state follows."""
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
    """Stand for `pandas.DatetimeTZDtype`, which a state follows."""
    return Pending(_finish_zoned)


def _finish_zoned(state: Any) -> Any:
    state = check_state("DatetimeTZDtype", state, ("unit", "tz"), ("unit", "tz"))
    if state["unit"] not in UNITS.values() or not isinstance(state["tz"], datetime.tzinfo):
        raise wrong("DatetimeTZDtype", state["tz"], "a unit and a time zone")
    return pandas().DatetimeTZDtype(state["unit"], state["tz"])


def timestamp(value: Any, _freq: Any, zone: Any, unit: Any = 10) -> Any:
    """Stand for `_unpickle_timestamp`."""
    time = pandas().Timestamp(np.array(check("Timestamp", value, int)).astype(f"M8[{UNITS[unit]}]")[()])
    if zone is None:
        return time
    if not isinstance(zone, datetime.tzinfo):
        raise wrong("Timestamp: time zone", zone, "a time zone")
    return time.tz_localize("UTC").tz_convert(zone)


def timedelta(value: Any, unit: Any = 10) -> Any:
    """Stand for `_timedelta_unpickle`."""
    return pandas().Timedelta(np.array(check("Timedelta", value, int)).astype(f"m8[{UNITS[unit]}]")[()])


def not_a_time(_: Any = None) -> Any:
    """Stand for `_nat_unpickle`."""
    return pandas().NaT


def offset(name: str, *args: Any) -> Any:
    """Stand for a step of time, with its count, whether it starts at midnight, and often a month."""
    if not 1 <= len(args) <= 3 or type(args[-1 if len(args) == 1 else 1]) not in (bool, int):
        raise wrong(name, args, "a count")
    check_ints(name, (args[0], *args[2:]))
    return getattr(pandas().offsets, name)(*args)


def arrow_type(name: Any) -> Any:
    """Stand for `pyarrow.lib.type_for_alias`, for texts."""
    if name not in ("string", "large_string"):
        raise wrong("pyarrow: type", name, "string or large_string")
    return getattr(pyarrow(), name)()


def arrow_buffer(buffer: Any) -> Any:
    """Stand for `pyarrow.lib.py_buffer`."""
    return pyarrow().py_buffer(memoryview(check_buffer("pyarrow: buffer", buffer)))


def arrow_array(data: Any) -> Any:
    """Stand for `pyarrow.lib._restore_array`, for texts; every offset and character is checked."""
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
    """Stand for `pandas.arrays.ArrowStringArray`, which a state follows."""
    return Pending(_finish_arrow_texts)


def _finish_arrow_texts(state: Any) -> Any:
    needed = ("_pa_array", "_dtype")
    state = check_state("ArrowStringArray", state, (*needed, "_cache", "_readonly"), needed)
    if not isinstance(state["_pa_array"], pyarrow().Array) or not isinstance(state["_dtype"], pandas().StringDtype):
        raise wrong("ArrowStringArray", state["_pa_array"], "an array of texts and their dtype")
    return state["_dtype"].__from_arrow__(state["_pa_array"])


def _names(old: str, name: str, new: str = "pandas.arrays") -> tuple[str, str]:
    """Return what a type is called in pandas 3, and was before."""
    return f"{new}:{name}", f"pandas.core.{old}:{name}"


NA = Known(fetch=lambda: pandas().NA)
OLD_MASKED = {"IntegerArray": "integer", "FloatingArray": "floating", "BooleanArray": "boolean"}
TABLE: dict[str, Known] = {
    "pandas._libs.arrays:__pyx_unpickle_NDArrayBacked": Known(backed),
    **dict.fromkeys(_names("arrays.datetimes", "DatetimeArray"), Known()),
    **dict.fromkeys(_names("arrays.timedeltas", "TimedeltaArray"), Known()),
    **dict.fromkeys(_names("arrays.period", "PeriodArray"), Known()),
    **dict.fromkeys(_names("arrays.categorical", "Categorical", "pandas"), Known()),
    **dict.fromkeys(_names("arrays.string_", "StringArray"), Known()),
    **dict.fromkeys(_names("arrays.string_arrow", "ArrowStringArray"), Known(arrow_texts)),
    **{
        path: Known(partial(masked, name))
        for name, module in OLD_MASKED.items()
        for path in _names(f"arrays.{module}", name)
    },
    **{
        path: Known(partial(plain_dtype, f"{name}Dtype"))
        for name in sorted(PLAIN)
        for module in ("integer" if "Int" in name else "floating" if "Float" in name else "boolean",)
        for path in _names(f"arrays.{module}", f"{name}Dtype", "pandas")
    },
    **dict.fromkeys(_names("arrays.string_", "StringDtype", "pandas"), Known(string_dtype)),
    **dict.fromkeys(_names("dtypes.dtypes", "CategoricalDtype", "pandas"), Known(categorical_dtype)),
    **dict.fromkeys(_names("dtypes.dtypes", "DatetimeTZDtype", "pandas"), Known(zoned_dtype)),
    **dict.fromkeys(_names("dtypes.dtypes", "PeriodDtype", "pandas"), Known(period_dtype)),
    **dict.fromkeys(("pandas:NA", "pandas._libs.missing:NA"), NA),
    "pandas._libs.tslibs.timestamps:_unpickle_timestamp": Known(timestamp),
    "pandas._libs.tslibs.timedeltas:_timedelta_unpickle": Known(timedelta),
    "pandas._libs.tslibs.nattype:_nat_unpickle": Known(not_a_time),
    "pandas._libs.tslibs.nattype:__nat_unpickle": Known(not_a_time),
    **{f"pandas._libs.tslibs.offsets:{name}": Known(partial(offset, name)) for name in OFFSETS},
    "pyarrow.lib:type_for_alias": Known(arrow_type),
    "pyarrow.lib:py_buffer": Known(arrow_buffer),
    "pyarrow.lib:_restore_array": Known(arrow_array),
}
"""What pickles of these name."""
