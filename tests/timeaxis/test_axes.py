"""Time axes: units and calendars ↔ Julian date ↔ text. cftime is the oracle, and the reference where it can convert."""

from __future__ import annotations

import datetime
import doctest
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import cftime  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import assume, example, given, strategies as st

import ds_format as ds
from ds_format import timeaxis
from ds_format.errors import UnsupportedError
from ds_format.timeaxis import dated_julian
from ds_format.timeaxis.calendars import year_text

from .calendars import MODELS, REAL_WORLD, REFERENCE, close, julian_date, values

PER_DAY = {
    "days": 1,
    "hours": 24,
    "minutes": 1440,
    "seconds": 86_400,
    "milliseconds": 86_400e3,
    "microseconds": 86_400e6,
}


@st.composite
def units(draw: st.DrawFn, calendar: str) -> str:
    unit = draw(st.sampled_from(list(PER_DAY)))
    years = st.integers(1960, 2100) if calendar == "tai" else st.integers(-6000, 12_000) | st.integers(1950, 2050)
    date = f"{draw(years.filter(bool))}-{draw(st.integers(1, 12))}-{draw(st.integers(1, 28))}"
    assume(not date.startswith("1582-10"))
    if draw(st.booleans()):
        date += draw(st.times().map(lambda time: time.strftime(" %H:%M:%S")))
        zones = ["", "Z", " UTC"] if calendar == "tai" else ["", "Z", " UTC", " +01:30", "-06:00", "+0530"]
        date += draw(st.sampled_from(zones))
    return f"{unit} since {date}"


@st.composite
def times(draw: st.DrawFn, calendar: str) -> tuple[str, float, cftime.datetime]:
    """Draw units, a value, and the date that cftime sees in them."""
    text = draw(units(calendar))
    value = draw(values(PER_DAY[text.split()[0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cftime.CFWarning)
        try:
            return text, value, cftime.num2date(value, text, calendar)
        except ValueError as error:
            assume("1958" not in str(error))
            raise


@pytest.mark.parametrize("calendar", REAL_WORLD)
@given(st.data())
def test_real_calendars_are_those_of_cftime(calendar: str, data: st.DataObject) -> None:
    text, value, date = data.draw(times(calendar))
    close(timeaxis.to_julian(value, text, calendar), julian_date(date, calendar))


@pytest.mark.parametrize("calendar", MODELS)
@given(st.data())
def test_dates_of_models_stay_or_are_refused(calendar: str, data: st.DataObject) -> None:
    text, value, date = data.draw(times(calendar))
    try:
        wanted = julian_date(date, "proleptic_gregorian")
    except ValueError:
        with pytest.raises(UnsupportedError, match=r"-(29|30) does not exist"):
            timeaxis.to_julian(value, text, calendar)
    else:
        close(timeaxis.to_julian(value, text, calendar), wanted)


@pytest.mark.parametrize("value", [-1.6e-15, -5e-12, -1e-11, -2e-11, 31 - 1e-11, 31 - 2e-11])
def test_dates_of_models_have_microseconds(value: float) -> None:
    units = "days since 2000-01-01"
    date = cftime.num2date(value, units, "360_day")
    close(timeaxis.to_julian(value, units, "360_day"), julian_date(date, "proleptic_gregorian"))
    assert timeaxis.convert(value, units, "360_day", "days since 1999-01-01", "360_day") == value + 360


@pytest.mark.parametrize("calendar", REAL_WORLD + MODELS)
@given(st.data())
def test_the_way_back(calendar: str, data: st.DataObject) -> None:
    text, value, _ = data.draw(times(calendar))
    per_day = PER_DAY[text.split()[0]]
    try:
        date = timeaxis.to_julian(value, text, calendar)
    except UnsupportedError:
        assume(False)
    close(timeaxis.from_julian(date, text, calendar), value, per_day)


@pytest.mark.parametrize("calendar", REAL_WORLD + MODELS)
@given(st.data())
def test_other_units_of_the_same_calendar(calendar: str, data: st.DataObject) -> None:
    text, value, date = data.draw(times(calendar))
    other = data.draw(units(calendar))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cftime.CFWarning)
        wanted = cftime.date2num(date, other, calendar)
    if other.partition(" since ")[2] != "-4712-1-1 12:00:00":
        close(timeaxis.convert(value, text, calendar, other, calendar), wanted, PER_DAY[other.split()[0]])


def text_of(date: cftime.datetime) -> str:
    clock = f"{date.hour:02}:{date.minute:02}:{date.second:02}"
    return f"{year_text(date.year)}-{date.month:02}-{date.day:02}T{clock}"


@pytest.mark.parametrize("calendar", REAL_WORLD + MODELS)
@pytest.mark.filterwarnings("ignore::cftime.CFWarning")
@given(st.data())
def test_text_is_that_of_cftime(calendar: str, data: st.DataObject) -> None:
    text, value, date = data.draw(times(calendar))
    assume(abs(date.microsecond - 500_000) > 100 and not text.endswith("since -4712-1-1 12:00:00"))
    whole = date.replace(microsecond=0) + datetime.timedelta(seconds=int(date.microsecond >= 500_000))
    assert timeaxis.to_iso(value, text, calendar) == text_of(whole)
    wanted = cftime.date2num(whole, "seconds since 2000-01-01", calendar)
    close(timeaxis.from_iso(text_of(whole), "seconds since 2000-01-01", calendar), wanted, 86_400)


@pytest.mark.parametrize("calendar", REAL_WORLD + MODELS)
@pytest.mark.filterwarnings("ignore::cftime.CFWarning")
@given(st.integers(-6000, 12_000), st.integers(1, 12), st.integers(1, 31))
@example(2000, 2, 30)
@example(2001, 2, 29)
@example(1500, 2, 29)
@example(1582, 10, 4)
@example(1582, 10, 5)
@example(1582, 10, 14)
@example(1582, 10, 15)
@example(-1, 12, 31)
@example(0, 12, 31)
@example(1, 1, 1)
@example(-4712, 1, 1)
def test_dates_are_those_of_cftime(calendar: str, year: int, month: int, day: int) -> None:
    units, text = "days since 1970-01-01", f"{year_text(year)}-{month:02}-{day:02}"
    try:
        date = cftime.datetime(year, month, day, calendar=calendar)
        if year == 0 and calendar in ("standard", "gregorian", "julian"):
            raise ValueError  # cftime reads it, with a warning that CF has no such year
    except ValueError:
        with pytest.raises(ValueError, match=f'found the time "{re.escape(text)}": '):
            timeaxis.from_iso(text, units, calendar)
        return
    wanted = cftime.date2num(date, units, calendar)
    assert timeaxis.from_iso(text, units, calendar) == wanted
    assert timeaxis.to_iso(wanted, units, calendar) == f"{text}T00:00:00"
    if calendar in REAL_WORLD and calendar != "tai":
        dates = dated_julian(units, calendar)
        assert timeaxis.to_julian(wanted, units, calendar) == timeaxis.from_iso(text, **dates)


def test_every_day_around_the_reform() -> None:
    for calendar in ("standard", "julian"):
        days = np.arange(-1000, 1000)
        dates = cftime.num2date(days, "days since 1582-10-04", calendar)
        found = timeaxis.to_iso(days, "days since 1582-10-04", calendar)
        assert found.tolist() == [text_of(date) for date in dates]
    assert timeaxis.to_iso([0, 1], "days since 1582-10-04", None).tolist() == [
        "1582-10-04T00:00:00",
        "1582-10-15T00:00:00",
    ]
    with pytest.raises(ValueError, match="the day after 1582-10-04 is 1582-10-15"):
        timeaxis.from_iso("1582-10-10", "days since 2000-01-01", None)


@given(st.integers(-999_999, 999_999), st.integers(1, 12), st.integers(1, 28), st.integers(0, 86_399))
def test_text_of_any_year_comes_back(year: int, month: int, day: int, second: int) -> None:
    start = f"{year}-{month}-{day}"
    text = timeaxis.to_iso(second, f"seconds since {start}", "proleptic_gregorian")
    assert timeaxis.from_iso(text, f"seconds since {start}", "proleptic_gregorian") == second
    assert (text[0] in "+-") == (not 0 <= year <= 9999)


@pytest.mark.parametrize(
    ("text", "calendar", "value", "wanted"),
    [
        # from files of the package libncarg-data
        ("days since 0049-09-01 00:00:00", None, 1, "0049-08-31"),
        ("days since 1-1-1", "noleap", 365, "0002-01-01"),
        ("days since 1-1-1", None, 730_121, "2000-01-01"),
        ("days since 1949-12-01 00:00:00", "360_day", 15, "1949-12-16"),
        ("seconds since 1949-12-01 00:00:00", None, 86_400, "1949-12-02"),
        ("hours since 2001-01-01 00:00:00", "standard", 6, "2001-01-01T06"),
        # as others write them
        ("hours since 1-1-1 00:00:0.0", "proleptic_gregorian", 0, "0001-01-01"),
        ("minutes since 2000-01-01_00:00:00", None, 90, "2000-01-01T01:30"),
        ("seconds since 1970-01-01T00:00:00Z", None, 0, "1970-01-01"),
        ("seconds since 1992-10-8 15:15:42.5 -6:00", None, 0, "1992-10-08T21:15:42.5"),
        ("DAYS Since 2000-01-01 12", "GREGORIAN", 0, "2000-01-01T12:00"),
        ("days since 2000-01-01 00:00:00.000000 UTC", None, 0, "2000-01-01"),
        ("weeks since 2000-01-01", None, 1.5, "2000-01-11T12"),
        ("ns since 1970-01-01", None, 10**18, "2001-09-09T01:46:40"),
        ("hour since 0000-01-01 00:00:00", "proleptic_gregorian", 366, "0000-01-16T06"),
        ("months since 2000-01-01", "360_day", 1.5, "2000-02-16"),
        ("common_years since 2000-01-01", "noleap", 2, "2002-01-01"),
        ("days since 1582-10-04", "standard", 1, "1582-10-15"),
        ("days since -0001-12-31", "standard", 1, "0000-12-30"),
        ("days since 2000-02-29", "all_leap", 366, "2001-03-01"),
        ("days since 2000-03-01", "julian", 0, "2000-03-14"),
        ("days since 1958-01-01", "tai", 0, "1958-01-01"),
    ],
)
def test_units(text: str, calendar: str | None, value: float, wanted: str) -> None:
    assert timeaxis.is_time({"units": text, "calendar": calendar})
    if calendar == "all_leap":
        assert timeaxis.to_iso(value, text, calendar) == "2001-02-29T00:00:00"
        value += 1
    assert timeaxis.to_julian(value, text, calendar) == timeaxis.from_iso(wanted)


@pytest.mark.parametrize("text", ["12:00", "12:00:00", "12:00 UTC", "12:00:00 UTC", "12:00:00Z"])
def test_julian_dates_by_their_older_units(text: str) -> None:
    for calendar in (None, "standard", "gregorian"):
        assert timeaxis.to_julian(2451545.1, f"days since -4712-01-01 {text}", calendar) == 2451545.1
    assert timeaxis.to_julian(24, f"hours since -4712-01-01 {text}") == 1
    assert timeaxis.to_julian(1, f"days since -4712-01-01 {text}", "proleptic_gregorian") == 39
    assert timeaxis.to_julian(1.25, timeaxis.JD_UNITS, timeaxis.JD_CALENDAR) == 1.25


@pytest.mark.parametrize(
    ("text", "calendar", "message"),
    [
        ("days", None, 'found the units "days", expected a unit, "since" and a date'),
        ("days since ", None, "expected a date"),
        ("days since launch", None, "expected a date"),
        ("days since 2000-01-01 00:00 EST", None, "expected a date"),
        ("day as %Y%m%d.%f", None, '"since"'),
        ("months since 1958-1-1 00:00:00", None, '"months" is no fixed time in the calendar "standard"'),
        ("years since 2000-01-01", "360_day", '"years" is no fixed time in the calendar "360_day"'),
        ("parsecs since 2000-01-01", None, "no fixed time"),
        ("hour since 0000-01-01 00:00:00", None, 'no year 0 in the calendar "standard"'),
        ("days since 0000-01-01", "julian", 'no year 0 in the calendar "julian"'),
        ("days since 1582-10-10", "gregorian", "the day after 1582-10-04 is 1582-10-15"),
        ("days since 2001-02-29", None, 'the date 2001-02-29 does not exist in the calendar "standard"'),
        ("days since 2000-02-29", "noleap", 'the date 2000-02-29 does not exist in the calendar "365_day"'),
        ("days since 2000-01-31", "360_day", "2000-01-31 does not exist"),
        ("days since 2000-13-01", None, "2000-13-01 does not exist"),
        ("days since 2000-00-01", "360_day", "2000-00-01 does not exist"),
        ("days since 0000-00-00", "proleptic_gregorian", "0000-00-00 does not exist"),
        ("days since 2000-01-01 24:00", None, "no such time of day"),
        ("days since 2000-01-01 00:00:60", None, "no such time of day"),
        ("days since 2000-01-01 00:00 +24:00", None, "no such time of day"),
        ("days since 1957-12-31", "tai", 'the calendar "tai" begins in 1958'),
        ("days since 2000-01-01", "none", 'the calendar "none": it has no dates'),
        ("days since 2000-01-01", "utc", 'the calendar "utc": its leap seconds are not known'),
        ("days since 2000-01-01", "", 'the calendar "": expected one of 360_day, 365_day'),
        ("days since 2000-01-01", "lunar", 'the calendar "lunar": expected one of'),
        ("days since 2000-01-01", 360, "found a calendar 360, expected text"),
        (None, None, "found units None, expected text"),
        (["days since 2000-01-01"], None, "expected text"),
    ],
)
def test_what_cannot_be_decoded(text: Any, calendar: Any, message: str) -> None:
    assert not timeaxis.is_time({"units": text, "calendar": calendar})
    with pytest.raises(UnsupportedError) as caught:
        timeaxis.to_julian(1.0, text, calendar)
    assert message in str(caught.value)
    with pytest.raises(UnsupportedError):
        timeaxis.from_julian(1.0, text, calendar)


def test_what_claims_to_be_a_time() -> None:
    assert timeaxis.claims_time({"units": "parsecs since launch"})
    assert not timeaxis.claims_time({"units": "m"}) and not timeaxis.claims_time({})
    assert not timeaxis.claims_time({"units": 1}) and not timeaxis.is_time({})


@pytest.mark.parametrize("value", [1e36, -1e36, np.inf, -np.inf, 9.969209968386869e36, np.float16("inf")])
def test_fill_values_are_no_dates(value: Any) -> None:
    for calendar in ("standard", "360_day"):
        with pytest.raises(UnsupportedError, match="more than a million years away"):
            timeaxis.to_julian([0.0, value], "days since 2000-01-01", calendar)
    with pytest.raises(UnsupportedError, match="more than a million years away"):
        timeaxis.to_iso([0.0, value])
    found = timeaxis.to_julian(np.ma.MaskedArray([0, value], [False, True]), "days since 2000-01-01")
    assert found.tolist() == [2451544.5, None]


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1, 2**64 - 1])
def test_large_integers(value: int) -> None:
    with pytest.raises(UnsupportedError, match=f"found the time {value}, which"):
        timeaxis.to_julian([value], "days since 2000-01-01")
    close(timeaxis.to_julian([value], "ns since 2000-01-01"), [2451544.5 + value / 86_400e9])


@pytest.mark.parametrize("code", ["i1", "u1", ">i2", "<i4", ">i8", "u8", "f2", ">f4", "<f8", "g"])
def test_types(code: str) -> None:
    for unit, last in (("hours", 0.25), ("months", 180.0)):
        found = timeaxis.to_julian(np.array([0, 6], code), f"{unit} since 2000-01-01", "360_day")
        assert found.dtype == np.dtype("f8") and found.dtype.isnative
        dates = timeaxis.from_julian(found, "days since 2000-01-01", "360_day")
        assert dates.tolist() == [0, last]


@pytest.mark.parametrize("value", [True, "2000-01-01", [None, 1.0], b"x", 1j, np.datetime64("2000-01-01")])
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"found values of the type .+, expected numbers"):
        timeaxis.to_julian(value, "days since 2000-01-01")


def test_shapes_masks_and_nan() -> None:
    text = "days since 2000-01-01 12:00"
    grid = np.array([[0, np.nan, 2], [3, 4, 5]])
    found = timeaxis.to_julian(grid, text)
    assert type(found) is np.ndarray and found.shape == (2, 3)
    np.testing.assert_array_equal(found, grid + 2451545)

    masked: Any = np.ma.MaskedArray(grid, grid == 4)
    found = timeaxis.to_julian(masked, text)
    assert type(found) is np.ma.MaskedArray
    np.testing.assert_array_equal(found.mask, masked.mask)
    assert np.isnan(found.data[0, 1]) and found[1, 2] == 2451550
    found[0, 0] = np.ma.masked
    assert not masked.mask[0, 0]

    assert np.ma.getmaskarray(timeaxis.to_julian(np.ma.MaskedArray([1.0, 2.0], True), text)).all()
    assert timeaxis.to_julian(np.ma.MaskedArray(1.0, True), text) is np.ma.masked
    assert timeaxis.to_julian(np.ma.masked, text) is np.ma.masked
    single = timeaxis.to_julian(0, text)
    assert isinstance(single, float) and single == 2451545
    assert np.isnan(timeaxis.to_julian(np.nan, text))
    assert timeaxis.to_julian([], text).shape == (0,)
    assert timeaxis.to_julian(np.zeros((3, 0), "i2"), text).shape == (3, 0)
    assert timeaxis.to_iso(np.zeros((3, 0))).shape == (3, 0)


def test_midnight_after_the_end_of_february() -> None:
    """A third of a day, three times, is a new day, also where one is left out."""
    thirds = np.array([58 + 1 / 3, 58 + 2 / 3, 58 + 1 / 3 + 1 / 3 + 1 / 3])
    found = timeaxis.to_julian(np.append(thirds, np.nextafter(59, 0)), "days since 2000-01-01", "noleap")
    assert timeaxis.to_iso(found[2:]).tolist() == ["2000-03-01T00:00:00"] * 2


def test_whole_seconds_come_back_whole() -> None:
    seconds = np.arange(0, 200_000, 7)
    text = "seconds since 1999-12-31"
    np.testing.assert_array_equal(timeaxis.from_julian(timeaxis.to_julian(seconds, text), text, None), seconds)


def test_every_day_of_400_years() -> None:
    days = np.arange(146_097)
    dates = timeaxis.to_iso(days + 0.5, "days since 1900-01-01", "proleptic_gregorian")
    assert dates.tolist() == [f"{day}T12:00:00" for day in np.datetime64("1900-01-01") + days]


def test_dates_that_only_one_calendar_has() -> None:
    days = np.arange(360)
    with pytest.raises(UnsupportedError, match='2001-02-29 does not exist in the calendar "proleptic_gregorian"'):
        timeaxis.to_julian(days, "days since 2001-01-01", "360_day")
    found = timeaxis.convert(days, "days since 2001-01-01", "360_day", "months since 2000-12-01", "360_day")
    np.testing.assert_allclose(found, 1 + days / 30, rtol=1e-15)
    assert timeaxis.to_iso(days[59], "days since 2001-01-01", "360_day") == "2001-02-30T00:00:00"
    assert timeaxis.from_iso("2001-02-30T06:00", "days since 2001-01-01", "360_day") == 59.25
    for text, calendar in (("2000-02-29", "noleap"), ("2000-01-31", "360_day")):
        with pytest.raises(UnsupportedError, match=f"{text} does not exist"):
            timeaxis.from_julian(timeaxis.from_iso(text), "days since 2000-01-01", calendar)
    with pytest.raises(UnsupportedError, match="begins in 1958"):
        timeaxis.to_julian(-1, "days since 1958-01-01", "tai")
    with pytest.raises(UnsupportedError, match="begins in 1958"):
        timeaxis.from_julian(0, "days since 1958-01-01", "tai")


def test_text() -> None:
    assert timeaxis.to_iso(2451544.5) == "2000-01-01T00:00:00"
    assert timeaxis.to_iso(0) == "-004713-11-24T12:00:00"
    assert timeaxis.to_iso([[2451545.999995]]).tolist() == [["2000-01-02T12:00:00"]]
    plain = timeaxis.to_iso([2451545.0, 5373483.5])
    assert type(plain) is np.ndarray and plain.dtype == object
    assert plain.tolist() == ["2000-01-01T12:00:00", "9999-12-31T00:00:00"]
    assert timeaxis.to_iso(5373484.5) == "+010000-01-01T00:00:00"

    masked = timeaxis.to_iso(np.ma.MaskedArray([2451545.0, 1.0, np.nan], [False, True, False]))
    assert masked.tolist() == ["2000-01-01T12:00:00", None, None]
    assert timeaxis.to_iso([np.nan, 2451545.0]).tolist() == [None, "2000-01-01T12:00:00"]
    assert timeaxis.to_iso(np.nan) is np.ma.masked and timeaxis.to_iso(np.ma.masked) is np.ma.masked


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("2000-01-01", -43_200),
        ("2000-1-1", -43_200),
        ("2000-01-01T12", 0),
        ("2000-01-01 12:00", 0),
        ("2000-01-01t12:00:01.5z", 1.5),
        ("2000-01-01T12:00:00,25", 0.25),
        ("2000-01-01T12:00:00+01:00", -3600),
        ("2000-01-01 12:00 -0130", 5400),
        (" +02000-01-01T12:00:00.  ", 0),
    ],
)
def test_text_that_is_a_time(text: str, second: float) -> None:
    close(timeaxis.from_iso(text), 2451545 + second / 86_400)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noon",
        "2000",
        "2000-02-30",
        "2000-01-01T25:00",
        "2000-01-01x",
        "20000101",
        "2000-01-01-06:00",
        "٢٠٠٠-01-01",
        "1-2-3-4",
    ],
)
def test_text_that_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=f'found the time "{text}": ') as caught:
        timeaxis.from_iso(text)
    assert not isinstance(caught.value, UnsupportedError)


def test_datetimes() -> None:
    noon = datetime.datetime(2000, 1, 31, 12)
    assert timeaxis.time_dt(["2000-01-31T12:00:00Z", "2000-01-31 12:00:00", "2000-01-31 12:00:00.5"]) == [
        noon,
        noon,
        noon.replace(microsecond=500_000),
    ]
    assert timeaxis.time_dt(np.array(["2000-01-31T12:00:00", "2000-01-31", ""])) == [None] * 3
    assert timeaxis.time_dt([]) == [] and timeaxis.time_dt([None]) == [None]  # type: ignore[list-item]


def test_examples() -> None:
    for name in ("units", "axes"):
        done = doctest.testmod(sys.modules[f"ds_format.timeaxis.{name}"])
        assert done.attempted and not done.failed


def test_julian_dates_are_those_of_the_reference(reference_python: str, tmp_path: Path) -> None:
    """But for all_leap, which it leaves alone, offsets of TAI, and units of Julian dates in the calendar gregorian."""
    days = np.array([0.25, 31.5, 45, 600.75])
    texts = ["days since 2000-01-01", "hours since 1500-03-01 06:00", "days since 2000-01-01 00:00:00 +01:30"]
    cases = [(text, calendar) for calendar in [None, *REAL_WORLD, *MODELS, "none"] for text in texts]
    cases += [("days since -4712-01-01 12:00", None), ("months since 2000-01-01", "360_day"), ("m", None)]
    paths = []
    for i, (text, calendar) in enumerate(cases):
        attributes = {"units": text} | ({} if calendar is None else {"calendar": calendar})
        paths.append(str(tmp_path / f"{i}.ds"))
        ds.write(paths[-1], {"t": days, ".": {"t": {".dims": ["t"], **attributes}}})
    command = [reference_python, "-I", "-c", REFERENCE, *paths]
    references = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout)
    for (text, calendar), reference in zip(cases, references, strict=True):
        if reference is not None:
            close(timeaxis.to_julian(days, text, calendar), reference)
        elif calendar not in ("all_leap", "366_day") and (calendar != "tai" or "+" not in text):
            assert not timeaxis.is_time({"units": text, "calendar": calendar}), (text, calendar)
