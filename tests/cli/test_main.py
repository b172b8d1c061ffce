"""The program: help, version, errors, warnings and their exit status."""

from __future__ import annotations

import signal
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from ds_format._version import __version__
from ds_format.cli import commands, process
from ds_format.cli.arguments import Command

if TYPE_CHECKING:
    from .conftest import Run


@pytest.fixture
def behave(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces what commands do."""

    def use(run: Any) -> None:
        command = Command(("ds x",), "", (), (), (), run)
        monkeypatch.setattr(commands, "load", lambda name: command)

    return use


def failing(error: BaseException) -> Any:
    def run(request: Any) -> Any:
        raise error

    return run


@pytest.mark.parametrize(
    "words", [["--version"], ["ls", "--version"], ["--version", "nope.ds"], ["select", "--version", "a"]]
)
def test_version(words: list[str], ds: Run) -> None:
    assert ds(*words) == (0, f"{__version__}\n", "")


def test_nothing_to_do_is_a_usage_error(ds: Run) -> None:
    for words in ([], ["-j"], ["--"], ["-l"]):
        result = ds(*words)
        assert result[:2] == (1, "")
        assert "\nUsage: ds [CMD]" in result.err
        assert result.err.endswith("Use `ds --help` for help.\n")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (IndexError("index 9 is out of bounds"), "ds ls: index 9 is out of bounds\n"),
        (KeyError("q"), "ds ls: KeyError: 'q'\n"),
        (MemoryError(), "ds ls: not enough memory\n"),
        (RecursionError("deep"), "ds ls: nested too deeply\n"),
        (AssertionError(), "ds ls: AssertionError\n"),
    ],
)
def test_an_error_is_one_line(error: Exception, line: str, behave: Any, ds: Run) -> None:
    behave(failing(error))
    assert ds("a.ds") == (1, "", line)


def test_a_traceback_only_if_asked_for(behave: Any, ds: Run) -> None:
    behave(failing(ValueError("wrong")))
    assert ds("a.ds").err == "ds ls: wrong\n"
    lines = ds("-v", "a.ds").err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-2:] == ["ValueError: wrong", "ds ls: wrong"]


def test_brackets_nested_beyond_reason(ds: Run) -> None:
    assert ds(*["{"] * 5000, "a.ds") == (1, "", "ds: nested too deeply\n")


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line(behave: Any, ds: Run) -> None:
    def run(request: Any) -> list[str]:
        warnings.warn("x: left\n out", stacklevel=1)
        return ["done"]

    shown = warnings.showwarning
    behave(run)
    for _ in range(2):
        assert ds("a.ds") == (0, "done\n", "ds ls: warning: x: left out\n")
    assert warnings.showwarning is shown


def test_warnings_can_be_errors(behave: Any, ds: Run) -> None:
    def run(request: Any) -> list[str]:
        warnings.warn("x: left out", stacklevel=1)
        return ["done"]

    behave(run)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ds("a.ds") == (1, "", "ds ls: x: left out\n")


@pytest.mark.parametrize(
    ("error", "number"),
    [(KeyboardInterrupt(), signal.SIGINT), (BrokenPipeError(), process.PIPE), (process.Terminated(15), signal.SIGTERM)],
)
def test_the_end_by_a_signal_is_quiet(error: BaseException, number: int, behave: Any, ds: Run) -> None:
    behave(failing(error))
    assert ds("a.ds") == (128 + number, "", "")
