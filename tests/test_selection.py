"""What `sel`, `range_`, `at` and `between` select, alone and together."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ds_format import MissingError, UnsupportedError
from ds_format.base import modes
from ds_format.model.index import normalize, take
from ds_format.model.selection import Selection, resolve

DATA: dict[str, Any] = {
    "t": np.array([0.0, 1.0, 2.0, 3.0]),
    "lat": np.ma.MaskedArray([-10, 0, 10], [False, True, False]),
    "name": np.array(["a", "b", "c"], object),
    "grid": np.zeros((4, 3)),
    "empty": np.zeros(0),
}
META: dict[str, dict[str, Any]] = {
    "t": {".size": [4], ".dims": ["time"], "units": "days since 2000-01-01"},
    "lat": {".size": [3], ".dims": ["y"]},
    "name": {".size": [3], ".dims": ["y"]},
    "grid": {".size": [4, 3], ".dims": ["time", "y"]},
    "empty": {".size": [0], ".dims": ["none"]},
    "bare": {".size": [2]},
    "nothing": {".size": None},
    ".": {},
}


def positions(dim: str, **selectors: Any) -> Any:
    """Return the positions that are selected along a dimension: an int, or a list."""
    sel, range_, at, between = (selectors.get(name) for name in ("sel", "range_", "at", "between"))
    index = resolve(Selection(None, sel, range_, at, between), META, DATA.__getitem__)[dim]
    size = {"time": 4, "y": 3, "none": 0, "bare_1": 2}[dim]
    (item,) = normalize((index,), (size,))
    return item if isinstance(item, int) else [int(i) for i in item]


@pytest.mark.parametrize(
    ("dim", "selectors", "expected"),
    [
        ("time", {"sel": {"time": -1}}, 3),
        ("time", {"sel": {"time": [0, 2]}}, [0, 2]),
        ("time", {"sel": {"time": [True, False, False, True]}}, [0, 3]),
        ("time", {"sel": {"time": np.array([3, 1])}}, [3, 1]),
        ("time", {"sel": {"time": slice(None, None, -2)}}, [3, 1]),
        ("bare_1", {"sel": {"bare_1": 1}}, 1),
        ("time", {"range_": {"time": (1, 3)}}, [1, 2]),
        ("time", {"range_": {"time": [-2, None]}}, [2, 3]),
        ("time", {"range_": {"time": (None, 99)}}, [0, 1, 2, 3]),
        ("time", {"range_": {"time": (3, 1)}}, []),
        ("time", {"at": {"t": 1.2}}, 1),
        ("time", {"at": {"t": [1.2]}}, 1),
        ("time", {"at": {"t": [9, 0.1, 3]}}, [0, 3]),
        ("time", {"at": {"t": "2000-01-02T10:00"}}, 1),
        ("time", {"at": {"t": np.datetime64("2000-01-03")}}, 2),
        ("time", {"at": {"t": 0.5}}, 0),
        ("y", {"at": {"lat": 1}}, 2),
        ("y", {"at": {"name": "c"}}, 2),
        ("time", {"between": {"t": (1, 3)}}, [1, 2]),
        ("time", {"between": {"t": (None, 1)}}, [0]),
        ("time", {"between": {"t": ("2000-01-02", None)}}, [1, 2, 3]),
        ("y", {"between": {"lat": (-20, 20)}}, [0, 2]),
        ("y", {"between": {"name": ("b", None)}}, [1, 2]),
        ("none", {"between": {"empty": (0, 1)}}, []),
        ("time", {"sel": {"time": 1}, "range_": {"time": (0, 2)}}, [1]),
        ("time", {"sel": {"time": [3, 1, 2]}, "between": {"t": (1, 3)}}, [1, 2]),
        ("time", {"at": {"t": 0}, "range_": {"time": (1, None)}}, []),
    ],
)
@pytest.mark.filterwarnings("ignore:.*(no value is near|leaves nothing)")
def test_what_is_selected(dim: str, selectors: dict[str, Any], expected: Any) -> None:
    assert positions(dim, **selectors) == expected


@pytest.mark.parametrize(
    ("selectors", "error", "message"),
    [
        ({"at": {"grid": 0}}, UnsupportedError, 'variable "grid": found 2 dimensions, expected one'),
        ({"between": {"nothing": (0, 1)}}, UnsupportedError, 'variable "nothing": found 0 dimensions'),
        ({"at": {"empty": 0}}, UnsupportedError, "found no present value to compare with 0"),
        ({"at": {"t": "yesterday"}}, UnsupportedError, "yesterday"),
        ({"at": {"lat": "2000-01-01"}}, UnsupportedError, "no units of time"),
        ({"at": {"name": "z"}}, UnsupportedError, "no value equals 'z'"),
        ({"at": {"name": 5}}, UnsupportedError, "found 5, expected text"),
        ({"at": {"t": b"x"}}, UnsupportedError, "found b'x', expected a number"),
        ({"range_": {"time": 5}}, UnsupportedError, "found 5, expected a pair of limits"),
        ({"between": {"t": (1, 2, 3)}}, UnsupportedError, "expected a pair of limits"),
        ({"sel": {"time": 9}, "range_": {"time": (0, 1)}}, IndexError, 'index 9 is out of bounds for dimension "time"'),
    ],
)
def test_what_cannot_be_selected(selectors: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        positions("time", **selectors)


def test_names_that_do_not_exist() -> None:
    asked = ({"nope": 0}, None, {"nix": 0}, None)
    with modes.use("soft"):
        assert resolve(Selection(None, *asked), META, DATA.__getitem__) == {}
    with pytest.raises(MissingError, match=r'dimension "nope" not found: did you mean none\?'):
        resolve(Selection(None, *asked), META, DATA.__getitem__)
    with modes.use("moderate"), pytest.raises(MissingError, match=r'variable "tt" not found: did you mean t\?'):
        resolve(Selection(between={"tt": (0, 1)}), META, DATA.__getitem__)
    with modes.use("strict"), pytest.raises(MissingError, match='file: dimension "nope" not found'):
        resolve(Selection(None, *asked), META, DATA.__getitem__, "file")
    with modes.use("strict"), pytest.raises(MissingError, match='variable "nix" not found'):
        resolve(Selection(at=asked[2]), META, DATA.__getitem__)
    with modes.use("soft", selectors="strict"), pytest.raises(MissingError, match='dimension "nope"'):
        resolve(Selection(None, *asked), META, DATA.__getitem__)


limits = st.none() | st.integers(-9, 9)


@given(st.integers(0, 4), limits, limits, st.sampled_from([None, -3, -2, -1, 1, 2, 3]))
def test_any_slice_selects_what_it_does_in_numpy(n: int, start: Any, stop: Any, step: Any) -> None:
    array = np.arange(n)
    index = normalize(slice(start, stop, step), (n,))
    assert take(array, index).tolist() == array[start:stop:step].tolist()


@pytest.mark.filterwarnings("ignore:.*(no value is near|leaves nothing)")
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), st.floats(-6, 6), st.floats(-6, 6))
def test_the_nearest_and_those_between(values: list[float], low: float, high: float) -> None:
    data = np.array(values)
    meta = {"x": {".size": [data.size], ".dims": ["x"]}}
    at = resolve(Selection(at={"x": low}), meta, lambda key: data)["x"]
    assert abs(data[at] - low) == np.abs(data - low).min()
    between = resolve(Selection(between={"x": (low, high)}), meta, lambda key: data)["x"]
    assert between.tolist() == [i for i, value in enumerate(values) if low <= value < high]


def one_axis(values: Any, selectors: dict[str, Any], **attributes: Any) -> Any:
    """Return what `at` or `between` selects of the values of one variable."""
    data = np.ma.asanyarray(values)
    meta = {"x": {".size": [data.size], ".dims": ["i"], **attributes}}
    index = resolve(Selection(at=selectors.get("at"), between=selectors.get("between")), meta, lambda key: data)["i"]
    return data[index].tolist()


EAST = {"units": "degrees_east"}
NAMED = {"standard_name": "longitude", "units": "degrees"}


@pytest.mark.parametrize(
    ("values", "asked", "attributes", "message"),
    [
        ([50.0, 60.0, 80.0], 9999, {"units": "m"}, "no value is near 9999: the nearest is 80 m, and the largest gap"),
        (
            [50.0, 60.0, 80.0],
            29,
            {},
            "no value is near 29: the nearest is 50, and the largest gap .* is 20",
        ),
        (
            [0, 31, 59],
            "1066-01-01",
            {"units": "days since 2000-01-01"},
            "no value .* is 2000-01-01T00:00:00, .* 31 days",
        ),
        (np.arange(225.0, 316), 100, EAST, "no value is near 100"),
        ([0.0, 1.0], [0.2, 7], {}, "no value is near 7"),
    ],
)
def test_a_value_that_is_far_from_all(values: Any, asked: Any, attributes: dict[str, Any], message: str) -> None:
    for mode in (None, "moderate", "soft"):
        with modes.use(mode) if mode else contextlib.nullcontext(), pytest.warns(UserWarning, match=message):
            one_axis(values, {"at": {"x": asked}}, **attributes)
    with modes.use("strict"), pytest.raises(UnsupportedError, match=f'variable "x": {message}'):
        one_axis(values, {"at": {"x": asked}}, **attributes)


@pytest.mark.parametrize(
    ("values", "asked", "attributes", "expected"),
    [
        ([50.0, 60.0, 80.0], 100, {}, 80.0),  # not further than the largest gap
        ([50.0, 60.0, 80.0], 30, {}, 50.0),
        ([7.0], 1e9, {}, 7.0),  # one point
        ([7.0, 7.0, np.nan], 1e9, {}, 7.0),
        (np.ma.masked_equal([1, 9, 2, 3], 9), 4, {}, 3),
    ],
)
def test_a_value_that_is_near_enough(values: Any, asked: Any, attributes: dict[str, Any], expected: Any) -> None:
    with modes.use("strict"):
        assert one_axis(values, {"at": {"x": asked}}, **attributes) == expected


@pytest.mark.parametrize("attributes", [EAST, NAMED, {"units": "Degree_E"}])
@pytest.mark.parametrize(
    ("values", "selectors", "expected"),
    [
        (np.arange(225, 316), {"at": {"x": -100}}, 260),
        (np.arange(0.0, 360, 10), {"at": {"x": 359}}, 0.0),
        (np.arange(0.0, 360, 10), {"at": {"x": [-1, 1, 719, 176]}}, [0.0, 180.0]),
        (np.arange(-180.0, 180, 90), {"at": {"x": 270}}, -90.0),
        (np.arange(0, 360, 2), {"between": {"x": (-5, 5)}}, [0, 2, 4, 356, 358]),
        (np.arange(0, 360, 2), {"between": {"x": (355, 5)}}, [0, 2, 4, 356, 358]),
        (np.arange(-180, 180, 2), {"between": {"x": (355, 5)}}, [-4, -2, 0, 2, 4]),
        (np.arange(-180, 180, 90), {"between": {"x": (90, -90)}}, [-180, 90]),
        (np.arange(-180, 180, 90), {"between": {"x": (180, 271)}}, [-180, -90]),
        (np.arange(0, 360, 90), {"between": {"x": (-180, 180)}}, [0, 90, 180, 270]),
        (np.arange(0, 360, 90), {"between": {"x": (-1000, 1000)}}, [0, 90, 180, 270]),
        (np.arange(0, 360, 90), {"between": {"x": (None, 180)}}, [0, 90]),
        (np.arange(0, 360, 90), {"between": {"x": (-90, None)}}, [0, 90, 180, 270]),
        (np.ma.masked_equal([0.0, 5.0, np.nan, 9.0], 5), {"between": {"x": (-180, 180)}}, [0.0, 9.0]),
        (np.ma.masked_equal([0.0, 5.0, np.nan, 9.0], 5), {"between": {"x": (359, 370)}}, [0.0, 9.0]),
        (np.array([359.7, 359.8, 0.1], "f4"), {"between": {"x": (-0.2, 0.1)}}, [np.float32(359.8)]),
    ],
)
def test_longitudes_are_cyclic(values: Any, selectors: dict[str, Any], expected: Any, attributes: Any) -> None:
    assert one_axis(values, selectors, **attributes) == expected


def test_other_degrees_are_not_cyclic() -> None:
    for attributes in ({"units": "degrees"}, {"units": "degrees_north"}, {}):
        assert one_axis(np.arange(0, 360, 90), {"between": {"x": (-90, 90)}}, **attributes) == [0]


@given(st.lists(st.integers(-720, 720), min_size=1), st.integers(-720, 720), st.integers(0, 359))
@pytest.mark.filterwarnings("ignore:.*leaves nothing")
def test_a_band_of_longitudes_is_that_of_a_loop(values: list[int], west: int, width: int) -> None:
    expected = [value for value in values if (value - west) % 360 < width]
    for turn in (-360, 0):
        limits = (west, west + width + turn) if width or not turn else (west, west)
        assert one_axis(values, {"between": {"x": limits}}, **EAST) == expected


STATIONS = {
    "lat": {".size": [4], ".dims": ["station"], "units": "degrees_north"},
    "lon": {".size": [4], ".dims": ["station"], "units": "degrees_east"},
    "height": {".size": [4], ".dims": ["station"], "units": "m"},
}
PLACES = {
    "lat": np.ma.masked_equal([-60.0, 0.0, 60.0, 99.0], 99),
    "lon": np.array([350.0, 10.0, 179.0, 0.0]),
    "height": np.zeros(4),
}


def station(**asked: Any) -> Any:
    return resolve(Selection(at=asked), STATIONS, PLACES.__getitem__)["station"]


def test_the_nearest_station_on_the_sphere() -> None:
    assert station(lat=-50, lon=-5) == 0
    assert station(lon=0, lat=1) == 1
    assert station(lat=80, lon=-100) == 2  # nearer than the numbers are
    assert station(lat=[-50, 60], lon=[-5, -179]).tolist() == [0, 2]
    with pytest.raises(UnsupportedError, match="2 latitudes and 1 longitudes"):
        station(lat=[1, 2], lon=3)
    with pytest.raises(UnsupportedError, match="expected numbers"):
        station(lat="north", lon=3)
    for other in ({"lat": 5, "height": 3}, {"lat": 5, "lon": 6, "height": 3}):
        with pytest.raises(UnsupportedError, match=r"'lat' and .*, which are all along dimension"):
            station(**other)


@pytest.mark.parametrize("attributes", [{}, {"units": "degrees"}])
@pytest.mark.parametrize("names", [("lat", "lon"), ("LATITUDE", "Longitude"), ("g/Lat", "g/longitude")])
def test_the_nearest_station_by_the_names_of_variables(names: tuple[str, str], attributes: dict[str, str]) -> None:
    meta = {name: {".size": [4], ".dims": ["station"], **attributes} for name in names}
    places = dict(zip(names, (PLACES["lat"], PLACES["lon"]), strict=True))
    asked = Selection(at=dict(zip(names, (80, -100), strict=True)))
    assert resolve(asked, meta, places.__getitem__)["station"] == 2
    meta[names[0]]["units"] = "m"  # units have priority
    with pytest.raises(UnsupportedError, match="are all along dimension"):
        resolve(asked, meta, places.__getitem__)


def test_a_station_that_is_far_from_all() -> None:
    places = {"lat": np.array([50.0, 50.5, 51.0]), "lon": np.array([8.0, 8.5, 9.0])}
    meta = {key: {**STATIONS[key], ".size": [3]} for key in places}
    point = {"lat": -30.0, "lon": 100.0}
    asked: Any = (Selection(at=point), meta, places.__getitem__, "s.nc")
    with pytest.warns(UserWarning, match="s.nc: .*no point is near -30, 100: the nearest is .* degrees away"):
        assert resolve(*asked)["station"] == 2
    with modes.use("strict"), pytest.raises(UnsupportedError, match="no point is near"):
        resolve(*asked)
    point.update(lat=51.4, lon=9.2)
    assert resolve(*asked)["station"] == 2


@pytest.mark.parametrize(
    "selectors",
    [
        {"between": {"t": (7, 8)}},
        {"range_": {"time": (2, 2)}},
        {"sel": {"time": []}},
        {"sel": {"time": [0]}, "between": {"t": (2, None)}},
    ],
)
def test_a_selection_that_leaves_nothing(selectors: dict[str, Any]) -> None:
    message = 'the selection leaves nothing of dimension "time", which has size 4'
    for mode in ("soft", "strict"):
        with modes.use(mode), pytest.warns(UserWarning, match=message):
            assert positions("time", **selectors) == []
    with modes.use("soft", empty="ignore"):
        assert positions("time", **selectors) == []
    with modes.use("soft", empty="raise"), pytest.raises(UnsupportedError, match=f"{message}. .* add --allow-empty"):
        positions("time", **selectors)
    assert positions("none", between={"empty": (0, 1)}) == []


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ({"at": {"x": "1900"}}, 0.0),
        ({"at": {"x": "1900-02"}}, 31.0),
        ({"at": {"x": " 1900-02 "}}, 31.0),
        ({"between": {"x": ("1900", "1900-01")}}, [0.0, 30.0]),
        ({"between": {"x": ("1900-01", "1900")}}, [0.0, 30.0, 31.0, 364.0]),
        ({"between": {"x": ("1900-12", "1900-12")}}, [364.0]),
        ({"between": {"x": (None, "1900-12")}}, [0.0, 30.0, 31.0, 364.0]),
        ({"between": {"x": (None, "1900-12-31")}}, [0.0, 30.0, 31.0]),
        ({"between": {"x": (None, 31)}}, [0.0, 30.0]),
        ({"between": {"x": (None, np.datetime64("1900-02"))}}, [0.0, 30.0]),
    ],
)
def test_years_and_months_as_text(selectors: dict[str, Any], expected: Any) -> None:
    values = [0.0, 30.0, 31.0, 364.0, 365.0]
    assert one_axis(values, selectors, units="days since 1900-01-01", calendar="noleap") == expected


def test_text_that_is_no_month() -> None:
    for text in ("1900-13", "1900-0", "190001", "19", "1900-"):
        for selectors in ({"at": {"x": text}}, {"between": {"x": (None, text)}}):
            with pytest.raises(UnsupportedError, match=text):
                one_axis([0.0], selectors, units="days since 1900-01-01")
