"""`ds verify`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import golden_ds as golden

if TYPE_CHECKING:
    from .conftest import Run

BROKEN = "truncated_body.ds"
MESSAGE = ".size [3]: 3 values need 12 bytes at .offset 0, but the file has 7"
NOTED = "gaps_and_order.ds"


@pytest.fixture
def files(folder: Path, base: str) -> list[str]:
    shutil.copy(golden.FOLDER / "corrupt" / BROKEN, folder)
    shutil.copy(golden.FOLDER / "hand" / NOTED, folder)
    return [base, BROKEN, NOTED]


def test_a_good_file(ds: Run, base: str) -> None:
    assert ds("verify", base) == (0, "", "")
    assert ds("verify", "-j", base) == (0, "[]\n", "")


def test_each_problem_is_a_line(ds: Run, files: list[str]) -> None:
    status, out, err = ds("verify", *files, "nothing.ds")
    assert status == 1
    assert out.splitlines() == [
        f'{BROKEN} x error "{MESSAGE}"',
        f'{NOTED} none warning "found 14 bytes behind the last variable"',
        'nothing.ds none error "File does not exist"',
    ]
    assert err == "ds verify: 2 of 4 files failed\n"


def test_problems_as_json(ds: Run, files: list[str]) -> None:
    status, out, err = ds("verify", "-j", *files)
    assert (status, err) == (1, "ds verify: 1 of 3 files failed\n")
    assert json.loads(out) == [
        {"path": BROKEN, "variable": "x", "message": MESSAGE, "severity": "error"},
        {
            "path": NOTED,
            "variable": None,
            "message": "found 14 bytes behind the last variable",
            "severity": "warning",
        },
    ]


def test_warnings_fail_if_that_is_wanted(ds: Run, files: list[str]) -> None:
    assert ds("verify", NOTED).status == 0
    status, _, err = ds("verify", "--strict", NOTED)
    assert (status, err) == (1, "ds verify: the file failed\n")


def test_it_takes_files(ds: Run) -> None:
    status, out, err = ds("verify")
    assert (status, out) == (1, "")
    assert err.startswith("ds verify: invalid number of arguments\nUsage: ds verify ")


@pytest.mark.parametrize("name", sorted(path.name for path in (golden.FOLDER / "corrupt").glob("*.ds")))
def test_every_damaged_file_fails(name: str, ds: Run) -> None:
    status, out, err = ds("verify", "--strict", str(golden.FOLDER / "corrupt" / name))
    assert (status, err) == (1, "ds verify: the file failed\n")
    assert out
