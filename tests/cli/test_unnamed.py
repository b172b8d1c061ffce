"""Command lines without a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ds_format.api import files

if TYPE_CHECKING:
    from .conftest import Run


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
    told = 'ds: the option "version" has no value, found 2.0.1: the layout of ds files is called layout\n'
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
