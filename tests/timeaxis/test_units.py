"""Units of time in all the spellings that cftime, UDUNITS and ds-format 5.0.2 read."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path

import cftime  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format import timeaxis
from ds_format.errors import UnsupportedError

from .calendars import MODELS, REAL_WORLD, REFERENCE, close, julian_date, values

SECONDS = {name: length / 1e6 for name, length in cftime.UNIT_CONVERSION_FACTORS.items()}
"""All names of units that cftime knows."""
OFFSETS = ["+01:30", "-06", "+0530", " +01:30", " -06:00", " +0530", " -11", "\t+00"]
UTC = ["", "Z", " Z", " z", "UTC", " UTC", " utc", " GMT", " UT", " (UTC)", ", UTC", ";", "."]
ZONES_WITHOUT_SIGN = [" 00:00", " 0:00", " 0000", " 0:0", " 0", " 00", " 00:00 UTC"]


def digits(number: int) -> st.SearchStrategy[str]:
    return st.sampled_from([f"{number}", f"{number:02}"])


@st.composite
def clocks(draw: st.DrawFn) -> str:
    hour, minute, second = (draw(st.integers(0, last).flatmap(digits)) for last in (23, 59, 59))
    fraction = draw(st.just("") | st.from_regex(r"\.[0-9]{1,9}", fullmatch=True))
    return draw(st.sampled_from([f"{hour}:{minute}", f"{hour}:{minute}:{second}{fraction}"]))


@st.composite
def spellings(draw: st.DrawFn, calendar: str) -> tuple[str, float]:
    """Draw units that cftime reads whole, and the seconds of the unit."""
    odd = {"month": "360_day", "months": "360_day", "common_year": "365_day", "common_years": "365_day"}
    own = {"noleap": "365_day"}.get(calendar, calendar)
    name = draw(st.sampled_from([name for name in SECONDS if odd.get(name, own) == own]))
    since = draw(st.sampled_from(["since", "Since", "SINCE"]))
    blanks = draw(st.sampled_from([" ", "  ", "\t", " \n"]))
    year = draw(st.integers(1960, 2100) | st.integers(-4711 if calendar != "tai" else 1960, 9999).filter(bool))
    month, day = (draw(st.integers(1, last).flatmap(digits)) for last in (12, 28))
    wide = draw(st.sampled_from([f"{year}", f"{year:04}", f"{year:+}"]))
    date = f"{wide}-{month}-{day}" if year != 1582 else "1582-1-1"
    offsets = OFFSETS if calendar != "tai" else []
    if draw(st.booleans()):
        date += (
            draw(st.sampled_from(" Tt_,x:/.-+"))
            + draw(clocks())
            + draw(st.sampled_from(UTC + ZONES_WITHOUT_SIGN + offsets))
        )
    else:
        date += draw(st.sampled_from(UTC + offsets))
    cased = draw(st.sampled_from([name, name.upper(), name.title()]))
    return f"{cased}{blanks}{since}{blanks}{date}", SECONDS[name]


@pytest.mark.parametrize("calendar", REAL_WORLD + MODELS)
@given(st.data())
def test_spellings_mean_what_cftime_sees_in_them(calendar: str, data: st.DataObject) -> None:
    text, seconds = data.draw(spellings(calendar))
    value = abs(data.draw(values(86_400 / seconds)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cftime.CFWarning)
        date = cftime.num2date(value, text, calendar)
        wanted = cftime.date2num(date, "days since 2000-01-01", calendar)
    assert timeaxis.is_time({"units": text, "calendar": calendar}) and timeaxis.claims_time({"units": text})
    close(timeaxis.convert(value, text, calendar, "days since 2000-01-01", calendar), wanted)
    if calendar in REAL_WORLD:
        close(timeaxis.to_julian(value, text, calendar), julian_date(date, calendar))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("seconds since 1904-01-01 00:00:00.000 00:00", "1904-01-01"),
        ("seconds since 2010-05-31 11:30:00 0:00", "2010-05-31T11:30"),
        ("seconds since 2010-05-31 11:30:00 0000", "2010-05-31T11:30"),
        ("secs since 1970-01-01, 00:00:00", "1970-01-01"),
        ("days since 2000-06-13 00 00", "2000-06-13"),
        ("days since 2000-06-13 00 00:00", "2000-06-13"),
        ("days since 2000-06-13T", "2000-06-13"),
        # UDUNITS 2.2.28 gives the same, cftime nothing: less of a date, or no punctuation
        ("days since 2000", "2000-01-01"),
        ("days since 2000 12:00", "2000-01-01T12"),
        ("days since 2000-6", "2000-06-01"),
        ("days since 2000-06Z", "2000-06-01"),
        ("days since 2000-06 12:00 +01:00", "2000-06-01T11"),
        ("days since 200006", "2000-06-01"),
        ("days since 20000613", "2000-06-13"),
        ("days since 20000613Z", "2000-06-13"),
        ("days since 20000613T123015", "2000-06-13T12:30:15"),
        ("days since 20000613T123015.25-06:00", "2000-06-13T18:30:15.25"),
        ("days since 20000613 1230", "2000-06-13T12:30"),
        ("days since 20000613 12", "2000-06-13T12"),
        ("days since 20000613 12:30:15", "2000-06-13T12:30:15"),
        ("days since 2000-12-31 23:59:60.5", "2001-01-01T00:00:00.5"),
        # other words, other units, and a number before them
        ("days @ 2000-06-13", "2000-06-13"),
        ("days@2000-06-13", "2000-06-13"),
        ("days AFTER 2000-06-13", "2000-06-13"),
        ("days from 2000-06-13", "2000-06-13"),
        ("days ref 2000-06-13", "2000-06-13"),
        ("days since2000-06-13", "2000-06-13"),
        ("100 ns since 1601-01-01", "1601-01-01"),
        ("\u00b5s since 2000-06-13", "2000-06-13"),
        # UDUNITS gives the same, cftime another one: it leaves out a clock, or an offset
        ("days since 2000-06-13 12", "2000-06-13T12"),
        ("days since 2000-06-13T12Z", "2000-06-13T12"),
        ("days since 2000-06-13T1230", "2000-06-13T12:30"),
        ("days since 2000-06-13 123015.5", "2000-06-13T12:30:15.5"),
        ("days since 2000-06-13  12:00", "2000-06-13T12"),
        ("days since 2000-06-13 12 +01:00", "2000-06-13T11"),
        ("days since 2000-06-13 12:00 -6", "2000-06-13T18"),
        ("days since 2000-06-13 12:00 -6:00", "2000-06-13T18"),
        ("days since 2000-06-13 12:00 -630", "2000-06-13T18:30"),
        ("days since 2000-06-13 12:00 +05:3", "2000-06-13T06:57"),
        ("days since 2000-06-13 12:00 1:00", "2000-06-13T11"),
        ("days since 2000-06-13 12:00 0100", "2000-06-13T11"),
        ("days since 2000-06-13 12:00 6", "2000-06-13T06"),
        ("days since 2000-06-13 12 06:00", "2000-06-13T06"),
        ("days since 2000-06-13 12 00", "2000-06-13T12"),
        # neither, but there is one meaning
        ("sec since 2000-06-13, 12:30:00", "2000-06-13T12:30"),
        ("days since 2000-06-13 , 12:30", "2000-06-13T12:30"),
        ("days since 2000-06-13 T12:30", "2000-06-13T12:30"),
        ("days since 2000-06-13T12:30:15,25", "2000-06-13T12:30:15.25"),
        ("days since 2000-06-13 12:00 UTC+01:00", "2000-06-13T11"),
        ("days since 2000-06-13 12:00 UTC 0:00", "2000-06-13T12"),
        ("days since 2000-06-13 12:00 GMT - 1", "2000-06-13T13"),
        ("days since 2000-06-13 12:00 + 01:00", "2000-06-13T11"),
        # cftime and UDUNITS disagree
        ("days since 2000-06-13 +01:00", "2000-06-12T23"),
        ("days since 2000-06-13-12:00", "2000-06-13T12"),
    ],
)
def test_reference_dates(text: str, wanted: str) -> None:
    assert timeaxis.is_time({"units": text}) and timeaxis.claims_time({"units": text})
    assert timeaxis.to_julian(0, text) == pytest.approx(timeaxis.from_iso(wanted), abs=1e-9)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("100 ns", 1e-7),
        ("100ns", 1e-7),
        ("nsec", 1e-9),
        ("usecs", 1e-6),
        ("\u03bcs", 1e-6),
        ("1e-3 s", 1e-3),
        ("0.1 seconds", 0.1),
        ("2.5E1 min", 1500),
        ("10 minutes", 600),
        ("7 hours", 25_200),
        ("1 day", 86_400),
        ("fortnights", 14 * 86_400),
        ("common_years", 365 * 86_400),
        ("leap_year", 366 * 86_400),
        ("Julian_year", 365.25 * 86_400),
        ("Gregorian_years", 365.2425 * 86_400),
    ],
)
def test_units_of_udunits(text: str, seconds: float) -> None:
    numbers = np.array([-3, 0, 1, 50])
    days = numbers * seconds / 86_400
    units = f"{text} since 2000-01-01 12:00"
    close(timeaxis.to_julian(numbers, units), 2451545 + days)
    close(timeaxis.to_julian(numbers * 1.5, units), 2451545 + days * 1.5)
    close(timeaxis.from_julian(2451545 + days, units, None) * seconds / 86_400, days)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # what is no offset and no name of UTC
        ("days since 2000-06-13 12:00 EST", "expected a date"),
        ("days since 2000-06-13 12:00:00 PM", "expected a date"),
        ("days since 2000-06-13 12:00 local", "expected a date"),
        ("days since 2000-06-13 garbage", "expected a date"),
        ("days since 2000-06-13 at 12:00", "expected a date"),
        ("days since 2000-06-13 12:00 +-05:30", "expected a date"),
        ("days since 2000-06-13 12:00 -053", "expected a date"),
        ("days since 2000-06-13 12:00 +24:00", "no such time of day"),
        ("days since 2000-06-13 12:00 +0575", "no such time of day"),
        ("days since 2000-06-13 12:59:60", "no such time of day"),
        ("days since 2000-06-13 23:59:61", "no such time of day"),
        ("days since 2000-06-13 12:00:000", "expected a date"),
        # numbers that may mean more than one thing
        ("days since 2000153", "expected a date"),
        ("days since 2000-153", "expected a date"),
        ("days since 20006", "expected a date"),
        ("days since 1", "expected a date"),
        ("days since -2000", "expected a date"),
        ("days since 2000 06 13", "expected a date"),
        ("days since 2000-06 12", "expected a date"),
        ("days since 2000-06/12:00", "expected a date"),
        ("days since 2000-06 +06:00", "expected a date"),
        ("days since 2000-06-1312:00", "expected a date"),
        ("days since 2000-06-13 12 30", "expected a date"),
        ("days since 2000-06-13 930", "expected a date"),
        ("days since 13-06-2000", "expected a date"),
        ("days since 2000/06/13", "expected a date"),
        # no dates
        ("days since 2000-13", "2000-13-01 does not exist"),
        ("days since 20001301", "2000-13-01 does not exist"),
        ("days since 0000-01", "no year 0"),
        ("days since 2001-02-29", "2001-02-29 does not exist"),
        # no units
        ("0 days since 2000-01-01", '"0 days" is no whole number of nanoseconds'),
        ("0.5 ns since 2000-01-01", '"0.5 ns" is no whole number of nanoseconds'),
        ("1e-9 ms since 2000-01-01", "no whole number"),
        ("3 months since 2000-01-01", '"months" is no fixed time in the calendar "standard"'),
        ("years since 2000-01-01", '"years" is no fixed time in the calendar "standard"'),
        ("1 since 2000-01-01", 'expected a unit, "since" and a date'),
        ("days sincerely 2000-01-01", 'expected a unit, "since" and a date'),
    ],
)
def test_what_could_mean_anything_is_refused(text: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        timeaxis.to_julian(0, text)
    assert not timeaxis.is_time({"units": text})


def test_only_since_claims_a_time() -> None:
    assert timeaxis.claims_time({"units": "100 parsecs SINCE launch"})
    for units in ("K from 273.15", "degC @ 10", "m ref 2000-01-01", "days after launch", "days"):
        assert not timeaxis.claims_time({"units": units})


@pytest.mark.parametrize("blanks", [" " * 20_000, " ," * 10_000, "\t0" * 10_000, "0" * 20_000, "T" * 20_000])
def test_long_text_is_refused_in_no_time(blanks: str) -> None:
    for date in ("2000-01-01", "2000-01-01 12:00", "2000-01-01 12:00:00 UTC", "2000"):
        assert not timeaxis.is_time({"units": f"days since {date}{blanks}x"})
        with pytest.raises(ValueError, match="expected a date"):
            timeaxis.from_iso(f"{date}{blanks}x")


@pytest.mark.parametrize("suffix", ["nc", "ds", "h5"])
def test_times_of_instruments_are_read_as_julian_dates(suffix: str, tmp_path: Path) -> None:
    if suffix == "h5":
        pytest.importorskip("h5py")
    texts = {
        "a": "seconds since 1904-01-01 00:00:00.000 00:00",
        "b": "secs since 1970-01-01, 00:00:00",
        "c": "seconds since 2010-05-31 11:30:00 0:00",
    }
    meta = {name: {".dims": [name], "units": text} for name, text in texts.items()}
    path = tmp_path / f"a.{suffix}"
    ds.write(path, {name: np.array([0.0, 43_200.0]) for name in texts} | {".": meta})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ds.read(path, jd=True)
        assert all(found["."][name][".time"] is True for name in texts)
        part = ds.read(path, at={"c": "2010-05-31T23:30"})
    assert found["a"].tolist() == [2416480.5, 2416481.0]
    assert found["b"].tolist() == [2440587.5, 2440588.0]
    assert part["c"] == 43_200.0


def test_spellings_are_those_of_the_reference(reference_python: str, tmp_path: Path) -> None:
    """All names, separators and zones once, and what it reads of them it reads as we do."""
    texts = [f"{name} since 2000-06-13 12:30:15.5" for name in SECONDS if name not in ("month", "months")]
    texts += [f"days since 2000-06-13{separator}12:30:15.5" for separator in " Tt_,x:/.-+"]
    texts += [f"days since 2000-6-1 12:30{zone}" for zone in [*UTC, *ZONES_WITHOUT_SIGN, *OFFSETS]]
    texts += [f"days since 2000-6-1{zone}" for zone in [*UTC, *OFFSETS]]
    texts += ["secs since 1970-01-01, 00:00:00", "seconds since 1904-01-01 00:00:00.000 00:00"]
    paths = [str(tmp_path / f"{i}.ds") for i in range(len(texts))]
    days = np.array([0.25, 31.5])
    for path, text in zip(paths, texts, strict=True):
        calendar = "noleap" if "year" in text else "standard"
        ds.write(path, {"t": days, ".": {"t": {".dims": ["t"], "units": text, "calendar": calendar}}})
    command = [reference_python, "-I", "-c", REFERENCE, *paths]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    for path, text, theirs in zip(paths, texts, json.loads(done.stdout), strict=True):
        assert theirs is not None, text
        close(ds.read(path, jd=True)["t"], theirs)
