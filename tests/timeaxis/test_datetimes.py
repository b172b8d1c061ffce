"""Times of NumPy, Python and pandas as values of a dataset: they are written exactly, and xarray reads them back."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format.errors import UnsupportedError

GENERIC = pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")
"""NumPy 2.5 warns when a time without a unit is made."""
ZONE = datetime.timezone(datetime.timedelta(hours=2))


def written(path: Path, values: Any, **entry: Any) -> tuple[Any, dict[str, Any]]:
    """Return values and metadata of a variable in a file."""
    ds.write(path, {"t": values, ".": {"t": entry}})
    found = ds.read(path)
    return found["t"], found["."]["t"]


@pytest.mark.parametrize(
    ("text", "expected", "units"),
    [
        (["1970-01-02", "1970-01-04"], [1, 3], "days"),
        (["1970-01-02", "1970-01-01T01"], [24, 1], "hours"),
        (["1970-01-01T00:01"], [1], "minutes"),
        (["1969-12-31T23:59:59"], [-1], "seconds"),
        (["1970-01-01T00:00:00.002"], [2], "milliseconds"),
        (["1970-01-01T00:00:00.000002"], [2], "microseconds"),
        (["2000-01-01T00:00:00.000000001"], [946_684_800_000_000_001], "nanoseconds"),
        ([], [], "days"),
    ],
)
def test_units_are_the_coarsest_that_hold_all_values(
    tmp_path: Path, text: list[str], expected: list[int], units: str
) -> None:
    values, entry = written(tmp_path / "a.ds", np.array(text, "M8[ns]"))
    assert values.tolist() == expected
    assert values.dtype == np.int64
    assert (entry["units"], entry["calendar"]) == (f"{units} since 1970-01-01", "proleptic_gregorian")


@pytest.mark.parametrize("dtype", ["M8[Y]", "M8[M]", "M8[W]", "M8[D]", "M8[h]", "M8[7s]", ">M8[us]"])
def test_any_unit_of_numpy(tmp_path: Path, dtype: str) -> None:
    given_ = np.array([-3, 0, 5], dtype)
    values, entry = written(tmp_path / "a.ds", given_)
    unit = {"days": "D", "hours": "h", "minutes": "m", "seconds": "s", "microseconds": "us"}[entry["units"].split()[0]]
    assert (values.astype(f"M8[{unit}]") == given_).all()


@GENERIC
def test_nat_is_missing(tmp_path: Path) -> None:
    values, _ = written(tmp_path / "a.ds", np.array(["NaT", "1970-01-02"], "M8[ns]"))
    assert values.tolist() == [None, 1]
    values, _ = written(tmp_path / "a.ds", np.ma.MaskedArray(np.array([5, 60], "m8[s]"), [True, False]))
    assert values.tolist() == [None, 1]
    values, entry = written(tmp_path / "a.ds", [None, np.datetime64("NaT"), datetime.date(1970, 1, 2)])
    assert (values.tolist(), entry["units"]) == ([None, None, 1], "days since 1970-01-01")


@pytest.mark.parametrize(
    ("value", "expected", "units"),
    [
        (np.datetime64("1970-01-02"), 1, "days since 1970-01-01"),
        (datetime.datetime(1970, 1, 1, 3), 3, "hours since 1970-01-01"),
        (datetime.datetime(1970, 1, 1, 3, tzinfo=ZONE), 1, "hours since 1970-01-01"),
        (datetime.date(1970, 1, 2), 1, "days since 1970-01-01"),
        (datetime.timedelta(minutes=90), 90, "minutes"),
        (np.timedelta64(2, "D"), 2, "days"),
    ],
)
def test_scalars_and_lists(tmp_path: Path, value: Any, expected: int, units: str) -> None:
    values, entry = written(tmp_path / "a.ds", value)
    assert (values, entry["units"]) == (expected, units)
    values, entry = written(tmp_path / "a.ds", [value, value])
    assert (values.tolist(), entry["units"]) == ([expected, expected], units)


def test_times_of_pandas(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    path = tmp_path / "a.ds"
    hours = pd.date_range("1970-01-01", periods=3, freq="h")
    zoned = pd.date_range("1970-01-01 01:00", periods=3, freq="h", tz="Etc/GMT-1")
    for values in (hours, pd.Series(hours), zoned, pd.Series(zoned), list(zoned)):
        assert written(path, values)[0].tolist() == [0, 1, 2]
    assert written(path, pd.Timestamp("1970-01-03"))[0] == 2
    assert written(path, pd.Timedelta(minutes=3))[0] == 3
    assert written(path, [pd.NaT, pd.Timedelta(minutes=3)])[0].tolist() == [None, 3]
    assert written(path, pd.to_timedelta([60, 120], unit="s"))[0].tolist() == [1, 2]


def test_units_in_the_metadata_are_used_if_exact(tmp_path: Path) -> None:
    path, values = tmp_path / "a.ds", np.array(["2000-01-01T06", "2000-01-02"], "M8[ns]")
    got, entry = written(path, values, units="hours since 2000-01-01", long_name="x")
    assert got.tolist() == [6, 24]
    assert {**entry, ".dims": None} == {
        ".dims": None,
        ".size": [2],
        ".type": "int64",
        "units": "hours since 2000-01-01",
        "long_name": "x",
    }
    assert written(path, values, units="hours since 0001-01-01", calendar="proleptic_gregorian")[0].dtype == np.int64
    assert written(path, values, units="days since 2000-01-01")[0].tolist() == [0.25, 1.0]
    assert written(path, values, units="hours since 2000-01-01 00:00 +06:00")[0].tolist() == [12, 30]
    assert written(path, np.array([90], "m8[m]"), units="hours")[0].tolist() == [1.5]
    values, entry = written(path, np.array(["2000-01-01T12"], "M8[s]"), **{".time": True})
    assert values.tolist() == [2451545.0]
    assert "units" not in entry
    for units, calendar, message in (
        ("days since 2000-01-01", "noleap", r'variable "t": .*calendar "noleap"'),
        ("m", None, r'variable "t": found the units "m"'),
        ("weeks since 2000-01-01", None, r'variable "t": found times that are not whole numbers of the units "weeks'),
    ):
        given_entry = {"units": units} if calendar is None else {"units": units, "calendar": calendar}
        with pytest.raises(UnsupportedError, match=message):
            written(path, np.array(["2000-01-01T06"], "M8[ns]"), **given_entry)
    with pytest.raises(UnsupportedError, match=r"a\.ds: variable \"t\": found units 'days since 2000-01-01'"):
        written(path, np.array([1], "m8[s]"), units="days since 2000-01-01")


@GENERIC
def test_values_that_no_units_hold(tmp_path: Path) -> None:
    for values, message in (
        ([np.datetime64("2000"), np.timedelta64(1, "s")], "found dates and durations"),
        ([datetime.date(2000, 1, 1), 3], "found times and a value of type int"),
        ([np.datetime64("9000-01-01"), np.datetime64("2000-01-01", "ns")], "too far from each other"),
        (np.array([1], "M8[ps]"), r"found values of type datetime64\[ps\]"),
        (np.array([1], "m8"), "found values of type timedelta64"),
    ):
        with pytest.raises(UnsupportedError, match=f'a.ds: variable "t": .*{message}'):
            written(tmp_path / "a.ds", values)


@pytest.mark.parametrize("suffix", ["ds", "nc"])
def test_xarray_reads_them_back(tmp_path: Path, suffix: str) -> None:
    xr = pytest.importorskip("xarray")
    path = tmp_path / f"a.{suffix}"
    times = np.array(["2000-01-01T00:00:00.123456789", "1700-01-01"], "M8[ns]")
    dataset: dict[str, Any] = {
        "t": times,
        "gaps": np.array(["NaT", "2000-01-01T00:00:00.123456789"], "M8[ns]"),
        "lag": np.array([1, -7], "m8[ns]"),
        "some": np.array(["NaT", 86400], "m8[s]"),
        ".": {key: {".dims": ["x"]} for key in ("t", "gaps", "lag", "some")},
    }
    ds.write(path, dataset)
    for engine in ("ds", "netcdf4") if suffix == "nc" else ("ds",):
        with xr.open_dataset(path, engine=engine) as x:
            for key in ("t", "gaps", "lag", "some"):
                np.testing.assert_array_equal(x[key].values, dataset[key])
                assert x[key].dtype.kind == dataset[key].dtype.kind
    np.testing.assert_array_equal(ds.to_xarray(dataset)["gaps"].values, dataset["gaps"])


def test_datasets_in_memory_are_merged(tmp_path: Path) -> None:
    parts: list[Any] = [
        {"t": np.array([day], "M8[D]"), ".": {"t": {".dims": ["t"]}}} for day in ("1970-01-02", "1970-01-05")
    ]
    assert ds.merge(parts, "t")["t"].tolist() == [1, 4]
    assert list(parts[0]["."]["t"]) == [".dims"]


@given(st.lists(st.integers(-(2**63) + 1, 2**63 - 1)), st.sampled_from(["ns", "us", "3ms"]))
def test_values_are_exact(numbers: list[int], unit: str) -> None:
    times = np.array(numbers, f"M8[{unit}]")
    try:
        found = ds.loads(ds.dumps({"t": times}))
    except UnsupportedError:
        assert unit == "3ms"  # no unit of CF holds all of these
        return
    name = {"da": "D", "ho": "h", "mi": "m", "se": "s", "na": "ns"}
    units = found["."]["t"]["units"].split()[0]
    code = {"milliseconds": "ms", "microseconds": "us"}.get(units) or name[units[:2]]
    assert [int(n) for n in found["t"].astype(f"M8[{code}]").astype(f"M8[{unit}]").astype(np.int64)] == numbers
