"""Recorded runs of ds-format 5.0.2: the same files, words, output and exit status here, but for `DIFFERENCES`."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ds_format.api import files

from .cases import Result, run, same
from .differences import DIFFERENCES

GOLDEN = Path(__file__).parents[1] / "golden" / "cli"
CASES = json.loads((GOLDEN / "cli_cases.json").read_text())
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], Path]:
    """Makes the files that a case starts with, once for all cases that start with them."""

    @functools.cache
    def prepare(lines: tuple[str, ...]) -> Path:
        folder = tmp_path_factory.mktemp("case")
        with contextlib.chdir(folder):
            for line in lines:
                if line.startswith("ds "):
                    run(shlex.split(line)[1:])
                else:
                    line = line.replace("python -c", f"{shlex.quote(sys.executable)} -c", 1)
                    subprocess.run(["bash", "-c", line], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
        return folder

    return prepare


@pytest.mark.filterwarnings("always", "ignore:offsets in the header are wrong")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_recorded_run(
    case: dict[str, Any], folder: Path, prepared: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(prepared(tuple(case["files"])), folder, dirs_exist_ok=True)
    for name, source in case.get("inputs", {}).items():
        shutil.copy(GOLDEN / "inputs" / source, folder / name)
    for name, value in case.get("env", {}).items():
        monkeypatch.setenv(name, value)
    result = run(case["argv"])
    known = DIFFERENCES.get(case["name"])
    assert result.status == (case["exit"] if known is None else known.exit), result.err
    expected = case["stdout"] if known is None else known.stdout
    assert expected is None or result.out == expected
    check_messages(result, case["argv"])
    check_outputs(case, folder)


def check_messages(result: Result, argv: list[str]) -> None:
    """Check that stderr has warnings after a success, and one line or a usage after an error."""
    if result.status == 0:
        assert all(": warning: " in line for line in result.err.splitlines())
        return
    if any("v" in word for word in argv if word.startswith("-") and word[1:].isalpha()):
        assert result.err.startswith("Traceback ")
        return
    assert result.err.startswith("ds")
    assert ": " in result.err
    _, *more = result.err.splitlines()
    assert not more or (more[0].startswith("Usage: ds ") and more[-1].endswith("--help` for help."))


def check_outputs(case: dict[str, Any], folder: Path) -> None:
    """Check the files that a run makes against those that were recorded, or that are right."""
    known = DIFFERENCES.get(case["name"])
    if known is not None:
        for name, dataset in known.outputs.items():
            same(files.read(folder / name), dataset)
        assert not known.exit or not any((folder / name).exists() for name in case.get("outputs", ()))
        return
    for name, encoded in case.get("outputs", {}).items():
        if encoded is None:
            assert files.read(folder / name)
            continue
        recorded = base64.b64decode(encoded)
        if name.endswith((".csv", ".tsv")):
            assert (folder / name).read_bytes() == recorded
            continue
        copy = folder / f"recorded-{name}"
        copy.write_bytes(recorded)
        same(files.read(folder / name), files.read(copy))


def test_the_document_tells_of_each_difference() -> None:
    document, _, _ = (ROOT / "docs" / "differences.md").read_text().partition("\n## Python\n")
    rows = [line for line in document.splitlines() if line.startswith("| ")]
    told = [name for row in rows for name in re.findall("`(.+?)`", row.rstrip("|").rpartition("|")[2])]
    assert sorted(told) == sorted(DIFFERENCES)
    assert set(told) <= {case["name"] for case in CASES}
