"""Reading a part: which bytes are read, what comes out, and times as Julian dates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import cftime  # type: ignore[import-untyped]
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format import timeaxis
from ds_format.kernels.files import ranges
from ds_format.model.index import normalize, take
from ds_format.model.selection import Selection
from ds_format.views.subset import Subset, open_subset

from .formats import SUFFIXES
from .same import same_data

if TYPE_CHECKING:
    from ds_format.drivers.base import Source


@pytest.fixture(params=["ds", "nc"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    dataset = {
        "time": np.arange(6.0),
        "lat": np.array([-10.0, 0.0, 10.0]),
        "x": np.ma.MaskedArray(np.arange(18).reshape(6, 3), np.arange(18).reshape(6, 3) % 7 == 0),
        "name": np.array(["a", "b", "c"], object),
        "site": 5,
        ".": {
            "time": {".dims": ["time"], "units": "hours since 2000-01-01"},
            "lat": {".dims": ["lat"]},
            "x": {".dims": ["time", "lat"], "units": "K"},
            "name": {".dims": ["lat"]},
            ".": {"title": "T"},
        },
    }
    found: Path = tmp_path / f"x.{request.param}"
    ds.write(found, dataset)
    return found


X = np.ma.MaskedArray(np.arange(18).reshape(6, 3), np.arange(18).reshape(6, 3) % 7 == 0)


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        ({"sel": {"time": 1}}, X[1]),
        ({"sel": {"time": [0, 2], "lat": [2, 0]}}, X[[0, 2]][:, [2, 0]]),
        ({"range_": {"time": (-2, None)}}, X[-2:]),
        ({"at": {"lat": 9}}, X[:, 2]),
        ({"at": {"lat": 9, "time": [1.2, 4]}}, X[[1, 4]][:, 2]),
        ({"at": {"time": "2000-01-01T03:10"}}, X[3]),
        ({"between": {"lat": (None, 5)}}, X[:, :2]),
        ({"between": {"time": (2, 4)}, "sel": {"lat": -1}}, X[2:4, 2]),
    ],
)
def test_a_part(path: Path, selectors: dict[str, Any], expected: Any) -> None:
    dataset = ds.read(path, "x", **selectors)
    expected = expected if expected.mask.any() else expected.data
    assert same_data(dataset["x"], expected)
    assert dataset["."]["x"][".size"] == list(np.shape(expected))
    assert len(dataset["."]["x"][".dims"]) == np.ndim(expected)
    ds.convert(path, path.with_name("part.ds"), ["x"], **selectors)
    assert same_data(ds.read(path.with_name("part.ds"))["x"], expected)


def test_selectors_with_errors_name_the_file(path: Path) -> None:
    with pytest.raises(IndexError, match=rf'{path.name}: variable "time": index 9 is out of bounds'):
        ds.read(path, sel={"time": 9})
    with pytest.raises(ds.UnsupportedError, match=rf'{path.name}: variable "x": found 2 dimensions'):
        ds.read(path, at={"x": 9})
    with ds.with_mode("strict"), pytest.raises(NameError, match=rf'{path.name}: variable "nope" not found'):
        ds.read(path, between={"nope": (1, 2)})


def test_only_the_bytes_of_the_part_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ds.write(
        tmp_path / "big.ds", {"t": np.arange(400.0), "x": np.zeros((400, 50, 40)), ".": {"t": {".dims": ["time"]}}}
    )
    ds.write(
        tmp_path / "big.ds",
        {
            "t": np.arange(400.0),
            "x": np.zeros((400, 50, 40)),
            ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t", "y", "x"]}},
        },
    )
    seen: list[int] = []
    read_at = ranges.read_at

    def counted(fd: int, offset: int, buffer: Any) -> int:
        n = read_at(fd, offset, buffer)
        seen.append(n)
        return n

    monkeypatch.setattr(ranges, "read_at", counted)
    one: list[dict[str, Any]] = [{"sel": {"t": 7}}, {"at": {"t": 7.2}}, {"range_": {"t": (7, 8)}}]
    two: list[dict[str, Any]] = [{"between": {"t": (7, 8)}}, {"sel": {"t": [399, 0]}}, {"sel": {"t": [8, 7, 8]}}]
    for n, selectors in [*((1, each) for each in one), *((2, each) for each in two)]:
        seen.clear()
        ds.read(tmp_path / "big.ds", "x", **selectors)
        assert sum(seen) <= 65536 + 400 * 8 + n * 50 * 40 * 8


def test_blocks_of_a_part(path: Path) -> None:
    with open_subset(path, Selection(["x", "name"], sel={"time": [5, 1, 0]}, between={"lat": (-5, None)})) as subset:
        assert list(subset.meta) == ["x", "name", "."]
        blocks = list(subset.blocks("x", 8))
        assert same_data(np.ma.concatenate([block.reshape(-1) for block in blocks]), X[[5, 1, 0]][:, 1:].reshape(-1))
        assert same_data(subset.read("x", (range(2), np.array([1]))), X[[5, 1]][:, [2]].data)
        assert same_data(subset.read("name"), np.array(["b", "c"], object))


def test_times_become_julian_dates(path: Path) -> None:
    dataset = ds.read(path, jd=True, range_={"time": (0, 2)})
    assert dataset["time"].tolist() == [2451544.5, 2451544.5 + 1 / 24]
    entry = dataset["."]["time"]
    assert entry[".time"] is True
    assert (entry["units"], entry["calendar"]) == ("days since -4713-11-24 12:00 UTC", "proleptic_gregorian")
    assert dataset["."]["x"]["units"] == "K"
    assert ds.read(path, "x", jd=True, at={"time": 2451544.5 + 2.2 / 24})["x"].tolist() == X[2].tolist()
    with open_subset(path, Selection(jd=True)) as subset:
        assert next(subset.blocks("time")).tolist() == ds.read(path, jd=True)["time"].tolist()
        assert subset.read("time", (range(1),)).tolist() == [2451544.5]


@pytest.mark.parametrize("jd", [False, True])
@pytest.mark.parametrize("start", ["1582-09-20", "2000-02-20", "1500-02-20", "-0001-12-20"])
@pytest.mark.parametrize("calendar", ["standard", "proleptic_gregorian", "julian", "360_day", "noleap", "all_leap"])
@pytest.mark.filterwarnings("ignore:.*stays as it is", "ignore::cftime.CFWarning")
def test_text_is_a_date_of_the_calendar_as_in_an_index_of_xarray(
    calendar: str, start: str, jd: bool, tmp_path: Path
) -> None:
    units, values = f"hours since {start}", np.arange(6, 720, 12)
    attributes = {".dims": ["t"], "units": units, "calendar": calendar}
    ds.write(tmp_path / "a.ds", {"t": values, "x": values, ".": {"t": attributes, "x": {".dims": ["t"]}}})
    index = xr.CFTimeIndex(cftime.num2date(values, units, calendar))
    texts = timeaxis.to_iso(values, units, calendar)
    assert [text.lstrip("-0") for text in texts] == [date.isoformat().lstrip("-0") for date in index]
    for i, j in ((0, 4), (7, 30), (15, 46), (28, 58)):
        low, high = (texts[k].partition("T")[0] for k in (i, j))
        found = ds.read(tmp_path / "a.ds", "x", between={"t": (low, high)}, jd=jd)["x"]
        assert found.tolist() == values[i - i % 2 : j - j % 2].tolist()
        if start[0] != "-":  # xarray parses no such text
            assert found.tolist() == values[index.slice_indexer(low, f"{high}T00:00:00")].tolist()
        assert ds.read(tmp_path / "a.ds", "x", at={"t": texts[j]}, jd=jd)["x"] == values[j]


@pytest.mark.parametrize(
    "attributes",
    [
        {"units": "days since 2000-01-01", "calendar": "mayan"},
        {"units": "years since 2000-01-01"},
        {"units": "days since yesterday"},
        {"units": "days since 2000-02-29", "calendar": "360_day"},
    ],
)
def test_times_that_cannot_be_decoded_stay(tmp_path: Path, attributes: dict[str, str]) -> None:
    ds.write(tmp_path / "x.ds", {"t": [1.0], "y": [5], ".": {"t": attributes}})
    with pytest.warns(UserWarning, match=r'x.ds: variable "t": .*stays as it is'):
        dataset = ds.read(tmp_path / "x.ds", jd=True)
    assert dataset["t"].tolist() == [1.0]
    assert ds.attrs(dataset, "t") == attributes
    assert dataset["y"].tolist() == [5]


class Whole:
    """A source of one variable, which is never asked for blocks."""

    def __init__(self, array: Any):
        self.array = array
        self.meta = {"x": {".size": list(array.shape), ".dims": list("abc"), ".type": "int64"}, ".": {}}
        self.faults: dict[str, Exception] = {}

    def read(self, name: str, index: tuple[Any, ...] | None = None) -> Any:
        return self.array if index is None else take(self.array, index)


def items(n: int) -> st.SearchStrategy[Any]:
    """One item of a normalized index that keeps its dimension."""
    positions = st.lists(st.integers(0, n - 1), max_size=4) if n else st.just([])
    return st.slices(n).map(lambda item: range(n)[item]) | positions.map(lambda found: np.array(found, np.int64))


@pytest.mark.filterwarnings("ignore:.*leaves nothing")
@given(st.data())
def test_any_index_into_a_part(data: st.DataObject) -> None:
    array = np.arange(7 * 6 * 5).reshape(7, 6, 5)
    sel = {
        dim: data.draw(st.slices(n) | st.lists(st.integers(0, n - 1), max_size=6))
        for dim, n in zip("abc", array.shape, strict=True)
    }
    part = Subset(cast("Source", Whole(array)), "x", Selection(sel=sel), False)
    expected = take(array, normalize(tuple(sel.values()), array.shape))
    assert same_data(part.read("x"), expected)
    index = tuple(data.draw(items(n) | st.integers(0, n - 1) if n else items(n)) for n in expected.shape)
    found = part.read("x", index)
    assert same_data(np.asarray(found), np.asarray(take(expected, index)))
    blocks = [block.reshape(-1) for block in part.blocks("x", data.draw(st.integers(1, 400)))]
    assert same_data(np.concatenate([np.empty(0, array.dtype), *blocks]), expected.reshape(-1))


@pytest.mark.filterwarnings("ignore:.*leaves nothing")
@given(st.data())
def test_any_part_of_a_part(data: st.DataObject) -> None:
    array = np.arange(60).reshape(5, 4, 3)
    items = st.integers(-3, 2) | st.slices(3) | st.lists(st.integers(-3, 2), max_size=4)
    sel = {dim: data.draw(items) for dim in data.draw(st.lists(st.sampled_from("abc"), unique=True))}
    dataset = {"x": array, ".": {"x": {".dims": ["a", "b", "c"]}}}
    expected = array
    for axis, dim in reversed(list(enumerate("abc"))):
        if dim in sel:
            index = sel[dim] if not isinstance(sel[dim], list) else np.array(sel[dim], int)
            expected = expected[(*(slice(None),) * axis, index)]
    ds.select(dataset, sel)
    assert same_data(dataset["x"], expected)


@pytest.mark.parametrize("suffix", [*SUFFIXES, "-2.0.1.ds"])
def test_one_value_is_a_scalar(suffix: str, tmp_path: Path) -> None:
    data = {"text": ["ab", None], "n": [1, None], "m": [1, 2]}
    path = tmp_path / f"a{suffix}"
    options: dict[str, Any] = {"version": "2.0.1"} if "2.0.1" in suffix else {}
    ds.write(path, data | {".": {name: {".dims": ["i"]} for name in data}}, **options)
    with ds.open(path) as file:
        first = {name: file[name][0] for name in data}
        assert first == {"text": "ab", "n": 1, "m": 1}
        assert [type(value) for value in first.values()] == [str, np.int64, np.int64]
        for name in ("text", "n"):
            value = file[name][1]
            assert value.shape == () and value.mask.all() and value.dtype == file[name].dtype
