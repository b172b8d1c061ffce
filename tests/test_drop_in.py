"""Scripts written for ds-format 5.0.2 run unchanged, and make what they make under it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .scripts import inputs

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
GOLDEN = HERE / "golden" / "scripts"
NAMES = ("monthly_means", "passes", "tables")


def run(python: str, name: str, folder: Path, *options: str) -> Any:
    """Run a script in a folder with its inputs, and return what it made."""
    inputs.make(folder)
    words = [python, *options, str(SCRIPTS / "run.py"), str(SCRIPTS / f"{name}.py")]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "PYTHONSAFEPATH": "1", "DS_MODE": "soft"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def write_golden(python: str, folder: Path) -> None:
    """Write the files anew: `python -c "from tests.test_drop_in import *; write_golden('...', Path('...'))"`."""
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        made = run(python, name, folder / name, "-I")
        (GOLDEN / f"{name}.json").write_text(json.dumps(made, ensure_ascii=True) + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_script_makes_what_it_makes_under_the_reference(name: str, tmp_path: Path) -> None:
    assert run(sys.executable, name, tmp_path) == golden(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_golden_files_are_what_the_reference_makes(name: str, tmp_path: Path, reference_python: str) -> None:
    assert run(reference_python, name, tmp_path, "-I") == golden(name)


def test_there_is_a_golden_file_for_each_script() -> None:
    helpers = {"__init__", "inputs", "run"}
    assert {path.stem for path in SCRIPTS.glob("*.py")} - helpers == {*NAMES} == {p.stem for p in GOLDEN.glob("*.json")}
