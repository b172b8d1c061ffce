"""What is drawn: axes from coordinates, thinned, with gaps where values are missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format.errors import UnsupportedError
from ds_format.plotting import lines
from ds_format.plotting.scene import Line, Map

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
    assert lines.envelope(iter(blocks), n, step).tolist() == expected


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
