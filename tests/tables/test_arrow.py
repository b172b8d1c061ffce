"""Datasets ↔ tables of Arrow: what becomes of each type, and that both ways together change nothing."""

from __future__ import annotations

import datetime
import gc
import tempfile
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.tables.arrow import from_arrow, table

pa = pytest.importorskip("pyarrow", reason="needs pyarrow (extra tables)")

N = 5
GAPS = np.array([False, True, False, False, True])
TEXTS = ["a", "žluť", "", "d" * 40, "\0"]
BYTES = [b"a", b"\xff", b"", b"d", b"\0"]
VALUES: dict[str, tuple[Any, dict[str, Any], str, list[Any]]] = {
    **{
        code: (np.arange(N, dtype=code), {}, type_name, np.arange(N, dtype=code).tolist())
        for code, type_name in {
            "i1": "int8", "u1": "uint8", "i2": "int16", ">u2": "uint16", "i4": "int32", "u4": "uint32", "i8": "int64",
            ">u8": "uint64", "f4": "float", ">f8": "double", "f2": "halffloat",
        }.items()
    },
    "gaps": (np.ma.MaskedArray(np.arange(N), GAPS), {}, "int64", [0, None, 2, 3, None]),
    "NaN": (np.array([1.5, np.nan, np.inf]).repeat([3, 1, 1]), {}, "double", [1.5, 1.5, 1.5, np.nan, np.inf]),
    "bool": (np.arange(N) % 2 == 0, {}, "bool", [True, False, True, False, True]),
    "bool with gaps": (np.ma.MaskedArray(np.arange(N) % 3 == 0, GAPS), {}, "bool", [True, None, False, True, None]),
    "text": (np.array(TEXTS, object), {}, "large_string", TEXTS),
    "fixed text": (np.array(["a", "b", "", "d", "ee"]), {}, "large_string", ["a", "b", "", "d", "ee"]),
    "text with gaps": (
        np.ma.MaskedArray(np.array(["a", "", "c", "", ""], object), GAPS), {}, "large_string",
        ["a", None, "c", "", None],
    ),
    "bytes": (np.array(BYTES, object), {}, "large_binary", BYTES),
    "bytes in UTF-8": (np.array([one.encode() for one in TEXTS], object), {}, "large_string", TEXTS),
    "hours": (
        np.arange(N), {"units": "hours since 2026-01-01"}, "timestamp[s]",
        [datetime.datetime(2026, 1, 1, hour) for hour in range(N)],
    ),
    "days as floats": (
        np.arange(N) / 4, {"units": "days since 2026-01-01"}, "timestamp[us]",
        [datetime.datetime(2026, 1, 1, 6 * i) if i < 4 else datetime.datetime(2026, 1, 2) for i in range(N)],
    ),
    "times with gaps": (
        np.ma.MaskedArray(np.arange(N), GAPS), {"units": "ms since 1970-01-01"}, "timestamp[ms]",
        [None if GAPS[i] else datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=i) for i in range(N)],
    ),
    "360 days": (np.arange(N), {"units": "days since 2000-01-01", "calendar": "360_day"}, "int64", list(range(N))),
    "durations": (np.arange(N), {"units": "hours"}, "int64", list(range(N))),
}  # fmt: skip


def dataset(name: str) -> dict[str, Any]:
    array, entry, _, _ = VALUES[name]
    return {
        "x": array,
        ".": {
            "x": {".dims": ["row"], "long_name": "a name", "valid_min": np.float32(-1), "levels": [1, 2], **entry},
            ".": {"title": "žluť", "version": 3},
        },
    }


@pytest.mark.parametrize("name", VALUES)
def test_each_type(name: str, tmp_path: Path) -> None:
    """The same from arrays and from the bytes of a file."""
    _, _, type_name, expected = VALUES[name]
    found = ds.to_arrow(dataset(name), "row")
    ds.write(tmp_path / "a.ds", dataset(name))
    with ds.open(tmp_path / "a.ds") as file:
        of_file = pa.table(file.table())
    for each in (found, of_file):
        each.validate(full=True)
        assert str(each.schema.field("x").type) == type_name
        found_values = each["x"].to_pylist()  # the oldest pyarrow gives scalars of NumPy for float16
        assert repr([one.item() if isinstance(one, np.generic) else one for one in found_values]) == repr(expected)
        assert each.schema.metadata[b"title"].decode() == "žluť"
        assert each.schema.field("x").metadata[b"long_name"] == b"a name"
    if name != "fixed text":
        assert found.schema.field("x").metadata == of_file.schema.field("x").metadata


@pytest.mark.parametrize("name", VALUES)
def test_a_table_comes_back(name: str, tmp_path: Path) -> None:
    """A table that is written and read again is the same, and so is its dataset."""
    table = ds.to_arrow(dataset(name), "row")
    ds.write(tmp_path / "a.ds", table)
    again = ds.read(tmp_path / "a.ds")
    assert ds.to_arrow(again, "row").equals(table, check_metadata=True) or name == "NaN"
    attributes = {key: value for key, value in again["."]["x"].items() if key[0] != "."}
    expected = {key: value for key, value in dataset(name)["."]["x"].items() if key[0] != "."}
    assert repr(sorted(attributes.items())) == repr(sorted(expected.items()))
    assert again["."]["x"][".dims"] == ["row"]
    assert again["."]["."] == dataset(name)["."]["."]
    if "time" not in name and "days" not in name:
        array = np.ma.asanyarray(VALUES[name][0])
        assert repr(np.ma.asanyarray(again["x"]).tolist()) == repr(array.tolist())
        assert again["x"].dtype == (object if array.dtype.kind == "U" else array.dtype.newbyteorder("="))


FOREIGN: dict[str, tuple[Any, Any]] = {
    "int32 with gaps": ([1, None, 3], "int32"),
    "text": (["a", None, "ž"], "string"),
    "views": (["a", None, "ž"], "string_view"),
    "bytes": ([b"a", None, b"\xff"], "binary"),
    "seconds": ([datetime.datetime(2026, 1, 1), None, datetime.datetime(1960, 1, 1)], "timestamp[s]"),
    "nanoseconds": ([datetime.datetime(2026, 1, 1), None, datetime.datetime(1960, 1, 1)], "timestamp[ns]"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_table_of_others(name: str, tmp_path: Path) -> None:
    values, type_name = FOREIGN[name]
    kind = pa.timestamp(type_name[10:-1]) if "[" in type_name else getattr(pa, type_name)()
    table = pa.table({"x": pa.chunked_array([pa.array(values[:1], kind), pa.array(values[1:], kind)])})
    ds.write(tmp_path / "a.ds", table.replace_schema_metadata({"who": "others"}))
    found = ds.to_arrow(ds.read(tmp_path / "a.ds"))
    assert found["x"].to_pylist() == values
    assert found.schema.metadata[b"who"] == b"others"
    if name in ("seconds", "nanoseconds", "int32 with gaps"):
        assert found.schema.field("x").type == kind


def test_dates_zones_dictionaries(tmp_path: Path) -> None:
    zone = pa.timestamp("us", "Europe/Prague")
    when = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
    columns = {"d": [datetime.date(2026, 1, 2)], "c": pa.array(["a"]).dictionary_encode(), "n": pa.nulls(1)}
    with pytest.warns(ds.DsWarning, match="times in the zone Europe/Prague become UTC"):
        found = from_arrow(pa.table({**columns, "z": pa.array([when], zone)}))
    table = ds.to_arrow(found)
    assert table["d"].to_pylist() == [datetime.datetime(2026, 1, 2)]
    assert table["z"].to_pylist() == [when.replace(tzinfo=None)]
    assert table["c"].to_pylist() == ["a"]
    assert table["n"].to_pylist() == [None]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([[1, 2]], r'a.ds: variable "x": found the type list<.*>, which ds does not have: cast it to'),
        ([{"a": 1}], "found the type struct"),
        (pa.array([1], pa.decimal128(5, 2)), "found the type decimal128"),
        (pa.array([datetime.time(1)]), "found the type time64"),
    ],
)
def test_types_that_ds_does_not_have(column: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match=message):
        ds.write(tmp_path / "a.ds", pa.table({"x": column}))
    assert list(tmp_path.iterdir()) == []


def test_names(tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match='found two columns "x"'):
        ds.write(tmp_path / "a.ds", pa.table([[1], [2]], names=["x", "x"]))
    with pytest.raises(ds.UnsupportedError, match="a NUL ends the name"):
        ds.to_arrow({"a\0b": [1]})
    odd = {".x": [1], "a/b": [2], "": [3]}
    table = pa.table(odd)
    assert ds.to_arrow(from_arrow(table)).to_pydict() == odd


def test_other_libraries(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars", reason="needs polars")
    frame = pl.DataFrame({"x": [1, None, 3], "s": ["a", None, "žluť"], "t": [datetime.datetime(2026, 1, 1)] * 3})
    ds.write(tmp_path / "a.ds", frame)
    with ds.open(tmp_path / "a.ds") as file:
        again = pl.DataFrame(file.table())
    assert again.equals(frame)


SPREAD = {
    "x": np.arange(6.0).reshape(2, 3),
    "y": np.ma.MaskedArray(np.arange(6).reshape(3, 2), [[False, True]] * 3),
    "a": np.array([10, 20]),
    "s": "text",
    ".": {"x": {".dims": ["a", "b"]}, "y": {".dims": ["b", "a"]}, "a": {".dims": ["a"]}},
}


def test_explode_is_as_in_xarray() -> None:
    found = ds.to_arrow(SPREAD, explode=True)
    assert found.to_pydict() == {
        "b": [0, 1, 2] * 2,
        "x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        "y": [0, 2, 4, None, None, None],
        "a": [10] * 3 + [20] * 3,
        "s": ["text"] * 6,
    }
    xarray = pytest.importorskip("xarray")
    frame = xarray.Dataset({"x": (("a", "b"), SPREAD["x"]), "s": "text"}, {"a": SPREAD["a"]}).to_dataframe()
    ours = ds.to_pandas(SPREAD, explode=True)
    assert ours[["x", "s"]].values.tolist() == frame[["x", "s"]].values.tolist()
    assert ours.index.equals(frame.index)
    with ds_file(SPREAD) as file:
        assert pa.table(file.table(explode=True)).equals(found)


def ds_file(data: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        ds.write(Path(folder, "a.ds"), data)
        return ds.open(Path(folder, "a.ds"))


def test_several_dimensions_are_refused() -> None:
    with pytest.raises(
        ds.UnsupportedError, match="have the dimensions a, b: name one of them as `dim`, or `explode=True`"
    ):
        ds.to_arrow(SPREAD)
    with pytest.raises(ds.UnsupportedError, match="select one position along all dimensions except one"):
        ds.to_arrow(SPREAD, "b")
    with pytest.warns(ds.DsWarning, match="left out x, y, which have more dimensions"):
        assert ds.to_arrow(SPREAD, "a").column_names == ["a"]
    with pytest.raises(ds.MissingError, match=r'a\.ds: no variable has the dimension "c"'), ds_file(SPREAD) as file:
        file.table("c")


@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))), st.booleans())
def test_text_comes_back(values: list[Any], is_of_bytes: bool) -> None:
    objects = np.array([None if one is None else one.encode() if is_of_bytes else one for one in values], object)
    kind = "str" if is_of_bytes else "unicode"
    data = {"x": objects, ".": {"x": {".dims": ["i"], ".type": kind}}}
    assert ds.to_arrow(data, "i")["x"].to_pylist() == values
    with ds_file(data) as file:
        assert pa.table(file.table())["x"].to_pylist() == values


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match='variable "x": found text that is not UTF-8'):
        ds.to_arrow({"x": np.array(["a", "\ud800"], object)})
    data = {"x": ["až", "b"]}
    ds.write(tmp_path / "a.ds", data)
    damaged = (tmp_path / "a.ds").read_bytes().replace("ž".encode(), b"\xc5\x20")
    (tmp_path / "b.ds").write_bytes(damaged)
    with (
        ds.open(tmp_path / "b.ds") as file,
        pytest.raises(ds.UnsupportedError, match=r'b\.ds: variable "x": found text'),
    ):
        file.table()


def test_packed_numbers_are_unpacked(tmp_path: Path) -> None:
    entry = {".dims": ["i"], "scale_factor": 0.25, "add_offset": 1.0, ".netcdf": {"packed": True}}
    ds.write(tmp_path / "a.ds", {"x": np.ma.MaskedArray(np.arange(N, dtype="i2"), GAPS), ".": {"x": entry}})
    with ds.open(tmp_path / "a.ds") as file:
        assert pa.table(file.table())["x"].to_pylist() == [1.0, None, 1.5, 1.75, None]
    assert ds.to_arrow(ds.read(tmp_path / "a.ds"))["x"].to_pylist() == [1.0, None, 1.5, 1.75, None]


def test_numbers_are_not_copied() -> None:
    array = np.arange(1000.0)
    column = ds.to_arrow({"x": array})["x"].chunk(0)
    assert column.buffers()[1].address == array.ctypes.data


def test_buffers_live_as_long_as_their_users() -> None:
    class Array(np.ndarray):
        pass

    array = np.arange(1000.0).view(Array)
    gone = weakref.ref(array)
    column = pa.table(table({"x": array, ".": {"x": {".dims": ["i"]}}}))["x"].chunk(0)
    values = column.to_numpy()
    del array, column
    gc.collect()
    assert values.sum() == 499500
    del values
    gc.collect()
    assert gone() is None


def test_a_stream_may_be_taken_any_number_of_times_or_not_at_all() -> None:
    made = table({"x": np.arange(1000.0), "s": ["a"] * 1000, ".": {"x": {".dims": ["i"]}, "s": {".dims": ["i"]}}})
    assert (len(made), made.columns) == (1000, ["x", "s"])
    made.__arrow_c_stream__()
    tracemalloc.start()
    for i in range(200):
        made.__arrow_c_stream__()
        reader = pa.RecordBatchReader.from_stream(made)
        assert reader.schema.names == ["x", "s"]
        if i % 2:
            assert reader.read_all().num_rows == 1000
    del reader
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 100_000
    tracemalloc.stop()
