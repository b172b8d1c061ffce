"""attrs, dim, dims, meta, size, type: what the recorded runs do not show."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ds_format.drivers import ds_header

from .conftest import GOLDEN

if TYPE_CHECKING:
    from .conftest import Run

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
    assert ds("-s", *line.split()) == (1, "", f"ds {name}: h.ds: {what} not found\n")
    soft = ds("-t", *line.split())
    assert (soft.status, soft.err) == (0, "")
    for mode in ([], ["-m"]):
        assert ds(*mode, *line.split()) == (0, soft.out, f"ds {name}: warning: {what} not found\n")


@pytest.mark.parametrize(
    "line", ["attrs", "attrs a b c h.ds", "dims a b h.ds", "meta a b h.ds", "size a b h.ds", "type a b h.ds"]
)
def test_wrong_numbers_of_arguments(line: str, ds: Run) -> None:
    result = ds(*line.split())
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"ds {line.split()[0]}: invalid number of arguments\nUsage: ds ")


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
