"""What `sel`, `range_`, `at` and `between` select, alone and together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ds_format import MissingError, UnsupportedError, modes
from ds_format.selection import normalize, resolve, take

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
    index = resolve(sel, range_, at, between, META, DATA.__getitem__)[dim]
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
def test_what_is_selected(dim: str, selectors: dict[str, Any], expected: Any) -> None:
    assert positions(dim, **selectors) == expected


@pytest.mark.parametrize(
    ("selectors", "error", "message"),
    [
        ({"at": {"grid": 0}}, UnsupportedError, 'variable "grid": found 2 dimensions, expected one'),
        ({"between": {"nothing": (0, 1)}}, UnsupportedError, 'variable "nothing": found 0 dimensions'),
        ({"at": {"empty": 0}}, UnsupportedError, "no value to be near to 0"),
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
    assert resolve(*asked, META, DATA.__getitem__) == {}
    with modes.use("strict"), pytest.raises(MissingError, match='file: dimension "nope" not found'):
        resolve(*asked, META, DATA.__getitem__, "file")
    with modes.use("strict"), pytest.raises(MissingError, match='variable "nix" not found'):
        resolve(None, None, asked[2], None, META, DATA.__getitem__)
    with modes.use("soft", selectors="strict"), pytest.raises(MissingError, match='dimension "nope"'):
        resolve(*asked, META, DATA.__getitem__)


limits = st.none() | st.integers(-9, 9)


@given(st.integers(0, 4), limits, limits, st.sampled_from([None, -3, -2, -1, 1, 2, 3]))
def test_any_slice_selects_what_it_does_in_numpy(n: int, start: Any, stop: Any, step: Any) -> None:
    array = np.arange(n)
    index = normalize(slice(start, stop, step), (n,))
    assert take(array, index).tolist() == array[start:stop:step].tolist()


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), st.floats(-6, 6), st.floats(-6, 6))
def test_the_nearest_and_those_between(values: list[float], low: float, high: float) -> None:
    data = np.array(values)
    meta = {"x": {".size": [data.size], ".dims": ["x"]}}
    at = resolve(None, None, {"x": low}, None, meta, lambda key: data)["x"]
    assert abs(data[at] - low) == np.abs(data - low).min()
    between = resolve(None, None, None, {"x": (low, high)}, meta, lambda key: data)["x"]
    assert between.tolist() == [i for i, value in enumerate(values) if low <= value < high]
