"""Frames, series, indexes, arrays and values of pandas."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from ds_format.errors import DriverError, FormatError, UnsafeError

from .pickles import MEMOIZE, again, call, dtype, get, given, load, name, plain, raw

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
COLUMNS = {
    "int": [1, 2], "float": [1.5, 2], "more": [3, 4], "text": ["x", "y"],
    "time": pd.to_datetime(["2020", "2021"]),
    "category": pd.Categorical(["p", "q"], ordered=True), "Int64": pd.array([1, None]), "object": [(1, 2), None],
    "delta": pd.to_timedelta([1, 2]), "zone": pd.date_range("2020", periods=2, tz="Europe/Paris"),
    "bool": [True, False],
    "boolean": pd.array([True, None]), "python": pd.array(["a", None], "string[python]"),
    "Float64": pd.array([1.5, None]),
    "arrow": pd.array(["a", None], "string[pyarrow]"), "float32": np.array([1, 2], "f4"),
    "period": pd.period_range("2000", periods=2, freq="M"),
}  # fmt: skip
FRAME = pd.DataFrame(COLUMNS)
FRAMES = {
    "all": FRAME, "index of texts": FRAME.set_index("text"), "two levels": FRAME.set_index(["int", "text"]),
    "empty": pd.DataFrame(), "no columns": pd.DataFrame(index=[1, 2]), "no rows": pd.DataFrame(columns=["a"]),
    "one block": pd.DataFrame(np.arange(12.0).reshape(3, 4)),
    "one block, F": pd.DataFrame(np.arange(12.0).reshape(3, 4)).T,
    "backwards": FRAME.iloc[::-1], "reordered": FRAME[["more", "float", "int"]],
    "labels twice": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "labels never twice": pd.DataFrame({"a": [1]}).set_flags(allows_duplicate_labels=False),
}  # fmt: skip
SERIES = {
    **{name_: FRAME[name_] for name_ in COLUMNS}, "unnamed": pd.Series([1, 2]),
    "objects": pd.Series(["a", 1], dtype=object),
    "texts as objects": pd.Series(["a", "b"], dtype=object),
    "of times": pd.Series([1, 2], pd.date_range("2020", periods=2)),
    "nothing": pd.Series([], dtype="f8"), "tuple as name": pd.Series([1], name=("a", 1)),
}  # fmt: skip
INDEXES = {
    "mixed": pd.Index([1, "a"]), "tuples": pd.Index([(1, 2), (3, 4)], tupleize_cols=False),
    "range": pd.RangeIndex(3, name="n"),
    "levels": pd.MultiIndex.from_product([[1, 2], ["a", "b"]], names=["x", None]),
    "category": pd.CategoricalIndex(["a", "b"]),
    "period": pd.period_range("2000", periods=3, freq="M"),
    "month": pd.date_range("2020", periods=3, freq="MS", tz="UTC"),
    "quarter": pd.date_range("2020", periods=3, freq="QE-MAR"), "hours": pd.timedelta_range(0, periods=3, freq="1h"),
    "floats": pd.Index([1.5, 2.5]), "dates": pd.Index([pd.Timestamp("2020").date()]),
}  # fmt: skip
VALUES = [pd.Timestamp("2020-01-01 01:02", tz="Europe/Paris"), pd.Timestamp("2020"), pd.Timedelta("1D"), pd.NaT, pd.NA,
          pd.StringDtype("python"), pd.Int64Dtype(), pd.CategoricalDtype(["a"]), pd.offsets.MonthEnd(2)]  # fmt: skip


@pytest.mark.parametrize("case", FRAMES)
@pytest.mark.parametrize("version", [2, 3])
def test_frames_come_back(case: str, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if version == 2:  # has no function that makes a frame of blocks
        monkeypatch.setitem(sys.modules, "pandas.api.internals", None)
    value = FRAMES[case].copy()
    value.attrs = {"unit": "K"}
    found = again(value)
    pd.testing.assert_frame_equal(found, value)
    assert found.attrs == value.attrs and found.flags == value.flags


@pytest.mark.parametrize("case", SERIES)
def test_series_come_back(case: str) -> None:
    pd.testing.assert_series_equal(again(SERIES[case]), SERIES[case])


@pytest.mark.parametrize("case", INDEXES)
def test_indexes_come_back(case: str) -> None:
    found = again(INDEXES[case])
    pd.testing.assert_index_equal(found, INDEXES[case], exact=True)
    assert getattr(found, "freq", None) == getattr(INDEXES[case], "freq", None)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back(value: Any) -> None:
    found = again(value)
    assert type(found) is type(value) and repr(found) == repr(value)


def test_frames_share_memory_with_their_blocks() -> None:
    found = again(FRAMES["one block"])
    assert np.shares_memory(found[0].to_numpy(), found[1].to_numpy().base)


@pytest.mark.parametrize("value", [pd.arrays.SparseArray([0, 1]), pd.interval_range(0, 2), FRAME.groupby("int")])
def test_what_is_not_common_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(UnsafeError, match=r"pandas\.\S+ is not loaded.*register"):
        again(value)


MANAGER = "pandas.core.internals.managers:BlockManager"
BLOCK = "pandas._libs.internals:_unpickle_block"
BACKED = "pandas._libs.arrays:__pyx_unpickle_NDArrayBacked"


def array(*values: Any, kind: str = "f8", shape: Any = None) -> bytes:
    made = np.array(values, kind)
    return call("numpy._core.numeric:_frombuffer", raw(made.tobytes()), dtype(kind), shape or made.shape, "C")


def objects(*items: bytes) -> bytes:
    start = call("numpy._core.multiarray:_reconstruct", name("numpy:ndarray"), (0,), raw(b"b"))
    return given(start, (1, (len(items),), dtype("O8", "|", 63), False, list(items)))


def index(n: int) -> bytes:
    return call(
        "pandas.core.indexes.base:_new_Index",
        name("pandas:RangeIndex"),
        {"start": 0, "stop": n, "step": 1, "name": None},
    )


def block(values: bytes, *place: Any) -> bytes:
    return call(BLOCK, values, call("builtins:slice", *place), 2)


def frame(blocks: tuple[bytes, ...], columns: int, rows: int, **more: Any) -> bytes:
    made = call(MANAGER, blocks, [index(columns), index(rows)])
    return given(call("pandas:DataFrame"), {"_mgr": made, **more})


def series(blocks: tuple[bytes, ...], *rows: int) -> bytes:
    made = call("pandas.core.internals.managers:SingleBlockManager", blocks, [index(n) for n in rows])
    return given(call("pandas:Series"), {"_mgr": made})


ONE = block(array(1, 2), 0, 2, 1)
TWO = array(1, 2, shape=(2, 1))
LAUGHS = plain(()) + MEMOIZE + b"".join(get(i) + b"\x86" + MEMOIZE for i in range(60))
LAUGHING = call("pandas.core.indexes.base:_new_Index", name("pandas:Index"), {"data": objects(LAUGHS), "name": None})
LIES = {
    "a placement beyond": frame((block(TWO, 1, 3, 1),), 2, 1),
    "a placement twice": frame((block(TWO, 0, 2, 1), block(TWO, 0, 2, 1)), 2, 1),
    "a column missing": frame((block(TWO, 0, 2, 1),), 3, 1),
    "a placement of texts": frame((block(TWO, "a", "b", None),), 2, 1),
    "a placement that is none": frame((call(BLOCK, TWO, 1, 2),), 2, 1),
    "rows missing": frame((block(TWO, 0, 2, 1),), 2, 5),
    "2^60 columns": frame((), 2**60, 1),
    "2^20 columns": frame((), 1 << 21, 1),
    "no array": frame((block(plain([1]), 0, 1, 1),), 1, 1),
    "no block": frame((plain([1]),), 1, 1),
    "no index": given(call("pandas:DataFrame"), {"_mgr": call(MANAGER, (), [1, 2])}),
    "one axis": given(call("pandas:DataFrame"), {"_mgr": call(MANAGER, (), [index(0)])}),
    "no blocks": given(call("pandas:DataFrame"), {"_mgr": 1}),
    "a series of two blocks": series((ONE, ONE), 2),
    "a series without a block": series((), 2),
    "a series of two axes": series((ONE,), 2, 2),
    "a series with labels missing": series((ONE,), 1),
    "a series of a frame's block": series((block(TWO, 0, 2, 1),), 2),
    "a method": frame((block(TWO, 0, 2, 1),), 2, 1, to_csv=1),
    "attributes": frame((block(TWO, 0, 2, 1),), 2, 1, attrs=[1]),
    "flags": frame((block(TWO, 0, 2, 1),), 2, 1, _flags={"x": 1}),
    "index of a list": call("pandas.core.indexes.base:_new_Index", name("pandas:Index"), {"data": [1]}),
    "index of a wrong type": call("pandas.core.indexes.base:_new_Index", name("pandas:Series"), {"data": TWO}),
    "index of two dimensions": call("pandas.core.indexes.base:_new_Index", name("pandas:Index"), {"data": TWO}),
    "range of floats": call(
        "pandas.core.indexes.base:_new_Index", name("pandas:RangeIndex"), {"start": 0.5, "stop": 1, "step": 1}
    ),
    "a name that cannot be one": call(
        "pandas.core.indexes.base:_new_Index", name("pandas:Index"), {"data": array(1), "name": [1]}
    ),
    "codes beyond": given(
        call(BACKED, name("pandas:Categorical"), 1, None),
        (given(call("pandas:CategoricalDtype"), {"categories": index(2), "ordered": False}), array(7, kind="i8")),
    ),
    "categories that cannot be hashed": given(
        call("pandas:CategoricalDtype"), {"categories": LAUGHING, "ordered": False}
    ),
    "levels": call(
        "pandas.core.indexes.base:_new_Index",
        name("pandas:MultiIndex"),
        {"levels": [index(2)], "codes": [array(5, kind="i8")], "names": [None]},
    ),
    "a mask too short": given(
        call("pandas.arrays:IntegerArray"), {"_data": array(1, 2, kind="i8"), "_mask": array(0, kind="b1")}
    ),
    "times of numbers": given(call(BACKED, name("pandas.arrays:DatetimeArray"), 1, None), (dtype(), array(1.5))),
    "texts of numbers": given(
        call(BACKED, name("pandas.arrays:StringArray"), 1, None),
        (call("pandas:StringDtype", "python", float("nan")), objects(plain(1))),
    ),
    "an unknown array": call(BACKED, name("pandas:DataFrame"), 1, None),
    "arrow, a buffer too short": call(
        "pyarrow.lib:_restore_array",
        (call("pyarrow.lib:type_for_alias", "large_string"), 100, 0, 0,
         [None, call("pyarrow.lib:py_buffer", raw(bytes(16))), call("pyarrow.lib:py_buffer", raw(b"a"))], [], None),
    ),
    "arrow, an offset beyond": call(
        "pyarrow.lib:_restore_array",
        (call("pyarrow.lib:type_for_alias", "string"), 1, 0, 0,
         [None, call("pyarrow.lib:py_buffer", raw(b"\0\0\0\0\xff\xff\0\0")),
    call("pyarrow.lib:py_buffer", raw(b"a"))], [], None),
    ),
    "arrow, another type": call("pyarrow.lib:type_for_alias", "int64"),
    "period": call("pandas:PeriodDtype", "period[../x]"),
    "timestamp": call("pandas._libs.tslibs.timestamps:_unpickle_timestamp", 2**70, None, None, 10),
    "timestamp of a unit": call("pandas._libs.tslibs.timestamps:_unpickle_timestamp", 1, None, None, 99),
    "step": call("pandas._libs.tslibs.offsets:Day", "a"),
}  # fmt: skip


FOUND_BY_LIBRARIES = (
    "codes beyond", "levels", "arrow, a buffer too short", "arrow, an offset beyond", "timestamp",
    "timestamp of a unit",
)  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused(lie: str) -> None:
    """By a check of this package, unless the library is known to find it: otherwise a check could be lost unseen."""
    with pytest.raises(FormatError, match=r"^pickle, byte \d+: ") as caught:
        load(LIES[lie])
    assert (caught.value.__cause__ is not None) is (lie in FOUND_BY_LIBRARIES)


def test_a_wrong_series_is_described() -> None:
    for lie, reason in {
        "a series of two blocks": "Series: found other blocks than one of one axis",
        "a series of two axes": "Series: found other blocks than one of one axis",
        "a series with labels missing": "Series: found 2 values for 1 labels",
    }.items():
        with pytest.raises(FormatError, match=reason):
            load(LIES[lie])


def test_an_unknown_key_of_a_state_is_named_in_part() -> None:
    """As far as a terminal can show it: a file could have a key of a gigabyte, or one that clears the screen."""
    made = call(MANAGER, (), [index(0), index(0)])
    with pytest.raises(FormatError, match=rf'DataFrame: has "\?{"x" * 59}", which this package does not know'):
        load(given(call("pandas:DataFrame"), {"_mgr": made, "\x1b" + "x" * 100: 1}))
    with pytest.raises(FormatError, match="DataFrame: has a int, which this package does not know"):
        load(given(call("pandas:DataFrame"), {"_mgr": made, 7: 1}))


def test_what_is_right_is_loaded() -> None:
    assert load(frame((block(TWO, 0, 2, 1),), 2, 1)).to_numpy().tolist() == [[1, 2]]
    assert load(series((ONE,), 2)).tolist() == [1, 2]


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        DriverError, match=r"an object of pandas: cannot import pandas: pip install 'ds-format-cython\[pandas\]'"
    ):
        load(index(2))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DriverError, match=r"cannot import pyarrow: pip install 'ds-format-cython\[tables\]'"):
        load(call("pyarrow.lib:type_for_alias", "string"))
