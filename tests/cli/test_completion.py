"""`ds --print-completion`: the scripts, run by the shells that are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ds_format.cli import arguments, commands

if TYPE_CHECKING:
    from .conftest import Run

Complete = Callable[..., list[str]]

SHELLS = ("bash", "zsh", "tcsh")


def needs(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"needs {shell}")
    return found


@pytest.fixture
def complete(ds: Run, folder: Path) -> Complete:
    """Completes the last of some words as bash does."""
    shell = needs("bash")
    script = ds("--print-completion", "bash").out

    def run(*words: str) -> list[str]:
        code = f'{script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ds; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(
            [shell, "--norc", "-c", code, "bash", *words], check=True, capture_output=True, text=True, timeout=60
        )
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return run


@pytest.fixture
def files(folder: Path) -> None:
    for name in ("data.ds", "data.nc", "data.txt", "a file.ds", "dollar$x.ds"):
        (folder / name).touch()
    (folder / "deep").mkdir()
    (folder / "deep" / "more.nc").touch()


class TestBash:
    def test_commands(self, complete: Complete) -> None:
        assert set(complete("ds", "")) >= {*commands.COMMANDS, "-l", "--help", "sel:"}
        assert complete("ds", "sel") == ["select", "sel:"]
        assert complete("ds", "-j", "mer") == ["merge"]

    @pytest.mark.parametrize("name", commands.COMMANDS)
    def test_options_of_each_command(self, name: str, complete: Complete) -> None:
        command = commands.load(name)
        found = complete("ds", name, "")
        for option in (*command.options, *arguments.GENERAL, *arguments.READ, *arguments.WRITE):
            assert (f"{option.name}:" if option.value else option.label) in found
        assert not {*commands.COMMANDS} & {*found}
        assert complete("ds", name, "--noi") == ["--noindent"]
        assert all(word.startswith("-") for word in complete("ds", name, "-"))

    @pytest.mark.usefixtures("files")
    def test_files_by_suffix(self, complete: Complete) -> None:
        assert sorted(complete("ds", "ls", "d")) == ["data.ds", "data.nc", "deep", "dollar$x.ds"]
        assert sorted(complete("ds", "da")) == ["data.ds", "data.nc"]
        assert complete("ds", "ls", "deep/m") == ["deep/more.nc"]
        assert complete("ds", "ls", "a ") == ["a file.ds"]
        assert complete("ds", "ls", "x") == [""]

    def test_what_stands_on_the_line_is_not_run(self, complete: Complete, folder: Path) -> None:
        for word in ("$(touch run)", "`touch run`", "'; touch run", "a\\"):
            complete("ds", "ls", word)
        assert not (folder / "run").exists()

    def test_it_is_registered(self, ds: Run) -> None:
        shell = needs("bash")
        code = ds("--print-completion", "bash").out + "\ncomplete -p ds"
        done = subprocess.run([shell, "--norc", "-c", code], check=True, capture_output=True, text=True, timeout=60)
        assert done.stdout == "complete -F _ds ds\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_it(shell: str, ds: Run, folder: Path) -> None:
    program = needs(shell)
    status, out, err = ds("--print-completion", shell)
    assert (status, err) == (0, "")
    (folder / "script").write_text(out)
    words = [program, "-f", "script"] if shell == "tcsh" else [program, "-n", "script"]
    done = subprocess.run(words, check=True, capture_output=True, timeout=60)
    assert done.stderr == b""


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_in_it(shell: str, ds: Run) -> None:
    out = ds("--print-completion", shell).out
    assert not re.search("@[A-Z]", out)
    for name in commands.COMMANDS:
        assert name in out
        for option in commands.load(name).options:
            assert option.name in out or option.value
    assert all(suffix in out for suffix in ("ds", "nc4", "netcdf"))


def test_zsh_describes_what_it_offers(ds: Run) -> None:
    out = ds("--print-completion", "zsh").out
    assert "'ls:List the variables of a file.'" in out
    assert "'sel\\::" in out
    assert "'\\''" in out
    assert out.count("'") % 2 == 0


def test_other_shells_are_refused(ds: Run) -> None:
    for words in (["--print-completion"], ["--print-completion", "fish"], ["--print-completion", "bash", "zsh"]):
        status, out, err = ds(*words)
        assert (status, out) == (1, "")
        assert err.startswith("ds: --print-completion: expected one of bash, zsh, tcsh\n")
    assert ds("print-completion:", "bash") == ds("--print-completion", "bash")
