"""Random command lines do what they do under the reference."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from ds_format.api import files

from .cases import run, same
from .lines import SETUPS, Lines

N = 250
THEIRS = """
import contextlib, io, json, os, sys, warnings
import ds_format
from ds_format.bin.ds import main
warnings.simplefilter("ignore")
found = []
for folder, words in json.load(sys.stdin):
    os.chdir(folder)
    ds_format.mode, ds_format.output, ds_format.indent = "soft", "pst", True
    sys.argv = ["ds", *words]
    raw = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(raw, "utf-8")) as out, contextlib.redirect_stderr(io.StringIO()):
        try:
            status = main() or 0
        except SystemExit as end:
            status = end.code or 0
        except Exception:
            status = 1
        out.flush()
    found.append([status, raw.getvalue().decode()])
json.dump(found, sys.stdout)
"""


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with the files that the lines read."""
    with contextlib.chdir(tmp_path):
        for line in SETUPS.strip().splitlines():
            assert run(shlex.split(line)[1:]).status == 0
    return tmp_path


def output(folder: Path) -> list[Path]:
    return sorted(folder.glob("out.*"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(2))
def test_command_lines_do_what_they_do_under_the_reference(inputs: Path, reference_python: str, seed: int) -> None:
    lines = Lines(seed)
    every = [lines.line() for _ in range(N)]
    places = []
    for i in range(N):
        pair = inputs / f"ours{i}", inputs / f"theirs{i}"
        for folder in pair:
            folder.mkdir()
        places.append(pair)
    paths = {path.name: str(path) for path in inputs.glob("*.*")}
    words = [[paths.get(word, word) for word in line] for line in every]
    given = json.dumps([(str(theirs), line) for (_, theirs), line in zip(places, words, strict=True)])
    done = subprocess.run(
        [reference_python, "-I", "-c", THEIRS], input=given, capture_output=True, text=True, check=True
    )
    n_refused = 0
    for (ours, theirs), line, told in zip(places, words, json.loads(done.stdout), strict=True):
        with contextlib.chdir(ours):
            result = run(line)
        if result.status and " not found" in result.err:  # a documented difference
            assert (result.status, result.out, output(ours)) == (1, "", []), line
            n_refused += 1
            continue
        if line[0] == "stats" and result.out == "null\n":  # likewise: JSON of nothing
            assert told == [0, ""], line
            continue
        assert [result.status, result.out] == told, (line, result.err)
        assert [path.name for path in output(ours)] == [path.name for path in output(theirs)], line
        for one, other in zip(output(ours), output(theirs), strict=True):
            same(files.read(one), files.read(other))
    assert n_refused < N / 5
