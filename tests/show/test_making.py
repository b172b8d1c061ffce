"""Scenes: axes from coordinates, thinned, with gaps where values are missing.

Lines that are broken where a series has a gap.

Times on axes: dates of the file's calendar.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format.errors import UnsupportedError
from ds_format.show import making
from ds_format.show.making import gaps
from ds_format.show.picture import lonely_values
from ds_format.show.scene import Axis, Line, Map, axis_text, date_text, date_ticks, time_axis
from ds_format.timeaxis.calendars import count

from .sources import make

HOURS = "hours since 2000-01-01"


def test_a_line_with_its_coordinate(tmp_path: Path) -> None:
    meta = {
        "t": {".dims": ["z"], "units": "K", "long_name": "temperature"},
        "z": {".dims": ["z"], "units": "m"},
    }
    drawn = make(tmp_path, {"t": [1, 2, 4], "z": [10.0, 30.0, 20.0], ".": meta}, "t")
    assert isinstance(drawn, Line)
    assert drawn.title == "temperature"
    assert (drawn.x.label, drawn.y.label) == ("z (m)", "t (K)")
    assert drawn.x.values.tolist() == [10, 30, 20]
    assert drawn.y.values.tolist() == [1, 2, 4]


def test_times_become_dates(tmp_path: Path) -> None:
    meta = {"t": {".dims": ["time"]}, "time": {".dims": ["time"], "units": HOURS}}
    drawn = make(tmp_path, {"t": [1.0, 2.0], "time": [0, 36], ".": meta}, "t")
    assert (drawn.x.kind, drawn.x.label) == ("time", "time")
    assert drawn.x.values.tolist() == np.array(["2000-01-01", "2000-01-02T12:00"], "M8[ms]").tolist()
    drawn = make(tmp_path, {"time": [0, 36], ".": meta}, "time")
    assert drawn.x.values.tolist() == [0, 1]
    assert drawn.y.kind == "time"


@pytest.mark.filterwarnings("ignore")
def test_times_that_are_no_dates_stay_numbers(tmp_path: Path) -> None:
    meta = {"t": {".dims": ["time"]}, "time": {".dims": ["time"], "units": "days since 0001-01-01"}}
    drawn = make(tmp_path, {"t": [1.0, 2.0], "time": [0.0, 1e8], ".": meta}, "t")
    assert drawn.x.kind == ""
    assert drawn.x.values.dtype == np.float64


def test_a_map_has_longitude_or_time_across(tmp_path: Path) -> None:
    north, east = {".dims": ["lat"], "units": "degrees_north"}, {".dims": ["lon"], "units": "degrees_east"}
    coordinates = {"lat": [-10.0, 10.0], "lon": [0.0, 90.0, 180.0]}
    for dims, data in ((["lat", "lon"], [[1, 2, 3], [4, 5, 6]]), (["lon", "lat"], [[1, 4], [2, 5], [3, 6]])):
        meta = {"p": {".dims": dims, "units": "Pa"}, "lat": north, "lon": east}
        drawn = make(tmp_path, {"p": np.array(data), **coordinates, ".": meta}, "p")
        assert isinstance(drawn, Map)
        assert (drawn.x.kind, drawn.y.kind, drawn.label) == ("longitude", "latitude", "p (Pa)")
        assert drawn.values.tolist() == [[1, 2, 3], [4, 5, 6]]
    meta = {"p": {".dims": ["time", "z"]}, "time": {".dims": ["time"], "units": HOURS}, "z": {"positive": "down"}}
    dataset = {"p": np.array([[1, 2, 3], [4, 5, 6]]), "time": [0, 1], "z": [0.0, 1.0, 2.0], ".": meta}
    meta["z"][".dims"] = ["z"]
    drawn = make(tmp_path, dataset, "p")
    assert (drawn.x.kind, drawn.y.label, drawn.y.downward) == ("time", "z", True)
    assert drawn.values.tolist() == [[1, 4], [2, 5], [3, 6]]


ODD_COORDINATES: dict[str, Any] = {
    "not monotonic": [0.0, 2.0, 1.0],
    "missing": np.ma.MaskedArray([0.0, 1.0, 2.0], [False, True, False]),
    "infinite": [0.0, 1.0, np.inf],
    "text": np.array(["a", "b", "c"], object),
    "two dimensions": np.zeros((3, 3)),
    "a scalar": 5.0,
    "without data": None,
}


@pytest.mark.parametrize("name", ODD_COORDINATES)
def test_coordinates_that_are_none_are_replaced_by_positions(name: str, tmp_path: Path) -> None:
    coordinate = ODD_COORDINATES[name]
    names = {"two dimensions": ["x", "y"], "a scalar": [], "without data": []}.get(name, ["x"])
    meta = {"p": {".dims": ["y", "x"]}, "x": {".dims": names}}
    drawn = make(tmp_path, {"p": np.arange(9.0).reshape(3, 3), "x": coordinate, ".": meta}, "p")
    assert drawn.x.values.tolist() == [0, 1, 2]
    assert drawn.x.label == "x"


def test_missing_and_infinite_values_are_gaps(tmp_path: Path) -> None:
    data = np.ma.MaskedArray([1.0, 2.0, np.nan, np.inf], [True, False, False, False])
    drawn = make(tmp_path, {"t": data, ".": {"t": {".dims": ["x"]}}}, "t")
    assert np.isnan(drawn.y.values).tolist() == [True, False, True, True]


def test_numbers_are_unpacked(tmp_path: Path) -> None:
    meta = {"t": {".dims": ["x"], "scale_factor": np.float32(0.5), "add_offset": 100}}
    drawn = make(tmp_path, {"t": np.ma.MaskedArray([2, 4, 0], [False, False, True], "i2"), ".": meta}, "t")
    assert drawn.y.values[:2].tolist() == [101, 102]
    assert np.isnan(drawn.y.values[2])
    meta["t"]["scale_factor"] = "much"
    assert make(tmp_path, {"t": np.array([2, 4]), ".": meta}, "t").y.values.tolist() == [2, 4]


def test_what_kinds_of_numbers_are_drawn(tmp_path: Path) -> None:
    for data in (np.array([True, False]), np.array([2**63, 1], np.uint64), np.array([1, -1], ">i2")):
        drawn = make(tmp_path, {"t": data, ".": {"t": {".dims": ["x"]}}}, "t")
        assert drawn.y.values.tolist() == data.astype(float).tolist()


def test_a_long_line_keeps_its_extremes(tmp_path: Path) -> None:
    data = np.sin(np.arange(10_007) / 500)
    data[5003] = 77
    data[9] = np.nan
    drawn = make(
        tmp_path, {"t": data, "x": np.arange(10_007) * 2, ".": {"t": {".dims": ["x"]}, "x": {".dims": ["x"]}}}, "t"
    )
    assert len(drawn.x.values) == len(drawn.y.values) <= 200
    assert np.nanmax(drawn.y.values) == 77
    assert np.nanmin(drawn.y.values) == np.nanmin(data)
    assert drawn.x.values[:4].tolist() == [0, 0, 202, 202]


@given(st.lists(st.integers(1, 7), min_size=1), st.integers(1, 9))
def test_an_envelope_does_not_depend_on_blocks(sizes: list[int], step: int) -> None:
    n = sum(sizes)
    data = np.random.default_rng(n).random(n)
    blocks = np.split(data, np.cumsum(sizes)[:-1])
    parts = [data[i : i + step] for i in range(0, n, step)]
    expected = [extreme for part in parts for extreme in (part.min(), part.max())]
    assert making.envelope(iter(blocks), n, step).tolist() == expected


def test_a_large_map_is_thinned(tmp_path: Path) -> None:
    data = np.arange(300 * 301.0).reshape(300, 301)
    meta = {"t": {".dims": ["y", "x"]}, "x": {".dims": ["x"]}}
    drawn = make(tmp_path, {"t": data, "x": np.arange(301) / 10, ".": meta}, "t")
    assert drawn.values.tolist() == data[::15, ::7].tolist()
    assert drawn.x.values.tolist() == (np.arange(301) / 10)[::7].tolist()
    assert drawn.y.values.tolist() == list(range(0, 300, 15))


def test_dimensions_of_size_one_do_not_count(tmp_path: Path) -> None:
    meta = {"t": {".dims": ["a", "b", "c", "d"]}}
    drawn = make(tmp_path, {"t": np.arange(6).reshape(1, 2, 1, 3), ".": meta}, "t")
    assert drawn.values.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert make(tmp_path, {"t": np.arange(6).reshape(1, 6, 1, 1), ".": meta}, "t").y.values.tolist() == list(range(6))


def test_the_title_tells_where(tmp_path: Path) -> None:
    meta = {"t": {".dims": ["x"]}, "z": {".dims": [], "units": "m"}, "time": {".dims": [], "units": HOURS}}
    drawn = make(tmp_path, {"t": [1, 2], "z": 10.0, "time": 24, ".": meta}, "t")
    assert (drawn.title, drawn.where) == ("t", "z = 10 m, time = 2000-01-02")


UNDRAWABLE: dict[str, tuple[Any, list[str], str]] = {
    "three": (np.zeros((2, 3, 4)), ["a", "b", "c"], r"found 3 dimensions \(a: 2, b: 3, c: 4\).* sel: \{ a: 0 \}"),
    "four": (np.zeros((2, 3, 4, 5)), ["a", "b", "c", "d"], r"sel: \{ a: 0 b: 0 \}"),
    "text": (np.array(["a"], object), ["a"], "text cannot be drawn"),
    "scalar": (5, [], "a single value"),
    "ones": (np.zeros((1, 1, 1)), ["a", "b", "c"], "a single value"),
    "empty": (np.zeros((0, 3)), ["a", "b"], "no values"),
    "nothing": (None, [], "no values"),
    "missing": (np.ma.masked_all(3), ["a"], "all of its values are missing"),
    "missing map": (np.full((3, 2), np.nan), ["a", "b"], "all of its values are missing"),
}


@pytest.mark.parametrize("name", UNDRAWABLE)
def test_what_cannot_be_drawn_is_told(name: str, tmp_path: Path) -> None:
    data, names, message = UNDRAWABLE[name]
    with pytest.raises(UnsupportedError, match=message) as caught:
        make(tmp_path, {"v": data, ".": {"v": {".dims": names}}}, "v")
    assert caught.value.variable == "v"


DAYS = "days since 2001-01-01"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([1] * 9, []),
        ([1, 1, 2, 1, 1, 1], [2]),
        ([1, 1, 1, 30, 1, 1], [3]),
        ([31, 28, 31, 30, 31, 30], []),
        ([31, 28, 31, 61, 30, 31], [3]),
        ([365, 365, 366, 365], []),
        ([1, 1, 1, 1, 3] * 4, []),
        ([1, 1, 1, 1, 3] * 4 + [60] + [1, 1, 1, 1, 3] * 4, [20]),
        ([0, 0, 1, 1], []),
        ([5], []),
        ([], []),
    ],
)
def test_where_a_series_has_gaps(steps: list[float], expected: list[int]) -> None:
    days = np.cumsum([0.0, *steps])
    assert gaps(days).tolist() == expected
    assert gaps(days[::-1])[::-1].tolist() == [len(steps) - 1 - i for i in expected]
    dates = np.datetime64("2001-01-01", "ms") + (days * 86_400_000).astype("m8[ms]")
    assert gaps(dates).tolist() == expected


def test_a_missing_time_is_no_gap_of_its_own() -> None:
    assert gaps(np.array([0, 1, np.nan, 3, 4.0])).tolist() == []


def test_a_line_is_broken_at_a_gap(tmp_path: Path) -> None:
    meta: dict[str, Any] = {"t": {".dims": ["time"]}, "time": {".dims": ["time"], "units": DAYS}}
    drawn = make(tmp_path, {"t": np.arange(6.0), "time": [0, 1, 2, 10, 11, 12], ".": meta}, "t")
    assert drawn.y.values.tolist()[:3] == [0, 1, 2]
    assert np.isnan(drawn.y.values).tolist() == [False] * 3 + [True] + [False] * 3
    assert len(drawn.x.values) == 7
    meta["time"]["units"] = "m"
    drawn = make(tmp_path, {"t": np.arange(6.0), "time": [0, 1, 2, 10, 11, 12], ".": meta}, "t")
    assert drawn.y.values.tolist() == [0, 1, 2, 3, 4, 5]  # levels may be where they like


@pytest.mark.parametrize("calendar", ["standard", "360_day"])
def test_a_thinned_line_is_broken_at_a_gap(calendar: str, tmp_path: Path) -> None:
    meta = {"t": {".dims": ["time"]}, "time": {".dims": ["time"], "units": DAYS, "calendar": calendar}}
    time = np.r_[0:5000, 9000:14000]
    drawn = make(tmp_path, {"t": np.sin(time), "time": time, ".": meta}, "t")
    broken = np.flatnonzero(np.isnan(drawn.y.values))
    assert len(drawn.x.values) == 201
    assert broken.tolist() == [100]


def test_a_time_may_be_drawn_over_itself(tmp_path: Path) -> None:
    meta = {"time": {".dims": ["obs"], "units": DAYS}, "obs": {".dims": ["obs"], "units": DAYS}}
    drawn = make(tmp_path, {"time": [0, 1, 2, 10], "obs": [0, 1, 2, 10], ".": meta}, "time")
    assert np.isnat(drawn.y.values).tolist() == [False, False, False, True, False]


def test_values_without_neighbours() -> None:
    nan = np.nan
    assert lonely_values(np.array([1, nan, 2, 3, nan, 4])).tolist() == [True, False, False, False, False, True]


def axis(values: list[float], units: str, calendar: str | None = None) -> Any:
    attributes = {"units": units} | ({} if calendar is None else {"calendar": calendar})
    return time_axis("time", np.array(values, float), attributes)


def test_dates_of_the_real_world_are_those_of_numpy() -> None:
    found = axis([0, 1.5, np.nan], "days since 2000-02-28")
    assert found.values.tolist() == np.array(["2000-02-28", "2000-02-29T12:00", "NaT"], "M8[ms]").tolist()
    assert (found.kind, found.calendar) == ("time", "")


@pytest.mark.parametrize(
    ("calendar", "texts"),
    [
        ("360_day", ["2000-02-29", "2000-02-30", "2000-03-01"]),
        ("all_leap", ["2000-02-29", "2000-03-01", "2000-03-02"]),
    ],
)
def test_calendars_of_models_have_their_own_days(calendar: str, texts: list[str]) -> None:
    found = axis([59.0 if calendar == "all_leap" else 58.0, np.nan], "days since 2000-01-01", calendar)
    assert found.calendar in ("360_day", "366_day")
    days = [found.values[0] + i for i in range(3)]
    assert [axis_text(found, day) for day in days] == texts
    assert np.isnan(found.values[1])


@pytest.mark.parametrize(
    ("calendar", "start", "texts"),
    [
        ("julian", "1900-02-28", ["1900-02-28", "1900-02-29"]),
        ("standard", "1582-10-04", ["1582-10-04", "1582-10-15"]),
        ("proleptic_gregorian", "1582-10-04", ["1582-10-04", "1582-10-05"]),
    ],
)
def test_dates_are_those_of_the_calendar(calendar: str, start: str, texts: list[str]) -> None:
    found = axis([0, 1, np.nan], f"days since {start}", calendar)
    assert [axis_text(found, day) for day in found.values[:2]] == texts
    assert axis([0.0, 1], "days since 2000-01-01").calendar == ""


def test_ticks_around_the_reform_and_the_missing_year_0() -> None:
    start = float(count(1582, 10, 1, "standard"))
    texts = date_ticks(start, start + 8, "standard")[1]
    assert texts == ["1582-10-01", "1582-10-03", "1582-10-15", "1582-10-17", "1582-10-19"]
    low, high = (float(count(year, 1, 1, "julian")) for year in (-3, 3))
    assert date_ticks(low, high, "julian")[1] == ["-000003", "-000002", "-000001", "0001", "0002", "0003"]


def test_noleap_has_no_29_february() -> None:
    found = axis([58, 59], "days since 2000-01-01", "noleap")
    assert [axis_text(found, day) for day in found.values] == ["2000-02-28", "2000-03-01"]


def test_what_is_no_date_is_no_axis() -> None:
    assert axis([0], "K") is None
    assert axis([0], "months since 2000-01-01") is None
    assert axis([0], "days since 2000-01-01", "lunar") is None
    assert axis([1e8], "days since 0001-01-01") is None


@pytest.mark.parametrize("calendar", ["360_day", "365_day", "366_day", "julian", "standard"])
@pytest.mark.parametrize("span", [0.1, 0.5, 1, 3, 10, 40, 100, 400, 1000, 5000, 50_000, 1_000_000])
def test_ticks_are_few_dates_within(calendar: str, span: float) -> None:
    start = float(count(1999, 11, 13, calendar)) + 0.3
    places, texts = date_ticks(start, start + span, calendar)
    assert len(places) == len(set(texts)) == len(texts) <= 7
    assert len(places) >= (1 if span < 1 else 2)
    assert places == sorted(places)
    assert all(start <= place <= start + span for place in places)


def test_ticks_say_what_their_places_are() -> None:
    first = count(2000, 1, 30, "360_day")
    places, texts = date_ticks(first, first + 3, "360_day")
    assert dict(zip(texts, places, strict=True)) == {
        "2000-01-30": first, "2000-02-01": first + 1, "2000-02-02": first + 2, "2000-02-03": first + 3,
    } or all(text.endswith("00") for text in texts)  # fmt: skip
    years, texts = date_ticks(
        count(1990, 6, 1, "noleap".replace("noleap", "365_day")), count(2010, 1, 1, "365_day"), "365_day"
    )
    assert texts == ["1995", "2000", "2005", "2010"]
    assert [date_text(day, "365_day", has_time=False)[5:] for day in years] == ["01-01"] * 4


def test_numbers_are_told_with_six_digits() -> None:
    assert axis_text(Axis("x", np.array([1.0])), 1 / 3) == "0.333333"
