"""`ds diff`."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ds_format import cmd
from ds_format.api import files
from ds_format.cli import help as explain
from tests import golden_ds as golden

if TYPE_CHECKING:
    from .conftest import Run


@pytest.fixture
def other(base: str) -> str:
    """A file with another unit and another value."""
    d = files.read(base)
    d["temperature"][1] = 18.5
    d["."]["temperature"]["units"] = "K"
    files.write("other.ds", d)
    return "other.ds"


LINES = (
    'attribute  temperature:units  A "celsius", B "K"',
    (
        "values     temperature        1 of 3 differ; first at [1] (time=2): A 18.0, B 18.5; by at most 0.5; "
        "relatively 0.027"
    ),
    "2 differences (attribute 1, values 1), in 1 of 2 variables",
)


def test_the_same(ds: Run, base: str) -> None:
    shutil.copy(base, "copy.ds")
    assert ds("diff", base, "copy.ds") == ds("diff", base, base) == ds(base, "diff", "copy.ds") == (0, "", "")
    status, out, _ = ds("diff", "-j", base, "copy.ds")
    told = {"a": base, "b": "copy.ds", "same": True, "variables": 2, "differences": []}
    assert (status, json.loads(out)) == (0, told)


def test_each_difference_is_a_line(ds: Run, base: str, other: str) -> None:
    assert ds("diff", base, other) == (1, "\n".join(LINES) + "\n", "")
    assert ds("diff", "-q", base, other) == (1, "", "")
    assert ds("diff", "--header", base, other) == (1, f"{LINES[0]}\n1 difference, in 1 of 2 variables\n", "")
    assert ds("diff", "--values", base, other).out.startswith("values  temperature  1 of 3")
    assert ds("diff", base, other, "ignore:", "units", "atol:", "0.5") == (0, "", "")
    assert ds("diff", base, other, "ignore:", "{", "u*", "history", "}", "rtol:", "0.05") == (0, "", "")
    assert ds("diff", base, other, "variables:", "ti*") == (0, "", "")
    assert ds("diff", base, other, "ignore:", "*", "sel:", "{ time: 0 }") == (0, "", "")


def test_json(ds: Run, base: str, other: str) -> None:
    status, out, err = ds("diff", "-j", base, other)
    assert (status, err) == (1, "")
    told = json.loads(out)
    assert (told["same"], told["variables"]) == (False, 2)
    place = {"index": [1], "coordinates": {"time": 2}, "a": 18.0, "b": 18.5}
    assert told["differences"] == [
        {"kind": "attribute", "variable": "temperature", "name": "units", "a": "celsius", "b": "K"},
        {
            "kind": "values",
            "variable": "temperature",
            "n": 1,
            "total": 3,
            "first": place,
            "largest": {**place, "size": 0.5},
            "relative": {**place, "size": 0.5 / 18.5},
        },
    ]


def test_packed_numbers(ds: Run, folder: Path) -> None:
    meta = {"x": {".dims": ["i"], "scale_factor": 0.5}}
    files.write("a.nc", {"x": np.array([2, 4], "i2"), ".": meta})
    files.write("b.ds", {"x": np.array([1.0, 2.0]), ".": {"x": {".dims": ["i"]}}})
    assert ds("diff", "a.nc", "b.ds") == (0, "", "")
    status, out, _ = ds("diff", "--raw", "a.nc", "b.ds")
    assert status == 1
    assert out.startswith("type       x               A int16, B float64\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("base.ds",), "B is missing: found only base.ds"),
        (("base.ds", "nothing.ds"), "nothing.ds: File does not exist"),
        (("base.ds", "base.ds", "--nope"), 'unrecognized option "nope"'),
        (("base.ds", "base.ds", "rtol:", "-1"), "rtol: expected a number of 0 or more, found -1"),
        (("base.ds", "base.ds", "atol:", "much"), "atol: expected a number of 0 or more, found much"),
        (("base.ds", "base.ds", "variables:", "tim"), 'base.ds base.ds: variable "tim" not found: did you mean time?'),
        (("base.ds", "base.ds", "--header", "--values"), "--header and --values exclude each other"),
        (("base.ds", "base.ds", "sel:", "{", "tim:", "0", "}"), 'base.ds: dimension "tim" not found'),
        (("whole.ds", "broken.ds"), 'broken.ds: variable "x": .size [3]: '),
        (("base.ds", "base.ds", *"{" * 5000), "nested too deeply"),
    ],
)
def test_trouble_is_2(ds: Run, base: str, words: tuple[str, ...], message: str) -> None:
    shutil.copy(golden.FOLDER / "corrupt" / "truncated_body.ds", "broken.ds")
    files.write("whole.ds", {"x": np.zeros(3, "i4"), ".": {"x": {".dims": files.open("broken.ds")["x"].dims}}})
    status, out, err = ds("diff", *words)
    assert (status, out) == (2, "")
    assert message in err.splitlines()[0]


def test_names_in_quotes_and_very_large_tolerances(ds: Run, base: str, other: str) -> None:
    for words in (("{", "time", "}"), ("{ time }",)):
        assert ds("diff", base, other, "variables:", *words) == ds("diff", base, other, "variables:", "time")
    assert 'variable "nope" not found' in ds("diff", base, other, "variables:", "{ nope time }").err
    assert ds("diff", base, base, "atol:", "9" * 400).status == 0


def test_trouble_of_other_commands_is_1(ds: Run) -> None:
    assert ds("cat", "x", "nothing.ds").status == 1


def test_as_a_function(base: str, other: str, capsys: pytest.CaptureFixture[str]) -> None:
    cmd.diff(base, other)
    assert capsys.readouterr().out.splitlines() == list(LINES)


def test_the_manual_page_tells_the_status() -> None:
    pages = dict(explain.manual_pages())
    assert "\n0 if both are equal, 1 if they differ, 2 after" in pages["ds-diff.1"]
    assert "\n0, or 1 after an error" in pages["ds-ls.1"]


def test_it_is_a_reserved_word(ds: Run, base: str) -> None:
    shutil.copy(base, "diff")
    assert ds("diff").status == 2
    assert ds("ls", "diff").status == 0  # recognised by its content
    assert "variable" in ds("ls", "diff", base).err


def test_ctrl_c_is_no_difference(ds: Run, base: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ds_format.comparison.values.Tally.add", interrupted)
    assert ds("diff", base, other).status == 128 + signal.SIGINT
