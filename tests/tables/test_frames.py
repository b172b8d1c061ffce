"""Data frames of pandas ↔ datasets: what becomes of each type, and that both ways together change nothing."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.tables.frames import from_pandas

pd = pytest.importorskip("pandas", reason="needs pandas (extra pandas)")


def written(frame: Any) -> Any:
    """Return what is read back of a frame."""
    with tempfile.TemporaryDirectory() as folder:
        ds.write(Path(folder, "a.ds"), frame)
        return ds.read(Path(folder, "a.ds"))


COLUMNS = {
    "float": lambda n: np.arange(n) / 3,
    "nan": lambda n: np.where(np.arange(n) % 2, np.nan, 1.5),
    "single": lambda n: np.arange(n, dtype="f4"),
    "int": lambda n: np.arange(n) - 5,
    "uint8": lambda n: np.arange(n, dtype="u1"),
    "bool": lambda n: np.arange(n) % 2 == 0,
    "Int64": lambda n: pd.array([None if i % 2 else i for i in range(n)], "Int64"),
    "UInt8": lambda n: pd.array([None if i % 3 else i for i in range(n)], "UInt8"),
    "boolean": lambda n: pd.array([None if i % 3 else i % 2 == 0 for i in range(n)], "boolean"),
    "text": lambda n: [f"ž{i}" for i in range(n)],
    "time": lambda n: pd.date_range("2000-01-31 06:00", periods=n, freq="6h"),
    "gap": lambda n: [None if i % 2 else pd.Timestamp("2026-02-03 04:05:06.789") for i in range(n)],
}


@given(st.lists(st.sampled_from(sorted(COLUMNS)), unique=True, min_size=1), st.integers(1, 5), st.booleans())
def test_a_frame_comes_back(names: list[str], n: int, is_indexed: bool) -> None:
    frame = pd.DataFrame({name: COLUMNS[name](n) for name in names})
    if "gap" in names:
        frame["gap"] = frame["gap"].astype("datetime64[us]")
    frame.attrs = {"title": "a table"}
    if is_indexed:
        frame = frame.set_index(pd.Index(np.arange(n) * 2, name="step"))
    found = ds.to_pandas(written(frame))
    assert found.attrs["."] == frame.attrs
    for name in names:
        left, right = frame[name], found[name]
        assert left.isna().tolist() == right.isna().tolist()
        assert left.dropna().tolist() == right.dropna().tolist()
        if name not in ("text", "time", "gap"):
            assert left.dtype == right.dtype or not left.isna().any()
    assert found.index.equals(frame.index)
    assert found.index.name == frame.index.name
    ds_again = from_pandas(found)
    assert ds.to_pandas(ds_again).equals(found)


@pytest.mark.filterwarnings("ignore:left out")
@pytest.mark.parametrize("key", ["time", "temperature", "station_code"])
def test_a_file_comes_back(key: str) -> None:
    """Units and numbers of times are those of the file."""
    dim = "station" if key == "station_code" else "time"
    sample = ds.read(
        Path(__file__).parents[2] / "examples" / "sample.nc", sel={"station": 0} if dim == "time" else None
    )
    again = written(ds.to_pandas(sample, dim))
    expected = np.ma.filled(sample[key], np.nan) if key == "temperature" else sample[key]
    assert repr(again[key].astype(expected.dtype).tolist()) == repr(expected.tolist())
    for name in (key, "."):
        attributes = [
            {attribute: value for attribute, value in each["."][name].items() if not attribute.startswith(".")}
            for each in (again, sample)
        ]
        assert repr(attributes[0]) == repr(attributes[1])


def test_what_is_no_plain_column() -> None:
    index = pd.MultiIndex.from_tuples([("A", 1), ("A", 2), ("B", 1)], names=["station", None])
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(["x", None, "y"]),
            "utc": pd.date_range("2000-01-01 01:00", periods=3, tz="Europe/Oslo"),
            3: [datetime.timedelta(hours=1)] * 3,
        },
        index=index,
    )
    found = from_pandas(frame)
    assert [*found] == ["station", "level_1", "kind", "utc", "3", "."]
    assert {tuple(entry[".dims"]) for key, entry in found["."].items() if key != "."} == {("i",)}
    read = written(frame)
    assert read["station"].tolist() == ["A", "A", "B"]
    assert read["kind"].tolist() == ["x", None, "y"]
    assert ds.to_pandas(read)["utc"].tolist()[0] == pd.Timestamp("2000-01-01 00:00")
    assert read["3"].tolist() == [1] * 3
    assert read["."]["3"]["units"] == "hours"
    series = pd.Series([1, 2], name="x", index=pd.Index(["a", "b"]))
    assert written(series)["index"].tolist() == ["a", "b"]
    assert written(pd.Series([1, 2]))["values"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), 'two columns "a"'),
        (
            lambda: pd.DataFrame({"a": [1]}, index=pd.Index([5], name="a")),
            'two columns "a", or one that is called like',
        ),
        (lambda: pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "several levels"),
        (lambda: pd.DataFrame({"p": pd.period_range("2000-01", periods=2)}), 'variable "p"'),
        (lambda: pd.DataFrame({"o": [{}, 1]}), 'variable "o"'),
    ],
    ids=range(5),
)
def test_what_is_refused(frame: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match=f"a.ds: .*{message}"):
        ds.write(tmp_path / "a.ds", frame())
    assert not list(tmp_path.iterdir())


def test_dimensions() -> None:
    dataset = {
        "a": [1],
        "b": [1, 2],
        "s": 5,
        "g": np.zeros((2, 2)),
        ".": {"a": {".dims": ["x"]}, "b": {".dims": ["y"]}},
    }
    with pytest.raises(ds.UnsupportedError, match="have the dimensions x, y, g_1, g_2: name one of them as `dim`"):
        ds.to_pandas(dataset)
    assert ds.to_pandas(dataset, "y")["b"].tolist() == [1, 2]
    with pytest.raises(ds.MissingError, match='no variable has the dimension "z"'):
        ds.to_pandas(dataset, "z")


@pytest.mark.parametrize(
    ("units", "calendar", "values", "expected"),
    [
        ("days since 2000-01-01", "360_day", [1], None),
        ("days since 1500-01-01", "standard", [1], None),
        ("days since 1500-01-01", "proleptic_gregorian", [1.25], ["1500-01-02T06:00:00.000000"]),
        ("seconds since 1970-01-01", None, [0.1, np.nan], ["1970-01-01T00:00:00.100000", "NaT"]),
        ("m", None, [1], None),
    ],
)
def test_which_times_are_timestamps(units: str, calendar: str | None, values: list[Any], expected: Any) -> None:
    entry = {".dims": ["t"], "units": units} | ({} if calendar is None else {"calendar": calendar})
    found = ds.to_pandas({"t": values, "x": values, ".": {"t": entry, "x": entry}})["x"]
    if expected is None:
        assert found.dtype == np.array(values).dtype
    else:
        assert found.to_numpy("datetime64[us]").astype(str).tolist() == expected


def test_julian_dates_and_bytes() -> None:
    dataset = {"t": [2451545.0], "b": np.array([b"\xc5\xbe"], object), "c": np.array([b"\xff"], object)}
    dataset["."] = {"t": {".dims": ["t"], ".time": True}, "b": {".dims": ["t"]}, "c": {".dims": ["t"]}}
    frame = ds.to_pandas(dataset)
    assert frame.index.tolist() == [pd.Timestamp("2000-01-01 12:00")]
    assert frame["b"].tolist() == ["ž"]
    assert frame["c"].tolist() == [b"\xff"]
