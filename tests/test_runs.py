"""How `tests/conftest.py` shapes a run: parallel and without slow tests only if the whole suite runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from . import conftest

ROOT = Path(__file__).parents[1]


cleanups: list[Callable[[], object]] = []
"""What runs of `shaped` undo at their end."""


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
        add_cleanup=cleanups.append,
    )
    conftest.pytest_cmdline_main(config)
    return option.numprocesses, option.markexpr


@pytest.fixture(autouse=True)
def three_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setattr(conftest, "cores", lambda: 3)
    yield
    end()


def end() -> None:
    """Undo what runs of `shaped` changed for the tests of the run."""
    while cleanups:
        cleanups.pop()()


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


@pytest.mark.parametrize(
    ("of_user", "size", "expected"), [(None, 0, "memory"), (None, 2**62, None), ("elsewhere", 0, "elsewhere")]
)
def test_files_are_in_memory_if_there_is_space(
    of_user: str | None, size: int, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(conftest, "MEMORY", memory)
    monkeypatch.setattr(conftest, "MEMORY_SIZE", size)
    monkeypatch.delenv("TMPDIR", raising=False)
    if of_user is not None:
        monkeypatch.setenv("TMPDIR", str(tmp_path / of_user))
    shaped(["tests"])
    assert os.environ.get("TMPDIR") == (expected and str(tmp_path / expected))
    if expected == "memory":
        assert tempfile.gettempdir() == str(memory)
    end()
    assert os.environ.get("TMPDIR") == (of_user and str(tmp_path / of_user))


def test_files_are_not_where_nothing_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers may forbid it for shared memory; some tests compile a library."""
    status = SimpleNamespace(f_bavail=2**30, f_frsize=4096, f_flag=0)
    monkeypatch.setattr(conftest, "MEMORY", tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda path: status)
    assert conftest.has_memory()
    status.f_flag = os.ST_NOEXEC
    assert not conftest.has_memory()


def test_processes_keep_bytecode_where_python_must_not_write_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    shaped(["tests"])
    subprocess.run([sys.executable, "-c", "import ds_format.errors"], check=True, cwd=ROOT)
    folder = Path(os.environ["PYTHONPYCACHEPREFIX"])
    assert [*folder.rglob("errors.*.pyc")]
    end()
    assert not folder.exists()
    assert (os.environ["PYTHONDONTWRITEBYTECODE"], "PYTHONPYCACHEPREFIX" in os.environ) == ("1", False)


def run(folder: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run tests in a folder with the `conftest.py` of these tests."""
    tests = folder / "tests"
    tests.mkdir()
    for name in ("__init__.py", "conftest.py", "torch_stand_in.py"):
        shutil.copy(ROOT / "tests" / name, tests)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tests / "test_some.py").write_text(f"import pytest\n\n{code}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    return subprocess.run(
        command, cwd=folder, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )


def test_workers_leave_out_slow_tests(tmp_path: Path) -> None:
    """Each worker selects for itself."""
    pytest.importorskip("xdist")
    code = "def test_quick(): ...\n\n@pytest.mark.slow\ndef test_slow(): raise ValueError\n"
    done = run(tmp_path, code, "-n", "1")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


ABSENT = """
@pytest.mark.skipif(True, reason="needs a program")
class TestProgram:
    @pytest.mark.parametrize("i", range(5))
    def test_parts(self, i): ...
    def test_whole(self): ...

@pytest.mark.parametrize("i", [0, pytest.param(1, marks=pytest.mark.skipif(True, reason="needs a library"))])
def test_library(i): ...
@pytest.mark.skipif(False, reason="needs a program")
def test_both(): ...
def test_reference(reference_python): ...
@pytest.mark.slow
def test_reference_slow(reference_python): ...
def test_reference_quick(reference_python): ...
"""


def test_what_is_absent_skips_one_test(tmp_path: Path) -> None:
    """Slow tests, which are left out before, are not that one."""
    done = run(tmp_path, ABSENT, "-rs", "-n", "0")
    assert "2 passed, 3 skipped, 7 deselected" in done.stdout, done.stdout
    assert "needs --reference-python PATH, a Python with ds-format 5.0.2 (2 tests)" in done.stdout
