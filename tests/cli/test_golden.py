"""Recorded runs of ds-format 5.0.2: the same files, words, output and exit status here, but for its bugs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ds_format import files
from ds_format._version import __version__

if TYPE_CHECKING:
    from .conftest import Run

GOLDEN = Path(__file__).parents[1] / "golden" / "cli"
CASES = json.loads((GOLDEN / "cli_cases.json").read_text())

DIFFERENCES: dict[str, tuple[str, int, str]] = {
    # name                       stdout, exit status, why
    "version": (f"{__version__}\n", 0, "its own version"),
    "format-2.0.1-file": ("", 0, "files of the 2.0.1 layout are read"),
    "ls-F-literal": ("temperature\ntime\n", 0, "the order of the words, where the reference has none"),
    "ls-l-scalars": (
        "{{ }}\na int64 { }\nb float64 { }\nc unicode { }\ne none { }\n",
        0,
        "a variable without data is listed",
    ),
    "ls-l-empty-typed": ("{{ }}\nx float64 { }\n", 0, "a variable without data is listed"),
    "select-bool7": ("", 0, "booleans that do not fill a byte are read"),
    "select-zero-size": ("", 0, "dimensions of size 0 are read"),
    "select-missing-str-roundtrip": ("", 0, "missing strings are read"),
    "select-empty-variable": ("", 0, "variables without data are kept"),
}

COPIES = {
    "select-bool7": "b.ds",
    "select-zero-size": "z.ds",
    "select-missing-str-roundtrip": "b.ds",
    "select-empty-variable": "in.ds",
    "select-str-variable-roundtrip": "b.ds",
}
"""Cases whose output shall equal their input, where the reference writes nothing or a damaged file."""


@pytest.mark.filterwarnings("ignore:offsets in the header are wrong")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_recorded_run(case: dict[str, Any], folder: Path, ds: Run) -> None:
    for name, source in case["files"].items():
        if source is None:
            (folder / name).mkdir()
        else:
            shutil.copy(GOLDEN / "inputs" / source, folder / name)
    result = ds(*case["argv"])
    out, status, _ = DIFFERENCES.get(case["name"], (case["stdout"], case["exit"], ""))
    assert result.out == out
    assert result.status == status
    if status == 0:
        assert all(": warning: " in line for line in result.err.splitlines())
    elif "Usage: " not in result.err:
        assert result.err.startswith("ds ")
        assert result.err.count("\n") == 1
    if case["name"] in COPIES:
        same(folder / COPIES[case["name"]], folder / "out.ds")
    else:
        for name, expected in case.get("outputs", {}).items():
            same(GOLDEN / "inputs" / expected, folder / name)


def same(a: Path, b: Path) -> None:
    """Compare two files by what they hold."""
    first, second = files.read(a), files.read(b)
    assert list(first) == list(second)
    for name, data in first.items():
        if name == ".":
            continue
        other = second[name]
        assert type(data) is type(other)
        if data is not None:
            assert data.dtype == other.dtype
            assert repr(data) == repr(other)
        assert {".dims": [], **first["."][name]} == {".dims": [], **second["."][name]}
    assert first["."]["."] == second["."]["."]
