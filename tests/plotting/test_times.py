"""Times on axes: dates of the real world, and of calendars of models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ds_format.plotting import times
from ds_format.plotting.scene import Axis
from ds_format.timeaxis.calendars import count


def axis(values: list[float], units: str, calendar: str | None = None) -> Any:
    attributes = {"units": units} | ({} if calendar is None else {"calendar": calendar})
    return times.axis("time", np.array(values, float), attributes)


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
    assert [times.text_of(found, day) for day in days] == texts
    assert np.isnan(found.values[1])


def test_noleap_has_no_29_february() -> None:
    found = axis([58, 59], "days since 2000-01-01", "noleap")
    assert [times.text_of(found, day) for day in found.values] == ["2000-02-28", "2000-03-01"]


def test_what_is_no_date_is_no_axis() -> None:
    assert axis([0], "K") is None
    assert axis([0], "months since 2000-01-01") is None
    assert axis([0], "days since 2000-01-01", "lunar") is None
    assert axis([1e8], "days since 0001-01-01") is None


@pytest.mark.parametrize("calendar", ["360_day", "365_day", "366_day"])
@pytest.mark.parametrize("span", [0.1, 0.5, 1, 3, 10, 40, 100, 400, 1000, 5000, 50_000, 1_000_000])
def test_ticks_are_few_dates_within(calendar: str, span: float) -> None:
    start = float(count(1999, 11, 13, calendar)) + 0.3
    places, texts = times.ticks(start, start + span, calendar)
    assert len(places) == len(set(texts)) == len(texts) <= 7
    assert len(places) >= (1 if span < 1 else 2)
    assert places == sorted(places)
    assert all(start <= place <= start + span for place in places)


def test_ticks_say_what_their_places_are() -> None:
    first = count(2000, 1, 30, "360_day")
    places, texts = times.ticks(first, first + 3, "360_day")
    assert dict(zip(texts, places, strict=True)) == {
        "2000-01-30": first, "2000-02-01": first + 1, "2000-02-02": first + 2, "2000-02-03": first + 3,
    } or all(text.endswith("00") for text in texts)  # fmt: skip
    years, texts = times.ticks(
        count(1990, 6, 1, "noleap".replace("noleap", "365_day")), count(2010, 1, 1, "365_day"), "365_day"
    )
    assert texts == ["1995", "2000", "2005", "2010"]
    assert [times.date_text(day, "365_day", has_time=False)[5:] for day in years] == ["01-01"] * 4


def test_numbers_are_told_with_six_digits() -> None:
    assert times.text_of(Axis("x", np.array([1.0])), 1 / 3) == "0.333333"
