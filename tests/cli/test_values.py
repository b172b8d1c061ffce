"""cat and stats: cases beyond the recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ds_format.api import files
from ds_format.cli import values
from ds_format.model import stats

if TYPE_CHECKING:
    from .conftest import Run

N = 500


@pytest.fixture(autouse=True)
def data(folder: Path) -> None:
    draw = np.random.default_rng(1)
    x = np.ma.MaskedArray(draw.normal(size=(N, 3)), draw.random((N, 3)) < 0.1)
    dataset: dict[str, Any] = {
        "x": x,
        "y": np.arange(3 * N).reshape(N, 3),
        "t": np.ma.MaskedArray([0.0, 1.0, 2.5], [False, True, False]),
        "odd": np.array([1.0]),
        "empty": None,
        "s": "text",
        ".": {"x": {".dims": ["i", "k"]}, "y": {".dims": ["i", "k"]}, ".": {}},
    }
    dataset["."]["t"] = {".dims": ["t"], "units": "days since 2000-01-01"}
    dataset["."]["odd"] = {"units": "days since whenever"}
    files.write(folder / "d.ds", dataset)


def test_cat_goes_by_blocks(ds: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ds("cat", "x", "y", "d.ds")
    assert whole.status == 0
    assert whole.out.count("\n") == N + 1
    monkeypatch.setattr(values, "BLOCK_SIZE", 100)
    assert ds("cat", "x", "y", "d.ds") == whole
    assert ds("cat", "y", "d.ds", "-n", "range:", "{", "i:", "{", "-2", "none", "}", "}").out == (
        "1494 1495 1496\n1497 1498 1499\n"
    )


def test_packed_numbers_are_printed_as_what_they_stand_for(ds: Run, folder: Path) -> None:
    source = Path(__file__).parents[1] / "golden" / "netcdf" / "packed.nc"
    files.write(folder / "packed.ds", files.read(source))
    for path in (str(source), "packed.ds"):
        assert ds("cat", "p", "p4", "u", path).out == (
            "p p4 u\n273.150000 10.000000 0\n280.000000 11.000000 100\n290.550000 12.500000 200\nnone 13.000000 255\n"
        )
        assert ds("stats", "si", path).out.startswith("count: 4 min: 2 max: 8 mean: 5.000000 ")
        assert ds("stats", "p", path).out.startswith("count: 3 min: 273.150000 max: 290.550000 mean: 281.233333 ")


def test_cat_prints_times(ds: Run, folder: Path) -> None:
    assert ds("cat", "-h", "t", "d.ds").out == "t\n2000-01-01T00:00:00\n\n2000-01-03T12:00:00\n"
    julian = {".dims": ["t"], "units": "days since 1900-02-28", "calendar": "julian"}
    files.write(folder / "j.ds", {"t": [0, 1], ".": {"t": julian}})
    assert ds("cat", "-h", "t", "j.ds").out == "t\n1900-02-28T00:00:00\n1900-02-29T00:00:00\n"
    words = ["between:", "{", "t:", "{", "1900-02-29", "none", "}", "}"]
    assert ds("cat", "--jd", "t", "j.ds", *words).out == "t\n2415091.500000\n"
    assert ds("cat", "--jd", "t", "d.ds").out == "t\n2451544.500000\n\n2451547.000000\n"
    assert ds("cat", "-hj", "t", "d.ds", "sel:", "{", "t:", "1", "}").out == '"t"\nnull\n'


@pytest.mark.filterwarnings("always")
def test_cat_leaves_what_only_looks_like_time(ds: Run) -> None:
    for flag in ("-h", "--jd"):
        status, out, err = ds("cat", flag, "odd", "d.ds")
        assert (status, out) == (0, "odd\n1.000000\n")
        assert err == "" or 'variable "odd"' in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cat x t d.ds", 'd.ds: incompatible dimensions: variables "x" and "t"'),
        ("cat t nope d.ds", 'd.ds: variable "nope" not found'),
        ("cat x d.ds sel: { i: 500 }", "d.ds"),
        ("cat t d.ds at: { t: { { 1 } } }", "at: t: invalid type"),
        ("cat t d.ds between: { t: 1 }", "between: t: invalid type: expected { A B }, found 1"),
        ("cat t d.ds range: { t: { 1.5 2 } }", "range: t: invalid type"),
        ("cat t d.ds range: 5", "range: invalid type"),
        ("cat -s . d.ds", 'd.ds: variable "." not found'),
        ("stats s d.ds", 'd.ds: variable "s": statistics need numbers, found strings'),
        ("stats * d.ds", 'd.ds: more than one variable is matching the pattern "*"'),
        ("stats x nope.ds", "nope.ds: File does not exist"),
    ],
)
def test_errors(line: str, message: str, ds: Run) -> None:
    status, out, err = ds(*line.split())
    assert (status, out) == (1, "")
    assert err.startswith(f"ds {line.split()[0]}: {message}")
    assert err.count("\n") == 1


def test_no_data_is_no_line(ds: Run) -> None:
    assert ds("cat", "empty", "d.ds") == (0, "empty\n", "")
    assert ds("cat", "s", "empty", "d.ds") == (0, "s empty\ntext none\n", "")
    assert ds("cat", ".", "d.ds") == (1, "", 'ds cat: d.ds: variable "." not found\n')
    assert ds("stats", "empty", "d.ds") == (0, "", "")


@pytest.mark.parametrize("words", [["x"], ["y"], ["x", "sel:", "{", "k:", "1", "}"], ["t"]])
def test_stats_of_what_is_larger_than_memory(words: list[str], ds: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ["stats", words[0], "d.ds", *words[1:]]
    held = ds(*line)
    assert held.status == 0
    assert held.out.startswith("count: ")
    monkeypatch.setattr(stats, "IN_MEMORY", 0)
    assert ds(*line) == held
