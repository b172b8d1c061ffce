"""ls, attrs, dim, dims, meta, size, type: cases beyond the recorded runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ds_format import drivers
from ds_format.cli import main
from ds_format.drivers.ds import header as ds_header

from .conftest import GOLDEN

if TYPE_CHECKING:
    from .conftest import Run


META: dict[str, dict[str, Any]] = {
    ".": {"title": "T"},
    "temp": {".dims": ["time", "lat"], ".size": [3, 2], ".type": "float32", "units": "K", "valid": np.float32(0.5)},
    "time": {".dims": ["time"], ".size": [3], ".type": "float64", "units": "d", "\\.n": [1, 2]},
    "\\.hidden": {".size": [2, 4], ".type": "int8"},
    "empty": {".dims": ["time", "run"], ".size": None, ".type": "bool"},
    "a b": {".dims": [], ".size": [], ".type": None},
}


@pytest.fixture
def meta(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Sets the metadata of every file."""

    def use(found: dict[str, Any]) -> None:
        monkeypatch.setattr(drivers, "meta", lambda path: found)

    use(META)
    return use


@pytest.mark.usefixtures("meta")
@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("ls f", '.hidden\n"a b"\nempty\ntemp\ntime\n'),
        ("ls .* f", ".hidden\n"),
        ("ls .hidden f", ".hidden\n"),
        ("ls time te* time f", "time\ntemp\ntime\n"),
        ("ls -t T* f", ""),
        ("ls -t nope f", ""),
        ("ls -tF te* time f", "time\n"),
        ("ls [ab]* f", '"a b"\n'),
        ("ls -t ti* f a: { units .n valid .size nope }", "time d { 1 2 } none none none\n"),
        ("ls temp f a: { units valid }", "temp K 0.500000\n"),
        ("ls time f a: none", "time\n"),
        ("ls time f a: { }", "time\n"),
        ("ls -l .hidden f", ".hidden_1: 2 .hidden_2: 4\n.hidden int8 { .hidden_1 .hidden_2 }\n"),
        ("ls -l empty f", "time: none run: none\nempty bool { time run }\n"),
        ("ls -l empty temp f", "time: 3 run: none lat: 2\nempty bool { time run }\ntemp float32 { time lat }\n"),
        ("ls -l 'a b' f", '{{ }}\n"a b" none { }\n'),
        ("ls -tl nope f", "{{ }}\n"),
        ("ls -l time f a: units", "time: 3\ntime float64 { time } d\n"),
        ("ls sel: { time: 0 } time f", "time\n"),
    ],
)
def test_lines(line: str, out: str, ds: Run) -> None:
    words = [word.strip("'").replace("_", " ") for word in line.replace("'a b'", "'a_b'").split()]
    assert ds(*words) == (0, out, "")


@pytest.mark.usefixtures("meta")
def test_json_lines(ds: Run) -> None:
    out = ds("ls", "-lj", "--noindent", "time", "empty", "f", "a:", ".n").out
    assert [json.loads(line) for line in out.splitlines()] == [
        {"time": 3, "run": None},
        ["time", "float64", ["time"], [1, 2]],
        ["empty", "bool", ["time", "run"], None],
    ]


def test_a_file_without_variables(meta: Callable[[dict[str, Any]], None], ds: Run) -> None:
    meta({".": {}})
    assert ds("ls", "f") == (0, "", "")
    assert ds("ls", "-l", "f") == (0, "{{ }}\n", "")


@pytest.mark.usefixtures("meta")
@pytest.mark.filterwarnings("default")
def test_a_missing_variable_by_mode(ds: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ds("ls", "-t", "nope", "time", "f") == (0, "time\n", "")
    for mode in ([], ["-m"]):
        told = 'ds ls: warning: variable "nope" not found\n'
        assert ds("ls", *mode, "nope", "time", "f") == (0, "time\n", told)
    told = 'ds ls: warning: attribute "unit" not found: did you mean units?\n'
    assert ds("ls", "temp", "f", "a:", "unit") == (0, "temp none\n", told)
    assert ds("ls", "-s", "nope", "time", "f") == (1, "", 'ds ls: f: variable "nope" not found\n')
    assert ds("ls", "-sF", "tim*", "f") == (1, "", 'ds ls: f: variable "tim*" not found: did you mean time?\n')
    assert ds("ls", "-smt", "nope", "f").status == 1
    assert ds("ls", "-mt", "nope", "time", "f").err.startswith("ds ls: warning: ")
    assert ds("ls", "nope", "tmie", "f").err == (
        'ds ls: f: variable "nope" not found; variable "tmie" not found: did you mean time?\n'
    )
    monkeypatch.setenv("DS_MODE", "strict")
    assert ds("ls", "nope", "f").status == 1
    assert ds("ls", "-t", "nope", "f") == (0, "", "")
    monkeypatch.setenv("DS_MODE", "soft")
    assert ds("ls", "nope", "f") == (0, "", "")
    monkeypatch.setenv("DS_MODE", "bogus")
    assert ds("ls", "nope", "f") == (1, "", 'ds ls: f: variable "nope" not found\n')


def test_no_file_is_a_usage_error(ds: Run) -> None:
    result = ds("ls")
    assert result[:2] == (1, "")
    assert result.err.splitlines()[0] == "ds ls: INPUT is missing"
    assert result.err.splitlines()[1].startswith("Usage: ds [ls] ")
    assert result.err.splitlines()[-1] == "Use `ds ls --help` for help."


def test_files_that_look_like_numbers(base: str, folder: Path, ds: Run) -> None:
    (folder / base).rename(folder / "1.ds")
    (folder / "1.ds").rename(folder / "2020")
    assert ds("ls", "2020") == (0, "temperature\ntime\n", "")  # recognised by its content
    (folder / "2021").write_text("text")
    assert "2021" in ds("ls", "2021").err
    assert "invalid" not in ds("ls", "2021").err
    assert "nan" in ds("ls", "nan").err


def test_a_damaged_file_is_named(folder: Path, ds: Run) -> None:
    (folder / "bad.ds").write_bytes(b"ds-1.0\n{bad\n")
    result = ds("ls", "bad.ds")
    assert result.status == 1
    assert result.err.startswith("ds ls: bad.ds: ")
    assert result.err.count("\n") == 1


def test_names_that_are_not_utf8(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (folder / "a.ds").write_bytes(b'ds-1.0\n{"\\udcff": {".size": [], ".type": "int8"}, ".": {}}\n1')
    assert main(["ls", "a.ds"]) == 0
    assert capsysbinary.readouterr().out == b"\xff\n"


HEADER = (
    'ds-1.0\n{"\\\\.x": {".dims": ["t", "k"], ".size": [2, 3], ".type": "int8", "\\\\.a": 5},'
    ' "y": {".size": [4], ".type": "int8"}, "e": {".size": null, ".type": "float64"},'
    ' "bad": {".size": [-1], ".type": "int8", "units": "m"}, ".": {"n": 1, "none": 2}}\n'
)


@pytest.fixture(autouse=True)
def header(folder: Path) -> None:
    (folder / "h.ds").write_bytes(HEADER.encode() + bytes(10))


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("attrs h.ds", 'n: 1 "none": 2\n'),
        ("attrs none h.ds", 'n: 1 "none": 2\n'),
        ("attrs none none h.ds", 'n: 1 "none": 2\n'),
        ('attrs none "none" h.ds', "2\n"),
        ("attrs .x h.ds", ".a: 5\n"),
        ("attrs .x .a h.ds", "5\n"),
        ("attrs bad none h.ds", "units: m\n"),
        ("attrs -tF .* h.ds", "{{ }}\n"),
        ("dim t h.ds", "2\n"),
        ("dim [t] h.ds", "2\n"),
        ("dim y_1 h.ds", "4\n"),
        ("dim -t nope h.ds", "0\n"),
        ("dims h.ds", "k t y_1\n"),
        ("dims none h.ds -z", "t: 2 k: 3 y_1: 4\n"),
        ("dims .x h.ds", "t k\n"),
        ("dims y -zj --noindent h.ds", '{"y_1": 4}\n'),
        ("dims e h.ds", "{ }\n"),
        ("size .x h.ds", "2 3\n"),
        ("size -j e h.ds", "null\n"),
        ("type .x h.ds", "int8\n"),
        ("type e h.ds", "float64\n"),
        ("type bad h.ds", "int8\n"),
        ("meta .x h.ds", ".dims: { t k } .size: { 2 3 } .type: int8 \\\\.a: 5\n"),
        ("meta --noindent bad h.ds", ".size: { -1 } .type: int8 units: m\n"),
        ("meta . h.ds", 'n: 1 "none": 2\n'),
        ("meta -tF y* h.ds", "{{ }}\n"),
    ],
)
def test_output(line: str, out: str, ds: Run) -> None:
    assert ds(*line.split()) == (0, out, "")


@pytest.mark.parametrize("command", ["attrs", "dims", "meta", "size", "type"])
def test_one_variable_is_meant(command: str, ds: Run) -> None:
    result = ds(command, "*", "h.ds")
    assert (result.status, result.out) == (1, "")
    assert result.err == f'ds {command}: h.ds: more than one variable is matching the pattern "*"\n'


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("attrs nope h.ds", 'variable "nope"'),
        ("attrs y nope h.ds", 'attribute "nope"'),
        ("dim nope h.ds", 'dimension "nope"'),
        ("dims nope h.ds", 'variable "nope"'),
        ("meta nope h.ds", 'variable "nope"'),
        ("size nope h.ds", 'variable "nope"'),
        ("type n* h.ds", 'variable "n*"'),
    ],
)
@pytest.mark.filterwarnings("always")
def test_missing_names_by_mode(line: str, what: str, ds: Run) -> None:
    name = line.split()[0]
    for mode in ([], ["-m"], ["-s"]):
        assert ds(*mode, *line.split()) == (1, "", f"ds {name}: h.ds: {what} not found\n")
    soft = ds("-t", *line.split())
    assert (soft.status, soft.err) == (0, "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("attrs", "INPUT is missing"),
        ("dims", "INPUT is missing"),
        ("size", "VAR and INPUT are missing"),
        ("dim h.ds", "DIM is missing: found only the file h.ds; `ds dims h.ds` lists possible names"),
        ("type x", "INPUT is missing: found only x, which is not a file"),
        ("attrs a b c h.ds", "found 4 arguments, expected at most [VAR] [ATTR] INPUT"),
        ("dims a b h.ds", "found 3 arguments, expected at most [VAR] INPUT"),
        ("meta a b h.ds", "found 3 arguments, expected at most [VAR] INPUT"),
        ("size a b h.ds", "found 3 arguments, expected VAR INPUT"),
        ("type a b h.ds", "found 3 arguments, expected VAR INPUT"),
    ],
)
def test_wrong_numbers_of_arguments(line: str, message: str, ds: Run) -> None:
    result = ds(*line.split())
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"ds {line.split()[0]}: {message}\nUsage: ds ")


def test_entries_are_those_of_the_file(folder: Path) -> None:
    entries = ds_header.entries(folder / "h.ds")
    assert list(entries) == ["\\.x", "y", "e", "bad", "."]
    assert entries["bad"] == {".size": [-1], ".type": "int8", "units": "m"}


def test_metadata_of_other_formats_begin_with_attributes(folder: Path, ds: Run) -> None:
    shutil.copy(GOLDEN / "inputs" / "base.ds", folder)
    assert ds("select", "base.ds", "base.nc").status == 0
    out = ds("meta", "--noindent", "base.nc").out
    assert out == (
        '.: {{ title: "Temperature data" }} temperature: {{ long_name: temperature units: celsius '
        ".dims: { time } .size: { 3 } .type: float64 }} time: {{ long_name: time units: s "
        ".dims: { time } .size: { 3 } .type: int64 }}\n"
    )
