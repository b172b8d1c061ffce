"""How `tests/conftest.py` shapes a run: parallel and without slow tests only if the whole suite runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from . import conftest

ROOT = Path(__file__).parents[1]


def shaped(args: list[str], *, has_xdist: bool = True, **options: Any) -> tuple[int | None, str]:
    """Return the number of workers and the expression of marks of a run."""
    option = SimpleNamespace(**{
        "markexpr": "",
        "numprocesses": None,
        "dist": "no",
        "capture": "fd",
        "keyword": "",
        **options,
    })
    config: Any = SimpleNamespace(
        option=option,
        args=args,
        invocation_params=SimpleNamespace(dir=ROOT),
        pluginmanager=SimpleNamespace(hasplugin=lambda name: has_xdist),
    )
    conftest.pytest_cmdline_main(config)
    return option.numprocesses, option.markexpr


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setattr(conftest, "cores", lambda: 3)


@pytest.mark.parametrize("args", [["tests"], [str(ROOT / "tests")], ["."]])
def test_the_whole_suite_is_parallel_and_leaves_out_slow_tests(args: list[str]) -> None:
    assert shaped(args) == (3, "not slow")
    assert shaped(args, markexpr="slow") == (3, "slow")


def test_a_worker_starts_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-xdist clears the number of workers in each worker, which would start workers without end."""
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert shaped(["tests"]) == (None, "")


@pytest.mark.parametrize("args", [["tests/kernels"], ["tests/test_runs.py"], ["tests/test_runs.py::test_x"]])
def test_selected_paths_run_as_usual(args: list[str]) -> None:
    assert shaped(args) == (None, "")


def test_selected_names_run_as_usual() -> None:
    assert shaped(["tests"], keyword="one") == (None, "")
    assert shaped(["tests"], lf=True) == (None, "")


@pytest.mark.parametrize("options", [{"usepdb": True}, {"trace": True}, {"capture": "no"}, {"has_xdist": False}])
def test_a_run_that_is_watched_has_one_process(options: dict[str, Any]) -> None:
    assert shaped(["tests"], **options) == (None, "not slow")


def test_a_given_number_of_workers_is_kept() -> None:
    assert shaped(["tests"], numprocesses=0) == (0, "not slow")


def test_workers_leave_out_slow_tests(tmp_path: Path) -> None:
    """Each worker selects for itself."""
    pytest.importorskip("xdist")
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("__init__.py", "conftest.py", "torch_stand_in.py"):
        shutil.copy(ROOT / "tests" / name, tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tests / "test_two.py").write_text(
        "import pytest\n\ndef test_quick(): ...\n\n@pytest.mark.slow\ndef test_slow(): raise ValueError\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout
