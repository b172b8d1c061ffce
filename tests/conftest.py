"""Shared by all tests: how a run is shaped, the profiles of property tests, and the reference program."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import ds_format
from ds_format.base import modes

from .torch_stand_in import torch_data

ROOT = Path(__file__).parents[1]
__all__ = ["torch_data"]

REFERENCE_VERSION = "5.0.2"
NO_REFERENCE = f"needs --reference-python PATH, a Python with ds-format {REFERENCE_VERSION}"
NO_MOTO = "needs moto, flask and flask-cors, of the dependency group optional"
HAS_MOTO = all(importlib.util.find_spec(name) for name in ("moto", "flask", "flask_cors"))

settings.register_profile("quick", deadline=None, derandomize=True, print_blob=True, max_examples=25)
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("deep", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

MOST_WORKERS = 8
"""Each worker collects all tests, so that more of them gain little."""
NARROWING = ("keyword", "lf", "stepwise")
WATCHING = ("usepdb", "trace")
"""Options of pytest that need the tests in one process."""
MEMORY = Path("/dev/shm")
MEMORY_SIZE = 2_000_000_000
"""Bytes of free space in memory that all tests together need for their files."""


def cases(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that runs a test for each value of an argument, and names the value that fails.

    It replaces `parametrize` where hundreds of cases take a millisecond each, as pytest itself does for a test.
    All cases share the fixtures, and none may skip the others.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            for value in values:
                try:
                    test(**fixtures, **{name: value})
                except pytest.skip.Exception as skipped:
                    raise AssertionError(f"{name} = {value!r} skips the other cases") from skipped
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"{name} = {value!r}")
                    raise

        signature = inspect.signature(test)
        others = [parameter for parameter in signature.parameters.values() if parameter.name != name]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    values = [*values]
    assert values
    return decorate


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--reference-python",
        metavar="PATH",
        help=f"a Python with ds-format {REFERENCE_VERSION}, for the tests that compare with it",
    )
    parser.addoption("--zippy", metavar="DIR", help="the folder that contains the package zippy of zippy-data 0.1.2")
    parser.addoption("--write-documents", action="store_true", help="write the output of code into the documents")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run the whole suite on several cores and without slow tests. Run selected tests as pytest does."""
    # a worker, or a run that a test starts: it must never start workers
    if "PYTEST_XDIST_WORKER" in os.environ or hasattr(config, "workerinput"):
        return
    option = config.option
    tests = Path(__file__).parent
    if any(Path(config.invocation_params.dir, path).resolve() not in {tests, tests.parent} for path in config.args):
        return
    if any(getattr(option, name, None) for name in NARROWING):
        return
    if not option.markexpr:
        option.markexpr = "not slow"
    surround(config)
    if any(getattr(option, name, None) for name in WATCHING) or option.capture == "no":
        return
    if config.pluginmanager.hasplugin("xdist") and option.numprocesses is None and option.dist == "no":
        option.numprocesses = min(MOST_WORKERS, cores())
        option.dist = "worksteal"


def has_memory() -> bool:
    """Return whether tests can write to memory, and load or run what they compile there."""
    if not os.access(MEMORY, os.W_OK):
        return False
    status = os.statvfs(MEMORY)
    return status.f_bavail * status.f_frsize >= MEMORY_SIZE and not status.f_flag & getattr(os, "ST_NOEXEC", 0)


def surround(config: pytest.Config) -> None:
    """Set what makes all tests and the thousands of processes that they start take less, until the end of the run."""
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setenv("OPENBLAS_NUM_THREADS", "1")  # threads that NumPy starts as it is imported, and no test needs
    if "TMPDIR" not in os.environ and has_memory():  # tests flush thousands of files, each in milliseconds on a disk
        patch.setenv("TMPDIR", str(MEMORY))
        patch.setattr(tempfile, "tempdir", None)  # pytest has already used the folder of before
    # Where Python must not write compiled modules next to sources, each process would compile the package again.
    if sys.dont_write_bytecode:
        folder = tempfile.TemporaryDirectory(prefix="ds_format-bytecode-")
        config.add_cleanup(folder.cleanup)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", folder.name)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None]:
    """Collect the tests without the garbage collector, which would traverse them again and again.

    They are not frozen: Hypothesis warns of a generator of random numbers whose referrers `gc` does not find.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_configure_node(node: Any) -> None:
    """Send the selection to a worker, which parses the command line alone and would run slow tests, too."""
    node.workerinput["markexpr"] = node.config.option.markexpr


def pytest_configure(config: pytest.Config) -> None:
    """Select in a worker what the whole run selects."""
    if hasattr(config, "workerinput"):
        config.option.markexpr = config.workerinput["markexpr"]


def lacking(item: pytest.Item) -> str | None:
    """Return why a test is going to be skipped, if its marks and fixtures say so."""
    for mark in item.iter_markers("skipif"):
        if mark.args and mark.args[0] is True:
            return str(mark.kwargs["reason"])
    fixtures = getattr(item, "fixturenames", ())
    if "reference_python" in fixtures and item.config.getoption("reference_python") is None:
        return NO_REFERENCE
    return NO_MOTO if "moto" in fixtures and not HAS_MOTO else None


@pytest.hookimpl(trylast=True)  # slow tests have been left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip one test for each program, package or version that is lacking, and count the other tests as deselected."""
    groups: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if reason := lacking(item):
            groups[reason].append(item)
    others = set()
    for reason, group in groups.items():
        group[0].add_marker(pytest.mark.skip(f"{reason} ({len(group)} tests)"))
        others.update(group[1:])
    if others:
        items[:] = [item for item in items if item not in others]
        config.hook.pytest_deselected(items=[*others])


@pytest.fixture(autouse=True)
def mode_of_the_process() -> Iterator[None]:
    """Reset the mode that a test sets for the whole process."""
    before = [*modes._process]
    yield
    modes._process[:] = before


@pytest.fixture(scope="session")
def reference_python(pytestconfig: pytest.Config) -> str:
    """Return the path of a Python with the reference program."""
    path: str | None = pytestconfig.getoption("reference_python")
    if path is None:
        pytest.skip(NO_REFERENCE)
    code = "import importlib.metadata; print(importlib.metadata.version('ds-format'))"
    version = subprocess.run([path, "-I", "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    assert version == REFERENCE_VERSION, f"--reference-python {path} has ds-format {version}"
    return path


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of 2 MB in a folder."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the sample, and the command `ds` on the path."""
    command = tmp_path / "bin" / "ds"
    command.parent.mkdir()
    package = Path(ds_format.__file__).parents[1]
    command.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} -m ds_format "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    monkeypatch.delenv("DS_MODE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").mkdir()
    for place in (tmp_path, tmp_path / "examples"):  # where pages have it, and where the README has it
        shutil.copy(ROOT / "examples" / "sample.nc", place)
    return tmp_path
