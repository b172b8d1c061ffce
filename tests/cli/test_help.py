"""The help and the manual pages: every command and option is in them; the examples are command lines that run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ds_format
from ds_format.api import files
from ds_format.cli import arguments, commands, help as explain, pst
from ds_format.datadings.writer import FileWriter
from ds_format.zds.archiving import unpack

if TYPE_CHECKING:
    from .conftest import Run


COMMANDS = [pytest.param(name, id=name) for name in commands.COMMANDS]


def test_general_help_lists_everything(ds: Run) -> None:
    status, out, err = ds("--help")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("ds: ")
    assert lines[1:3] == ["", "Usage: ds [CMD] [OPTIONS] [ARGS]"]
    assert lines[3].startswith("       ds ")
    for name, entry in commands.COMMANDS.items():
        assert f"  {name:10}  {entry.caption}" in lines
    for option in (*arguments.GENERAL, *arguments.READ, *arguments.WRITE):
        assert any(f"{line} ".startswith(f"  {option.label} ") for line in lines), option.label


@pytest.mark.parametrize("name", COMMANDS)
def test_help_on_a_command(name: str, ds: Run) -> None:
    status, out, err = ds("--help", name)
    assert (status, out, err) == ds(name, "--help") == ds(name, "--help", "a.ds", "-x")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[:2] == [f"{name}: {commands.COMMANDS[name].caption}", ""]
    assert lines[2].startswith("Usage: ds ")
    command = commands.load(name)
    for label in [*(label for label, _ in command.arguments), *(option.label for option in command.options)]:
        assert any(f"{line} ".startswith(f"  {label} ") for line in lines), label


def test_help_on_a_file_is_the_general_help(ds: Run, base: str) -> None:
    assert ds("--help", base) == ds("--help", "nope", base) == ds("--help")


@pytest.mark.parametrize("words", [("--help", "selct"), ("selct", "--help"), ("help", "selct")])
def test_help_on_an_unknown_command(words: tuple[str, ...], ds: Run) -> None:
    status, out, err = ds(*words)
    assert (status, out) == (1, "")
    assert err.startswith('ds: unknown command "selct": did you mean select?\nUsage: ds ')


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_the_options_that_apply(name: str) -> None:
    text, row = explain.text(name), commands.COMMANDS[name]
    assert ("\n  between: " in text) == row.reads_parts
    assert ("\n  time_units: " in text) == row.writes_times
    assert row.writes or not row.writes_times


@pytest.mark.parametrize("name", ["", "select", "cat"])
def test_the_notation_of_arguments_takes_two_lines(name: str) -> None:
    _, _, rest = explain.text(name).partition("\n\nNotation (PST): ")
    lines = rest.partition("\n\n")[0].splitlines()
    assert len(lines) == 2
    told = " ".join(lines)
    for example, value in (
        ("5 1.5e3", [5, 1500.0]),
        ("true false none", [True, False, None]),
        ("{ 0 -1 }", [0, -1]),
        ("units: K", {"units": "K"}),
        ("{ time: 0 }", [{"time": 0}]),
        ("-j", {"j": True}),
    ):
        assert example in told
        assert pst.decode_text(example) == value


@pytest.mark.parametrize("name", ["", *commands.COMMANDS])
def test_lines_fit_a_terminal(name: str) -> None:
    page = explain.text(name)
    assert max(len(line) for line in page.splitlines()) <= 80
    assert page.endswith("\n")
    assert "\n\n\n" not in page


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_command_lines(name: str) -> None:
    command = commands.load(name)
    assert command.examples
    for _, line in command.examples:
        program, *words = shlex.split(line)
        request = commands.read(words)
        assert program == "ds"
        assert (request.command or commands.DEFAULT) == name
        request.check(command.all_options).check_flags()


def test_long_names_stand_on_lines_of_their_own() -> None:
    text = explain._columns([("a" * 30, "about"), ("b", "more")])
    assert text == f"  {'a' * 30}\n     about\n  b  more\n"


NAMES = (
    "data.ds",
    "data.nc",
    "input.ds",
    "input.nc",
    "january.ds",
    "february.ds",
    "run1.ds",
    "run2.ds",
    "run1.nc",
    "a.ds",
    "b.nc",
    "data.msgpack",
    "store.zds",
    "data.bpk",
    "archive/2026/january.nc",
    "archive/february.nc",
)
"""Files that examples read, beside `run2.nc`, which differs from `run1.nc`."""
SILENT = ("compact", "diff", "verify")
"""Commands that print nothing where all is well."""
EXAMPLES = [
    *(("", line) for _, line in explain.page_of().examples),
    *((name, line) for name in commands.COMMANDS for _, line in commands.load(name).examples),
]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples read."""
    folder = tmp_path_factory.mktemp("samples")
    dims = {"time": np.arange(3.0), "lat": np.linspace(-60, 60, 5), "lon": np.linspace(0, 300, 6)}
    dataset: dict[str, Any] = {
        **dims,
        "temperature": np.array([250.0, 275.0, 300.0]),
        "pressure": np.linspace(900, 1000, 90).reshape(3, 5, 6),
        ".": {name: {".dims": [name], "units": "1"} for name in dims},
    }
    for name, names in (("temperature", ["time"]), ("pressure", list(dims))):
        dataset["."][name] = {".dims": names, "units": "K", "long_name": name}
    dataset["."]["time"]["units"] = "hours since 2026-01-01"
    dataset["."]["."] = {"title": "T"}
    (folder / "archive" / "2026").mkdir(parents=True)
    for name in NAMES:
        files.write(folder / name, dataset)
    (folder / "list.txt").write_text(f"{ds_format.digest(dataset)}  data.ds\n")
    (folder / "table.dat").write_text("time,temperature\n0,250\n")
    (folder / "table.csv").write_text("station A1\n\ntime;temperature\n0;250,5\n")
    files.write(folder / "run2.nc", {**dataset, "pressure": dataset["pressure"] + 0.5})
    report = {name: dataset[name] for name in ("time", "temperature", ".")}
    (folder / "st").mkdir()
    for name in ("a", "b"):
        wind = {".dims": ["time"], "units": "m s-1"}
        files.write(
            folder / "st" / f"{name}.nc",
            {**report, "station": name, "wind": np.array([8.0, 9.0, 10.0]), ".": {**dataset["."], "wind": wind}},
        )
        with FileWriter(folder / f"{name}.msgpack") as writer:
            writer.write({"key": name})
    unpack(folder / "store.zds", folder / "weather")
    ds_format.pack(folder / "st" / "*.nc", folder / "reports.zip")
    return folder


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_each_command_has_two(name: str) -> None:
    examples = commands.load(name).examples
    assert len(examples) >= 2
    assert len({line for _, line in examples}) == len(examples)
    for told, _ in examples:
        assert told.endswith((":", "?"))


@pytest.mark.parametrize("line", [line for _, line in EXAMPLES], ids=lambda line: line)
def test_no_shell_changes_it(line: str) -> None:
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", line)
    assert not re.search(r"[{}*?\[\]<>|&;$~#!]", bare)


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Return inodes and times of the files in a folder, which change if a file is replaced."""
    every = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in every}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_it_runs_in_a_shell(command: str, line: str, samples: Path, folder: Path) -> None:
    if " -o " in line:
        pytest.importorskip("matplotlib")
    if command == "sql":
        pytest.importorskip("duckdb")
    program = folder / "bin" / "ds"
    program.parent.mkdir()
    package = Path(ds_format.__file__).parents[1]
    program.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} -m ds_format "$@"\n')
    program.chmod(0o755)
    work = shutil.copytree(samples, folder / "work")
    before = contents(work)
    env = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    done = subprocess.run(["sh", "-c", line], cwd=work, env=env, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.returncode in ((0, 1) if command == "diff" else (0,))
    if done.returncode or line.split()[1] not in SILENT:
        assert done.stdout.strip() or contents(work) != before


def test_braces_in_quotes_suit_every_shell(samples: Path, folder: Path) -> None:
    for shell in ("bash", "dash", "zsh", "fish", "tcsh"):
        if shutil.which(shell):
            line = f"{sys.executable} -m ds_format cat -n time data.ds sel: '{{ time: {{ 0 2 }} }}'"
            env = {**os.environ, "PYTHONPATH": str(Path(ds_format.__file__).parents[1])}
            done = subprocess.run([shell, "-c", line], cwd=samples, env=env, capture_output=True, text=True, timeout=60)
            assert (done.stdout, done.stderr) == ("0.000000\n2.000000\n", ""), shell


PAGES = dict(explain.manual_pages())
MACROS = {"TH", "SH", "TP", "PP", "RS", "RE", "br"}
ROOT = Path(__file__).parents[2]


def test_there_is_one_for_the_program_and_for_each_command() -> None:
    assert list(PAGES) == ["ds.1", *(f"ds-{name}.1" for name in commands.COMMANDS)]


@pytest.mark.parametrize("name", PAGES)
def test_each_is_well_formed(name: str) -> None:
    lines = PAGES[name].splitlines()
    assert lines[0].startswith(f".TH {name.removesuffix('.1').upper()} 1 ".replace("-", "\\-"))
    assert lines[1] == ".SH NAME"
    assert PAGES[name].isascii()
    for line in lines:
        assert line
        assert not line.startswith("'")
        if line.startswith("."):
            assert line[1:].split(" ")[0] in MACROS, line
        assert line.count("\\fB") == line.count("\\fR"), line
        assert not re.search(r"\\(?![-e&(f])", line), line
    headings = [line[4:] for line in lines if line.startswith(".SH ")]
    assert headings[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
    assert headings[-3:] == ["EXAMPLES", "EXIT STATUS", "SEE ALSO"]
    assert len({*headings}) == len(headings)
    assert lines.count(".RS 4") == lines.count(".RE")


def plain(roff: str) -> str:
    """Return the text that a page shows, without its layout."""
    for escape, character in {"\\-": "-", "\\(aq": "'", "\\(ha": "^", "\\(ga": "`", "\\(ti": "~", "\\(dq": '"'}.items():
        roff = roff.replace(escape, character)
    return re.sub(r"\\f[BR]|\\&", "", roff).replace("\\e", "\\")


@pytest.mark.parametrize("name", ["", *commands.COMMANDS])
def test_each_tells_what_the_help_tells(name: str) -> None:
    page = explain.page_of(name)
    shown = plain(PAGES[f"ds-{name}.1" if name else "ds.1"])
    told = [*page.usage, *page.about]
    told += [text for rows in page.sections.values() for row in rows for text in row]
    told += [text for row in page.examples for text in row]
    for text in told:
        assert f"{text}\n" in shown


def test_those_of_the_repository_are_current() -> None:
    """`make man` writes them. A build installs these: it cannot run the package when it cross-compiles."""
    assert {path.name: path.read_text() for path in (ROOT / "man").iterdir()} == PAGES


def test_the_module_writes_them(tmp_path: Path) -> None:
    folder = tmp_path / "share" / "man1"
    subprocess.run(
        [sys.executable, "-m", "ds_format.cli.help", str(folder)],
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert {path.name: path.read_text() for path in folder.iterdir()} == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_roff_programs_have_no_complaints(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(PAGES[name])
    found = {
        "mandoc": ["-T", "lint", "-W", "error"],
        "groff": ["-man", "-ww", "-z", "-Tutf8"],
        "man": ["--warnings", "-l"],
    }
    used = [program for program in found if shutil.which(program)]
    if not used:
        pytest.skip("needs mandoc, groff or man")
    for program in used[:1]:
        words = [program, *found[program], str(tmp_path / name)]
        done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
        assert done.stderr == ""


def test_they_are_made_where_only_numpy_is_installed(tmp_path: Path) -> None:
    """As in the environment that pip builds a wheel in."""
    code = """
import runpy, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("cftime", "h5py", "matplotlib", "msgpack", "netCDF4"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
sys.argv = ["man", sys.argv[1]]
runpy.run_module("ds_format.cli.help", run_name="__main__")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, cwd=ROOT)
    assert {path.name for path in tmp_path.iterdir()} == {*PAGES}
