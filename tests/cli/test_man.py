"""The manual pages: what the help tells, as roff without faults."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ds_format.cli import commands
from ds_format.cli import help as explain

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


def test_the_build_writes_them(tmp_path: Path) -> None:
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
