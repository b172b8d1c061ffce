"""The program: help, version, errors, warnings and their exit status; command lines without a command."""

from __future__ import annotations

import errno
import signal
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ds_format._version import __version__
from ds_format.api import files
from ds_format.base.error_text import describe, describe_with_hint, similar_file_hint
from ds_format.cli import commands, process
from ds_format.cli.arguments import Command
from ds_format.errors import FormatError, MissingError

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


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FormatError("field .size", path="a.ds", variable="x"), 'a.ds: variable "x": field .size'),
        (MissingError("nope: variable not found"), "nope: variable not found"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.ds"), "a.ds: File does not exist"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory; `ds reindex` makes it", "a.offsets"),
            "a.offsets: File does not exist; `ds reindex` makes it",
        ),
        (IsADirectoryError(errno.EISDIR, "Is a directory", b"a.ds"), "a.ds: Is a directory"),
        (OSError(errno.ENOSPC, "No space left on device", ".tmp", None, "a.ds"), "a.ds: No space left on device"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError(errno.EBADF, "Bad file descriptor", 5), "Bad file descriptor"),
        (OSError("plain"), "plain"),
        (IndexError("index 9 is\nout of bounds"), "index 9 is out of bounds"),
        (ValueError(), "ValueError"),
        (KeyError("q"), "KeyError: 'q'"),
        (TypeError("no\n  way"), "TypeError: no way"),
        (MemoryError(), "not enough memory"),
        (MemoryError("for 8 GB"), "not enough memory: for 8 GB"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
    ],
)
def test_errors_are_one_line(error: Exception, line: str) -> None:
    assert line == describe(error)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sampel.nc", ": did you mean sample.nc?"),
        ("sample.n", ": did you mean sample.nc?"),
        ("b.nc", ""),
        ("x/sample.n", ""),
    ],
)
def test_a_file_that_is_absent_tells_of_one_with_a_name_like_it(name: str, told: str, tmp_path: Path) -> None:
    for other in ("sample.nc", "a.nc"):
        (tmp_path / other).touch()
    path = str(tmp_path / name)
    assert similar_file_hint(path) == told
    assert describe_with_hint(FileNotFoundError(errno.ENOENT, "No such file or directory", path)) == (
        f"{path}: File does not exist{told}"
    )


def test_names_of_files_that_may_be_meant_do_not_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "sample\x1b[31m.nc").touch()
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", str(tmp_path / "sample[31m.nc"))
    assert "\x1b" not in describe_with_hint(error)
    assert describe_with_hint(error).endswith(r"did you mean sample\x1b[31m.nc?")


@pytest.mark.parametrize(
    ("line", "command", "told"),
    [
        ("selcet F base.ds", "selcet", ", and no variable of base.ds: did you mean select?"),
        ("selct size base.ds", "selct", ", and no variable of base.ds: did you mean select?"),
        ("temperatur base.ds", "temperatur", ", and no variable of base.ds: did you mean temperature?"),
        ("xyz size base.ds", "xyz", ", and no variable of base.ds"),
        ("selct a.nc b.nc", "selct", ": did you mean select?"),
        ("xyz a b", "xyz", ""),
        ("selct", "selct", ": did you mean select?"),
        ("-- ls base.ds", "ls", ", and no variable of base.ds: did you mean ls?"),
    ],
)
def test_an_unknown_command(line: str, command: str, told: str, ds: Run, base: str) -> None:
    before = Path(base).read_bytes()
    status, out, err = ds(*line.split())
    assert (status, out) == (1, "")
    assert err.startswith(f'ds: unknown command "{command}"{told}\nUsage: ds [CMD]')
    assert Path(base).read_bytes() == before


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("base.ds", "temperature\ntime\n"),
        ("temperature base.ds", "temperature\n"),
        ("te* base.ds", "temperature\n"),
        ("base.ds size time", None),
        ("base.ds ls", "temperature\ntime\n"),
        ("-l -- base.ds", "time: 3\ntemperature float64 { time }\ntime int64 { time }\n"),
    ],
)
def test_the_list_is_the_default(line: str, out: str | None, ds: Run, base: str) -> None:
    if out is not None:
        assert ds(*line.split()) == (0, out, "")
    else:  # the command behind a file has that word first
        assert ds(*line.split()).err == "ds size: time: File does not exist\n"


def test_an_option_alone_that_is_misspelt(ds: Run) -> None:
    assert 'ds: unrecognized option "hlep": did you mean help?' in ds("--hlep").err
    assert "ds: expected a command or a file" in ds("-l").err


def test_a_file_that_does_not_exist(ds: Run) -> None:
    for words in (["nope.ds"], ["temperature", "nope.ds"]):
        assert ds(*words) == (1, "", "ds ls: nope.ds: File does not exist\n")


def test_the_layout_of_ds_files(ds: Run, base: str) -> None:
    told = 'ds: the option "version" takes no value, found 2.0.1: to set the layout of a ds file use `layout`\n'
    assert ds("version:", "2.0.1", "select", base, "out.ds").err.startswith(told)
    assert not Path("out.ds").exists()
    for line in (
        "select {} out.ds layout: 2.0.1",
        "layout: 2.0.1 set a: 1 {} out.ds",
        "merge time {} out.ds layout: 2.0.1",
    ):
        assert ds(*line.format(base).split()) == (0, "", "")
        assert Path("out.ds").read_bytes().startswith(b"{")
        assert files.read("out.ds")["time"].tolist() == [1, 2, 3]
    assert ds("select", base, "out.ds", "layout:", "1.0") == (0, "", "")
    assert Path("out.ds").read_bytes().startswith(b"ds-1.0\n")
    assert ds("select", base, "out.nc", "layout:", "2.0.1").err == (
        "ds select: out.nc: layout is not possible with this format\n"
    )
    assert ds("select", base, "out.ds", "layout:", "3").err == "ds select: layout: expected 1.0 or 2.0.1, found 3\n"
