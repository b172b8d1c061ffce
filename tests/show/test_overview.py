"""The view of a dataset: from metadata alone, small, escaped, and whatever the dataset holds."""

from __future__ import annotations

import mmap
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.base.text import bytes_of
from ds_format.datasets import Dataset
from ds_format.show import overview

from ..numpy_versions import NUMPY_2

EVIL = "<script>alert('x')</script>"
SAMPLE = Path(__file__).parents[2] / "examples" / "sample.nc"


class Untouchable(np.ndarray):
    """An array that raises on access to its data."""

    def __getitem__(self, index: Any) -> Any:
        raise AssertionError("data were read")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("data were read")

    def tolist(self) -> Any:
        raise AssertionError("data were read")


class Sealed(list[Any]):
    """A list that raises on iteration."""

    def __iter__(self) -> Any:
        raise AssertionError("the list was converted")


class Tags(HTMLParser):
    """Checks that tags are closed in their order, and collects them."""

    def __init__(self, page: str):
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.styles: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.open.append(tag)
        self.styles += [value or "" for name, value in attrs if name == "style"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def views(dataset: dict[Any, Any]) -> tuple[str, str]:
    """Return both views, after a look at whether the HTML is well formed."""
    page = overview.html(dataset)
    Tags(page)
    return overview.text(dataset), page


def test_a_dataset_shows_itself() -> None:
    dataset = ds.read(SAMPLE)
    told = repr(dataset)
    assert told == overview.text(dataset)
    lines = told.splitlines()
    assert lines[0] == f"<ds_format.Dataset: {len(dataset) - 1} variables, {total(dataset)}>"
    assert lines[1].startswith("dims: ")
    assert "time: 14" in lines[1]
    assert re.search(r"^  temperature +\w+ +time: 14, .* K$", told, re.MULTILINE)
    assert "attributes:" in lines
    assert dataset._repr_html_() == overview.html(dataset)
    assert dataset._ipython_key_completions_() == list(dataset)
    assert dict.__repr__(dataset).startswith("{")


def total(dataset: dict[str, Any]) -> str:
    arrays = [data for data in dataset.values() if isinstance(data, np.ndarray)]
    text = [item for array in arrays if array.dtype.kind == "O" for item in array.tolist()]
    sizes = [array.nbytes for array in arrays if array.dtype.kind != "O"]
    sizes += [len(item if isinstance(item, bytes) else item.encode()) for item in text]
    return bytes_of(sum(sizes))


def test_the_columns() -> None:
    meta = {
        "t": {".dims": ["time", "x"], "units": "K", "long_name": "temperature"},
        "n": {".dims": [], ".type": "int8"},
        ".": {"title": "a title"},
    }
    dataset = {"t": np.zeros((3, 4), "f4"), "n": np.int8(1), "s": "text", ".": meta}
    assert overview.text(dataset).splitlines() == [
        "<ds_format.Dataset: 3 variables, 53 B>",
        "dims: time: 3, x: 4",
        "  name  type     dims           size  units",
        "  t     float32  time: 3, x: 4  48 B  K",
        "  n     int8                    1 B",
        "  s     unicode                 4 B",
        "attributes:",
        "  title: a title",
    ]
    page = overview.html(dataset)
    assert page.count("<details>") == 2
    assert "<b>long_name</b>: temperature" in page
    assert Tags(page).seen.count("tr") == 5


def test_a_file_and_its_variables_show_themselves(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    ds.write(path, {"a<b": np.zeros((2, 3), "i2"), ".": {"a<b": {".dims": ["y", "x"], "units": "m"}, ".": {"k": "v"}}})
    with ds.open(path) as file:
        path.write_bytes(path.read_bytes()[:64])
        page = file._repr_html_()
        assert Tags(page).seen.count("tr") == 3
        for part in (str(path), "a&lt;b", "int16", "y: 2, x: 3", "12 B", "<b>k</b>: v"):
            assert part in page.replace("\N{NO-BREAK SPACE}", " ")
        assert "values" not in page
        assert file._ipython_key_completions_() == ["a<b"]
        assert "y:\N{NO-BREAK SPACE}2, x:\N{NO-BREAK SPACE}3" in file["a<b"]._repr_html_()


def test_everything_is_escaped() -> None:
    meta = {EVIL: {".dims": [EVIL], ".type": EVIL, "units": EVIL, EVIL: EVIL}, ".": {EVIL: [EVIL, {EVIL: EVIL}]}}
    page = overview.html({EVIL: np.zeros(2, object), ".": meta})
    assert "<script" not in page
    assert "script" not in Tags(page).seen
    assert "&lt;script&gt;" in page


def test_notebooks_do_not_take_dollars_for_maths() -> None:
    page = overview.html({"x": np.zeros(3), ".": {"x": {"units": "$m^2", "cost": "5$"}}})
    assert page.startswith('<div class="tex2jax_ignore mathjax_ignore" ')


def test_colours_are_those_of_the_page() -> None:
    page = overview.html({"x": np.zeros(3), ".": {"x": {"units": "m"}}})
    tags = Tags(page)
    assert "style" not in tags.seen
    assert page.count("class=") == 1  # of no rules for colours
    colours = {colour for style in tags.styles for colour in re.findall(r"(?:color|background):([^;]+)", style)}
    assert colours == {"inherit"}
    assert set(re.findall(r"rgba[^;]+?\)", page)) == {"rgba(128,128,128,.4)"}  # of lines: grey on black and on white


def test_coordinates_stand_apart() -> None:
    meta = {
        "t": {".dims": ["time", "y"], "coordinates": "lat height"},
        "lat": {".dims": ["y"]},
        "time": {".dims": ["time"]},
        "height": {".dims": []},
    }
    dataset = {"t": np.zeros((2, 3)), "lat": np.zeros(3), "time": np.zeros(2), "height": 2.0, "u": 1, ".": meta}
    told, page = views(dataset)
    lines = [line.split()[0] for line in told.splitlines()[2:]]
    assert lines == ["name", "coordinates:", "lat", "time", "height", "data:", "t", "u"]
    places = [page.index(f">{name}<") for name in ("coordinates", "lat", "time", "height", "data", "t", "u")]
    assert places == sorted(places)
    told, page = views({"u": 1, "v": 2})
    assert "data" not in told.replace("Dataset", "")
    assert "<b>data</b>" not in page
    _, page = views(
        {f"x{i}": np.zeros(i + 1) for i in range(60)} | {".": {f"x{i}": {".dims": [f"x{i}"]} for i in range(60)}}
    )
    assert "x49" in page and "x50<" not in page and "... 10 more" in page


def test_values_in_memory_are_previewed() -> None:
    array = np.ma.MaskedArray(np.arange(12.0).reshape(3, 4) / 3, np.arange(12).reshape(3, 4) == 1)
    page = overview.html({"x": array, "s": np.array(["a<", None], object), ".": {}})
    assert ">0, --, 0.666667, ..., 3.66667<" in page
    assert "&#x27;a&lt;&#x27;, None" in page
    assert overview.some_values(np.arange(4)) == "0, 1, 2, 3"
    assert overview.some_values(np.array(5)) == "5"
    assert overview.some_values("x" * 100) == "'" + "x" * 20 + "..."
    assert overview.some_values(np.array(["Tromsø".encode(), b"\xff"], object)) == "'Tromsø', b'\\xff'"
    assert (
        overview.some_values(np.zeros((0, 3)))
        == overview.some_values(np.zeros(2, [("a", "f8")]))
        == overview.some_values([1, 2])
        == ""
    )
    assert overview.some_values(np.array("2000-01-01", "M8[D]")) == "2000-01-01"


def test_values_in_files_are_not_previewed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(800))
    mapped = np.memmap(path, np.float64, "r")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        over = np.frombuffer(whole, np.float64)
        for array in (mapped, np.asarray(mapped)[2:], over, over[3:]):
            assert overview.some_values(array) == ""
        del array, over
    assert overview.some_values(np.frombuffer(bytes(16), np.float64)) == "0, 0"


def test_sizes_of_text() -> None:
    dataset = {
        "a": np.array(["Zürich", None, "x"], object),
        "b": np.array([b"\xff\xff"], object),
        "c": "ö",
        "d": np.array(["ab", "c"]),
        "e": np.ma.MaskedArray(np.array(["abc", "d"], object), [False, True]),
        "f": np.array([{}], object),
        "g": np.full(overview.MAX_COUNTED + 1, "x", object),
    }
    rows = {line.split()[0]: line for line in overview.text(dataset).splitlines()[3:]}
    assert [re.findall(r"\d+ B", rows[name]) for name in "abcdefg"] == [
        ["8 B"], ["2 B"], ["2 B"], ["3 B"], ["3 B"], [], [],
    ]  # fmt: skip


def test_no_data_are_touched(tmp_path: Path) -> None:
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(1 << 40)
    huge = np.memmap(tmp_path / "huge", np.float64, "r", shape=(1 << 18, 1 << 19))
    sealed = Sealed([1, 2])
    untouchable = np.zeros((2, 2)).view(Untouchable)
    meta = {"huge": {"note": untouchable.view(np.ndarray), "more": huge}}
    told, page = views({"huge": huge, "array": untouchable, "list": Sealed([sealed] * 3), ".": meta})
    assert "1.1 TB" in told
    assert "1.1 TB" in page
    assert "list_1: 3, list_2: 2" in told


def test_a_thousand_variables_stay_small() -> None:
    attributes = {f"attribute {i}": "<long> " * 1000 for i in range(50)}
    meta: dict[str, Any] = {f"variable_{i}": {".dims": [f"d{i}"], **attributes} for i in range(1000)}
    dataset = Dataset({name: np.zeros(3) for name in meta}) | {".": {**meta, ".": attributes}}
    told, page = views(dataset)
    assert len(page) < 100_000
    assert len(told) < 30_000
    for view in (told, page):
        assert "variable_49" in view
        assert "variable_50" not in view
        assert "... 950 more" in view
    assert "dims: d0: 3, d1: 3" in told


def test_long_values_are_cut() -> None:
    attributes = {"text": "x" * 10_000, "list": list(range(10**6)), "array": np.zeros(10**6), "n" * 1000: 1}
    told, page = views({"v" * 1000: 1, ".": {".": attributes}})
    assert max(map(len, told.splitlines())) < 250
    assert len(page) < 4000
    assert "x" * 197 + "..." in page
    assert "float64 array of shape (1000000,)" in page


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    told, page = views({"a\x1b[2J": 1, "b\nc": 2, "\udcff": 3, ".": {".": {"x": "1\n2\t3\x07"}}})
    for view in (told, page):
        assert not set(view) & set("\x1b\x07\udcff\t")
        assert "x1b[2J" in view
    assert r"b\nc" in told
    assert "x: 1 2 3" in told
    told.encode()


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


class Loud:
    """An object that cannot be printed."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Shaped:
    shape = ("a", None)
    dtype = "float32"


ODD: dict[str, dict[Any, Any]] = {
    "empty": {},
    "no metadata": {"x": np.zeros(3)},
    "metadata None": {"x": 1, ".": None},
    "metadata a list": {"x": 1, ".": [1]},
    "entry a number": {"x": 1, ".": {"x": 5, ".": 6}},
    "dims a number": {"x": np.zeros(3), ".": {"x": {".dims": 5}}},
    "dims of numbers": {"x": np.zeros((3, 2)), ".": {"x": {".dims": [1, None]}}},
    "too few dims": {"x": np.zeros((3, 2)), ".": {"x": {".dims": ["a"]}}},
    "too many dims": {"x": np.zeros(3), ".": {"x": {".dims": ["a", "b"]}}},
    "type a list": {"x": None, ".": {"x": {".type": [1], ".size": "x"}}},
    "sizes of text": {"x": None, ".": {"x": {".size": ["x"]}}},
    "keys no text": {5: 1, None: 2, ("a",): 3, ".": {5: {6: 7, None: 8}, ".": {9: 10}}},
    "lists": {"x": [], "y": [[]], "z": [[1, 2], [3]], "w": (1, None)},
    "endless": {"x": endless(), ".": {".": {"a": endless()}}},
    "scalars": {"a": True, "b": 1, "c": 1.5, "d": "x", "e": b"x", "f": None, "g": np.ma.masked, "h": 1j, "i": {}},
    "arrays": {"a": np.zeros((), "U3"), "b": np.zeros(2, "S3"), "c": np.zeros(2, "M8[s]")},
    "structured": {"a": np.zeros(2, [("a", "f8")])},
    "strings": {"a": np.array(["x"], np.dtypes.StringDType() if NUMPY_2 else object), "b": np.ma.masked_all(3)},
    "units": {"x": 1, ".": {"x": {"units": ["a", None]}}},
    "loud": {"x": Loud(), ".": {"x": {"a": Loud(), "units": Loud()}}},
    "shape of text": {"x": Shaped()},
    "attributes of NumPy": {".": {".": {"a": np.float32(1.5), "b": np.arange(3), "c": np.array("x"), "d": b"\xff"}}},
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_datasets_are_shown(name: str) -> None:
    told, page = views(ODD[name])
    assert told == repr(Dataset(ODD[name]))
    assert told.startswith("<ds_format.Dataset: ")
    assert len(page) < 8000


def test_showing_a_dataset_needs_no_import_of_the_view() -> None:
    assert repr(Dataset()) == "<ds_format.Dataset: 0 variables>"
