"""`ds hash`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ds_format
from ds_format.api import files

if TYPE_CHECKING:
    from .conftest import Run


@pytest.fixture
def pair(base: str) -> tuple[str, str]:
    """A file, and its conversion."""
    ds_format.convert(base, "copy.json")
    return base, "copy.json"


def test_a_line_for_each_file(ds: Run, pair: tuple[str, str]) -> None:
    expected = ds_format.digest(pair[0])
    assert ds("hash", *pair) == (0, f"{expected}  base.ds\n{expected}  copy.json\n", "")
    status, out, err = ds("hash", "-j", "--noindent", *pair)
    assert (status, err) == (0, "")
    assert [*map(json.loads, out.splitlines())] == [{"path": path, "hash": expected} for path in pair]


def test_variables(ds: Run, pair: tuple[str, str]) -> None:
    found = ds_format.digests(pair[0])
    lines = [f"{found[key]} {key} base.ds\n" for key in found]
    assert ds("hash", "-l", "base.ds") == (0, "".join(lines), "")
    status, out, _ = ds("hash", "-l", "-j", "copy.json")
    assert (status, json.loads(out)["variables"]) == (0, {key: found[key] for key in ds_format.digests("copy.json")})


def test_unpacked(ds: Run, folder: Path) -> None:
    files.write("a.nc", {"x": np.array([2, 4], "i2"), ".": {"x": {"scale_factor": 0.5}}})
    files.write("a.ds", {"x": np.array([1.0, 2.0])})
    assert ds("hash", "--unpack", "a.nc").out.split()[0] == ds("hash", "a.ds").out.split()[0]
    assert ds("hash", "a.nc").out.split()[0] != ds("hash", "a.ds").out.split()[0]


def test_files_that_cannot_be_read(ds: Run, pair: tuple[str, str]) -> None:
    Path("cut.ds").write_bytes(Path("base.ds").read_bytes()[:-4])
    status, out, err = ds("hash", "nothing.ds", "cut.ds", "base.ds")
    assert (status, out) == (1, f"{ds_format.digest('base.ds')}  base.ds\n")
    first, second = err.splitlines()
    assert first == "ds hash: nothing.ds: File does not exist"
    assert second.startswith("ds hash: cut.ds: variable ")


def test_folders_and_patterns(ds: Run, pair: tuple[str, str], folder: Path) -> None:
    (folder / "archive" / "in").mkdir(parents=True)
    for path in pair:
        shutil.copy(path, "archive/in")
    assert ds("hash", "archive") == ds("hash", "archive/**") == ds("hash", "archive/in/base.ds", "archive/in/copy.json")
    assert ds("hash", "no*.ds") == (1, "", "ds hash: no*.ds: no file matches this pattern\n")


@pytest.mark.filterwarnings("always")
def test_a_list(ds: Run, pair: tuple[str, str]) -> None:
    lines = ds("hash", *pair).out
    Path("list.txt").write_text(lines)
    assert ds("hash", "--check", "list.txt") == (0, "base.ds: OK\ncopy.json: OK\n", "")
    assert ds("hash", "--check", "-q", "list.txt") == (0, "", "")
    d = files.read("base.ds")
    d["."]["."]["title"] = "other"
    files.write("base.ds", d)
    Path("list.txt").write_text(f"# made today\n{lines}{lines.upper()[:64]} *nothing.ds\nwrong line\n\n")
    status, out, err = ds("hash", "--check", "list.txt")
    assert (status, out) == (1, "base.ds: FAILED\ncopy.json: OK\nnothing.ds: FAILED open or read\n")
    assert err.splitlines() == [
        "ds hash: nothing.ds: File does not exist",
        "ds hash: warning: list.txt: malformed lines: 2 of 5, expected a hash of 64 digits, two blanks and a path",
        "ds hash: warning: list.txt: files not read: 1 of 3",
        "ds hash: warning: list.txt: files with another hash: 1 of 3",
    ]


@pytest.mark.filterwarnings("always")
def test_malformed_lines_alone_do_not_fail(ds: Run, pair: tuple[str, str]) -> None:
    lines = ds("hash", "base.ds").out
    Path("list.txt").write_bytes(f"{lines.rstrip()}\r\n{lines.upper().replace('BASE.DS', 'base.ds')}x\n".encode())
    status, out, err = ds("hash", "--check", "list.txt")
    assert (status, out) == (0, "base.ds: OK\nbase.ds: OK\n")
    assert "malformed lines: 1 of 3" in err
    Path("list.txt").write_text("nothing\n")
    status, out, err = ds("hash", "--check", "list.txt")
    assert (status, out) == (1, "")
    assert err.endswith("list.txt: found no line with a hash and a path\n")
    assert ds("hash", "--check", "absent.txt") == (1, "", "ds hash: absent.txt: File does not exist\n")


@pytest.mark.parametrize("words", [[], ["-"], ["--", "-"]], ids=str)
def test_standard_input(words: list[str], ds: Run, pair: tuple[str, str]) -> None:
    lines = ds("hash", *pair).out
    env = {**os.environ, "PYTHONPATH": str(Path(ds_format.__file__).parents[1])}
    command = [sys.executable, "-m", "ds_format", "hash", "--check", *words]
    done = subprocess.run(command, input=lines, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "base.ds: OK\ncopy.json: OK\n", "")


def test_odd_names(ds: Run, folder: Path, base: str) -> None:
    names = ["a b.ds", "line\nfeed.ds", "back\\slash.ds", "ž.ds"]
    for name in names:
        shutil.copy(base, name)
    out = ds("hash", "--", *names).out
    expected = ds_format.digest(base)
    shown = ["a b.ds", "line\\nfeed.ds", "back\\\\slash.ds", "ž.ds"]
    marks = ["", "\\", "\\", ""]
    assert out == "".join(f"{mark}{expected}  {name}\n" for mark, name in zip(marks, shown, strict=True))
    Path("list.txt").write_text(out)
    lines = [f"{mark}{name}: OK\n" for mark, name in zip(marks, shown, strict=True)]
    assert ds("hash", "--check", "list.txt") == (0, "".join(lines), "")


def test_the_lines_are_those_of_sha256sum(folder: Path, base: str) -> None:
    """Its --check reads them: the hash of the bytes is another one, which is all that it says."""
    program = shutil.which("sha256sum")
    if program is None:
        pytest.skip("sha256sum is not installed")
    Path("list.txt").write_text(f"{ds_format.digest(base)}  {base}\n")
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run([program, "-c", "list.txt"], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "base.ds: FAILED\n")


def test_wrong_arguments(ds: Run) -> None:
    assert ds("hash").err.startswith("ds hash: FILE is missing\nUsage: ds hash ")
    assert ds("hash", "--check", "-l").err == "ds hash: --check prints a line for each file: leave out -l and -j\n"
