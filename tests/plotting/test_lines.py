"""Lines that are broken where a series has a gap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.plotting import lines

from .sources import make

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
    assert lines.gaps(days).tolist() == expected
    assert lines.gaps(days[::-1])[::-1].tolist() == [len(steps) - 1 - i for i in expected]
    dates = np.datetime64("2001-01-01", "ms") + (days * 86_400_000).astype("m8[ms]")
    assert lines.gaps(dates).tolist() == expected


def test_a_missing_time_is_no_gap_of_its_own() -> None:
    assert lines.gaps(np.array([0, 1, np.nan, 3, 4.0])).tolist() == []


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
    assert lines.alone(np.array([1, nan, 2, 3, nan, 4])).tolist() == [True, False, False, False, False, True]
