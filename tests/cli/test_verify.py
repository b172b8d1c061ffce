"""`ds verify`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ds_format import binpickle
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
        f'{NOTED} none warning "found 14 bytes after the last variable"',
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
            "message": "found 14 bytes after the last variable",
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
    assert err.startswith("ds verify: INPUT is missing\nUsage: ds verify ")


@pytest.mark.parametrize("name", sorted(path.name for path in (golden.FOLDER / "corrupt").glob("*.ds")))
def test_every_damaged_file_fails(name: str, ds: Run) -> None:
    status, out, err = ds("verify", "--strict", str(golden.FOLDER / "corrupt" / name))
    assert (status, err) == (1, "ds verify: the file failed\n")
    assert out


@pytest.mark.filterwarnings("always")
def test_folders_and_patterns(ds: Run, files: list[str], folder: Path) -> None:
    inner = folder / "archive" / "2000"
    inner.mkdir(parents=True)
    shutil.copy(BROKEN, inner / "a.ds")
    shutil.copy(files[0], inner / "b.ds")
    (inner / "notes.txt").write_text("notes")
    told = f'archive/2000/a.ds x error "{MESSAGE}"\n'
    failed, out = (
        "ds verify: 1 of 2 files failed\n",
        "archive/2000/notes.txt: left out: neither suffix nor content is known",
    )
    for words in (["archive"], ["archive/**"], ["archive", "archive/2000/a.ds"]):
        assert ds("verify", *words) == (1, told, f"ds verify: warning: {out}\n{failed}")
    assert ds("verify", "archive/*/[ab].ds") == (1, told, failed)
    assert ds("verify", "archive/**/b*") == (0, "", "")
    assert [one["path"] for one in json.loads(ds("verify", "-j", "archive").out)] == ["archive/2000/a.ds"]


def test_folders_and_patterns_without_files(ds: Run, files: list[str], folder: Path) -> None:
    (folder / "empty").mkdir()
    status, out, err = ds("verify", "empty", "no*.ds", files[0])
    assert (status, err) == (1, "ds verify: 2 of 3 files failed\n")
    first, second = out.splitlines()
    assert first.startswith('empty none error "no file in this folder has a known suffix')
    assert second == 'no*.ds none error "no file matches this pattern"'


def test_a_sound_binpickle_file_that_needs_trust_is_a_warning(ds: Run, folder: Path) -> None:
    for value in (print, {"f": print}):
        binpickle.dump(value, "x.bpk")
        status, out, err = ds("verify", "x.bpk")
        assert (status, err) == (0, "") and out.startswith("x.bpk none warning ") and "trusted=True" in out
        assert ds("verify", "--strict", "x.bpk").status == 1
    data = bytearray(Path("x.bpk").read_bytes())
    data[40] ^= 1
    Path("x.bpk").write_bytes(data)
    status, out, _ = ds("verify", "x.bpk")
    assert status == 1 and " error " in out
