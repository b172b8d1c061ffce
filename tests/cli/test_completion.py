"""`ds --print-completion`: the scripts, run by the shells that are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ds_format
from ds_format.cli import arguments, commands
from ds_format.cli.completion import forms, names

if TYPE_CHECKING:
    from .conftest import Run

Complete = Callable[..., list[str]]

SHELLS = ("bash", "zsh", "fish", "tcsh")


def needs(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"needs {shell}")
    return found


@pytest.fixture
def complete(ds: Run, folder: Path) -> Complete:
    """Completes one of some words in bash, by default the last one."""
    shell = needs("bash")
    script = ds("--print-completion", "bash").out

    def run(*words: str, position: int | None = None) -> list[str]:
        n = len(words) - 1 if position is None else position
        code = f'{script}\nCOMP_WORDS=("$@"); COMP_CWORD={n}; _ds; printf "%s\\n" "${{COMPREPLY[@]}}"'
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

    def test_words_on_the_line_are_not_run(self, complete: Complete, folder: Path) -> None:
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
    assert not re.search("@[A-Z]+@", out)
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
    for words in (["--print-completion"], ["--print-completion", "ksh"], ["--print-completion", "bash", "zsh"]):
        status, out, err = ds(*words)
        assert (status, out) == (1, "")
        assert err.startswith("ds: --print-completion: expected one of bash, zsh, fish, tcsh\n")
    assert ds("print-completion:", "bash") == ds("--print-completion", "bash")


NAMES: tuple[tuple[str, list[str]], ...] = (
    ("cat | grid.nc", ["lat", "lon", "p"]),
    ("| grid.nc", ["lat", "lon", "p"]),
    ("dim | grid.nc", ["lat", "lon"]),
    ("select | grid.nc out.ds", ["lat", "lon", "p", "lat:", "lon:"]),
    ("rename | grid.nc out.ds", ["lat", "lon", "p", "lat:", "lon:", "p:"]),
    ("rename_dim | grid.nc out.ds", ["lat:", "lon:"]),
    ("attrs p | grid.nc", ["units"]),
    ("attrs none | grid.nc", ["lat", "lon", "p", "title"]),
    ("merge | grid.nc out.ds", ["lat", "lon"]),
    ("cat p grid.nc sel: |", ["{"]),
    ("cat p grid.nc sel: { |", ["lat:", "lon:"]),
    ("cat p grid.nc at: { |", ["lat:", "lon:", "p:"]),
    ("select grid.nc out.zds dim: |", ["lat", "lon"]),
    ("select grid.nc out.zds key: |", ["lat", "lon", "p"]),
    ("diff grid.nc b.nc variables: |", ["lat", "lon", "p"]),
    ("diff grid.nc b.nc ignore: |", ["units"]),
    ("select a out layout: |", ["1.0", "2.0.1"]),
    ("select a out checksum: |", ["true", "false"]),
    ("pack a b compression: |", ["store", "deflate"]),
    ("cat grid.nc nope: |", []),
    ("verify | grid.nc", []),
    ("cat | none.nc", []),
    ("cat | damaged.nc", []),
)
"""A command line with the position of the cursor → the names that are offered."""


@pytest.fixture
def grid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of `NAMES`, and the program `ds` on the path."""
    entries = {"lat": {".dims": ["lat"]}, "lon": {".dims": ["lon"]}, "p": {".dims": ["lat", "lon"], "units": "hPa"}}
    data = {"lat": [1.0, 2.0], "lon": [3.0], "p": [[4.0], [5.0]], ".": {**entries, ".": {"title": "T"}}}
    ds_format.write("grid.nc", data)
    ds_format.write("grid.ds", data)
    (folder / "damaged.nc").write_bytes(b"CDF\x01")
    program = folder / "bin" / "ds"
    program.parent.mkdir()
    package = Path(ds_format.__file__).parents[1]
    program.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} -m ds_format "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(("line", "expected"), NAMES, ids=[line for line, _ in NAMES])
@pytest.mark.usefixtures("grid")
def test_names_and_values(line: str, expected: list[str]) -> None:
    words = line.split()
    position = words.index("|")
    words[position] = ""
    command = commands.load(words[0] if words[0] in commands.COMMANDS else commands.DEFAULT)
    assert names(forms(command), words, position) == expected


def test_formats_and_calendars() -> None:
    info = forms(commands.load("info"))
    assert {"netcdf", "csv", "ds"} <= {*names(info, ["info", "a", "format:", ""], 3)}
    assert "360_day" in names("", ["select", "a", "b", "calendar:", ""], 4)


@pytest.mark.usefixtures("grid")
def test_names_in_a_ds_file_need_no_numpy() -> None:
    code = """
import sys
from ds_format.cli import main
main(["--print-completion", "names", "1", "--", "VAR", "cat", "", "grid.ds"])
print("numpy" in sys.modules)
"""
    env = {**os.environ, "PYTHONPATH": str(Path(ds_format.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60, env=env)
    assert done.stdout.split() == ["lat", "lon", "p", "False"]


@pytest.mark.usefixtures("grid")
def test_bash_offers_names(complete: Complete) -> None:
    assert complete("ds", "cat", "la", "grid.nc", position=2) == ["lat"]
    assert "1.0" in complete("ds", "select", "a", "b", "layout", ":", "")
    assert complete("ds", "cat", "p", "grid.nc", "sel", ":", "{", "lo") == ["lon:"]


@pytest.mark.usefixtures("grid")
def test_fish_offers_names_commands_and_options(ds: Run, folder: Path) -> None:
    shell = needs("fish")
    (folder / "script").write_text(ds("--print-completion", "fish").out)
    env = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}

    def offered(line: str) -> list[str]:
        code = f"source script; complete -C {json.dumps(line)}"
        done = subprocess.run([shell, "-c", code], check=True, capture_output=True, text=True, timeout=60, env=env)
        return [row.partition("\t")[0] for row in done.stdout.splitlines()]

    assert "select" in offered("ds sel")
    assert "grid.nc" in offered("ds cat p gri")
    assert "--checksum" in offered("ds verify --ch")
    assert "--checksum" not in offered("ds cat --ch")
    assert {"lat:", "lon:"} <= {*offered("ds cat p grid.nc sel: '{' l")}
    assert {"1.0", "2.0.1"} <= {*offered("ds select grid.nc out.ds layout: ")}


@pytest.mark.usefixtures("grid")
def test_zsh_offers_names(ds: Run, folder: Path) -> None:
    """`_ds` runs with the variables of a completion, and with functions that print in place of those of zsh."""
    shell = needs("zsh")
    (folder / "script").write_text(ds("--print-completion", "zsh").out)

    def offered(words: str, current: int) -> list[str]:
        code = f"""
compdef() {{}}; _describe() {{}}; _files() {{}}; compadd() {{ print -l -- "${{(@P)2}}" }}
source ./script
words=({words}); CURRENT={current}; PREFIX=
_ds
"""
        done = subprocess.run([shell, "-f", "-c", code], check=True, capture_output=True, text=True, timeout=60)
        return done.stdout.split()

    assert offered("ds cat '' grid.nc", 3) == ["lat", "lon", "p"]
    assert offered("ds cat p grid.nc sel: \\{ ''", 7) == ["lat:", "lon:"]
