"""set, rm, rename, rename_dim, merge: cases beyond the recorded runs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ds_format.api import files

from ..same import same_data

if TYPE_CHECKING:
    from .conftest import Run

TEMPERATURE = {".dims": ["time"], "long_name": "temperature", "units": "celsius"}
TIME = {".dims": ["time"], "long_name": "time", "units": "s"}


def changed(ds: Run, line: str) -> dict[str, Any]:
    """Run a command line, and return the dataset in out.ds."""
    assert ds(*shlex.split(line)) == (0, "", "")
    return files.read("out.ds")


def meta(d: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in d["."][name].items() if not key.startswith(".") or key == ".dims"}


def masked_text(*values: str | None) -> Any:
    """Return text with None as missing."""
    text = np.empty(len(values), object)
    text[:] = values
    return np.ma.MaskedArray(text, [value is None for value in values])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("none none { 1 a }", ["1", "a"]),
        ("none none { 1.50 none true x }", masked_text("1.50", None, "true", "x")),
        ("none none { { a 1 } { 2 b } }", [["a", "1"], ["2", "b"]]),
        ('none none { "1" }', ["1"]),
        ("none none { true none }", np.ma.MaskedArray([True, False], [False, True])),
        ("int8 none { 1.5 -2.7 }", np.array([1, -2], "i1")),
        ("float32 none 0.1", np.float32(0.1)),
        ("bool none { 0 2 }", np.array([False, True])),
        ("none none { 18446744073709551615 }", np.array([2**64 - 1], "u8")),
        ("none none none", None),
        ("none none -5", np.int64(-5)),
        ("none none { nan inf }", np.array([np.nan, np.inf])),
    ],
)
def test_set_data(words: str, expected: Any, ds: Run, folder: Path) -> None:
    found = changed(ds, f"set x {words.replace(chr(34), chr(92) + chr(34))} none out.ds")["x"]
    assert same_data(found, expected)


def test_set_several(ds: Run, base: str) -> None:
    d = changed(ds, f"set {{ t* units: X }} {{ z int8 none 5 a: {{ 1 2 }} }} title: T tit*: U n: none {base} out.ds")
    assert meta(d, "temperature") == {**TEMPERATURE, "units": "X"}
    assert meta(d, "time") == {**TIME, "units": "X"}
    assert d["z"] == np.int8(5)
    assert meta(d, "z")["a"] == [1, 2]
    assert d["."]["."] == {"title": "U", "n": None}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("set none int8 base.ds out.ds", "VAR: none is the dataset"),
        ("set x foo base.ds out.ds", 'variable "x": invalid type foo'),
        ("set x int8 none 300 base.ds out.ds", 'base.ds: variable "x": 300 does not fit int8'),
        ("set x int8 none { { 1 2 } { 3 } } base.ds out.ds", 'base.ds: variable "x": '),
        ("set time none { a b } base.ds out.ds", 'out.ds: variable "time": '),
        ("set a: 1 base.ds out.ds time_units: x", 'out.ds: the format ds has no option "time_units"'),
        ("set a: 1 base.ds out.nc calendar: 5", "calendar: invalid type"),
        ("set a: 1 base.ds out.xyz", "out.xyz: unknown file format"),
        ("rm none base.ds out.ds", "VAR: none is the dataset"),
        ("rm -s nope base.ds out.ds", 'base.ds: variable "nope" not found'),
        ("rm -s time nope base.ds out.ds", 'base.ds: attribute "nope" not found'),
        ("rename t*: x base.ds out.ds", 'base.ds: more than one variable is matching the pattern "t*"'),
        ("-s rename nope units: x base.ds out.ds", 'base.ds: variable "nope" not found'),
        ("-s rename time nope: x base.ds out.ds", 'base.ds: attribute "nope" not found'),
        ("rename time: { a } base.ds out.ds", "time: invalid type"),
        ("rename_dim time: none base.ds out.ds", "time: invalid type: expected a name, found none"),
        ("-s rename_dim nope: x base.ds out.ds", 'base.ds: dimension "nope" not found'),
        ("merge time base.ds out.ds new: 5", "new: invalid type"),
        ("merge time base.ds out.ds variables: { 5 }", "variables: invalid type"),
        ("merge time base.ds nope.ds out.ds", "nope.ds: File does not exist"),
    ],
)
@pytest.mark.usefixtures("base")
def test_errors(line: str, message: str, ds: Run, folder: Path) -> None:
    status, out, err = ds(*line.split())
    assert (status, out) == (1, "")
    assert err.partition(": ")[2].startswith(message)
    assert err.count("\n") == 1
    assert not (folder / "out.ds").exists()


@pytest.mark.parametrize(
    "line",
    [
        "set base.ds",
        "set { } base.ds out.ds",
        "set x none none 5 6 base.ds out.ds",
        "set { x none none 5 } y base.ds out.ds",
        "rm base.ds out.ds",
        "rm a b c base.ds out.ds",
        "rename temperature base.ds out.ds",
        "rename time: x { temperature units: u } base.ds out.ds",
        "rename { temperature } { time } base.ds out.ds",
        "rename_dim base.ds out.ds",
        "rename_dim { time: t } base.ds out.ds",
        "merge time",
    ],
)
@pytest.mark.usefixtures("base")
def test_words_that_are_no_command_line(line: str, ds: Run) -> None:
    result = ds(*line.split())
    assert (result.status, result.out) == (1, "")
    assert "\nUsage: ds " in result.err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("select temperatur", 'variable "temperatur" not found: did you mean temperature?'),
        ("select base.ds", 'variable "base.ds" not found: it is a file, and this command reads only one file'),
        ("select nope nix", 'variable "nope" not found; variable "nix" not found'),
        ("select nope: 0", 'dimension "nope" not found'),
        ("select temperature tim: 0", 'dimension "tim" not found: did you mean time?'),
        ("set x none", 'variable "x" not found'),
        ("set -F t* units: K", 'variable "t*" not found'),
        ("set { nope units: K } { nix units: K }", 'variable "nope" not found; variable "nix" not found'),
        ("rm nope", 'variable "nope" not found'),
        ("rm t* nope", 'attribute "nope" not found'),
        ("rm none titel", 'attribute "titel" not found: did you mean title?'),
        ("rename nope: x", 'variable "nope" not found'),
        ("rename t* nope: x", 'attribute "nope" not found'),
        ("rename_dim nope: x", 'dimension "nope" not found'),
        ("merge -F t* sel: { nope: 0 }", 'dimension "nope" not found'),
        ("merge x*", 'dimension "x*" not found'),
    ],
)
@pytest.mark.parametrize("mode", [[], ["-t"]])
def test_nothing_to_change_is_refused(line: str, told: str, mode: list[str], ds: Run, base: str) -> None:
    before = Path(base).read_bytes()
    where = "" if line == "merge x*" else f"{base}: "
    assert ds(*mode, *line.split(), base, base) == (1, "", f"ds {line.split()[0]}: {where}{told}\n")
    assert Path(base).read_bytes() == before
    assert [path.name for path in Path().iterdir()] == [base]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("select temperature nope", 'variable "nope" not found'),
        ("set { temperature units: K } { temperatur units: K }", 'variable "temperatur" not found: did you mean '),
        ("rm { time nope }", 'variable "nope" not found'),
        ("rm t* { units unit }", 'attribute "unit" not found: did you mean units?'),
        ("rename nope: x time: t", 'variable "nope" not found'),
        ("rename_dim nope: x time: t", 'dimension "nope" not found'),
        ("merge run variables: { time nope }", 'variable "nope" not found'),
    ],
)
@pytest.mark.filterwarnings("always")
def test_what_does_not_exist_beside_what_does_is_a_warning(line: str, told: str, ds: Run, base: str) -> None:
    words = line.split()
    status, out, err = ds(*words, base, "out.ds")
    assert (status, out) == (0, "")
    assert err.startswith(f"ds {words[0]}: warning: {told}")
    assert err.count("\n") == 1
    assert ds("-t", *words, base, "out.ds") == (0, "", "")
    assert ds("-s", *words, base, "out.ds").status == 1


@pytest.mark.filterwarnings("error")
def test_names_that_a_command_makes_are_no_mistake(ds: Run, base: str) -> None:
    assert ds("merge", "run", base, base, "out.ds") == (0, "", "")
    assert ds("set", "new", "none", "none", "5", base, "out.ds") == (0, "", "")
    assert ds("set", "new:", "5", base, "out.ds") == (0, "", "")


def test_rm(ds: Run, base: str) -> None:
    assert sorted(changed(ds, f"rm {{ temp* nope }} {base} out.ds -t")) == [".", "time"]
    d = changed(ds, f"rm 't*' {{ units 'long*' }} {base} out.ds")
    assert [meta(d, "temperature"), meta(d, "time")] == [{".dims": ["time"]}] * 2
    assert changed(ds, f"rm none 't*' {base} out.ds")["."]["."] == {}


def test_rename(ds: Run, base: str) -> None:
    d = changed(ds, f"rename 'te*': q time: none {base} out.ds")
    assert sorted(d) == [".", "q"]
    d = changed(ds, f"rename {{ t* units: u }} {{ none title: none }} {base} out.ds")
    assert [meta(d, "time")["u"], meta(d, "temperature")["u"], d["."]["."]] == ["s", "celsius", {}]
    d = changed(ds, f"rename {{ time temperature }} units: long_name long_name: units {base} out.ds")
    assert meta(d, "time") == {".dims": ["time"], "long_name": "s", "units": "time"}


def test_rename_dim(ds: Run) -> None:
    assert ds(*shlex.split("set x none { a b } { { 1 2 3 } } none x.ds")).status == 0
    assert meta(changed(ds, "rename_dim a: b b: a x.ds out.ds"), "x")[".dims"] == ["b", "a"]
    assert ds("rename_dim", "?:", "c", "x.ds", "out.ds", "-F").status == 1


def test_merge(ds: Run, base: str) -> None:
    d = changed(ds, f"merge 't*' {base} {base} out.ds range: {{ time: {{ 1 none }} }} jd: false variables: none")
    assert d["time"].tolist() == [2, 3, 2, 3]
    d = changed(ds, f"merge --overwrite run {base} {base} out.ds variables: {{ time }}")
    assert (d["time"].shape, d["temperature"].shape) == ((2, 3), (3,))
    Path("out.ds").unlink()
    assert changed(ds, "merge time out.ds").keys() == {"."}
    refused = ds("merge", "time", base)
    assert refused.status == 1
    assert "there are no inputs" in refused.err
    assert "temperature" in files.read(base)


@pytest.mark.parametrize("suffix", [".ds", ".nc"])
def test_merged_times_keep_units_and_calendar_of_the_first(suffix: str, ds: Run, folder: Path) -> None:
    for i, units in enumerate(("hours since 2000-01-01", "days since 2000-01-02")):
        line = f"set t float64 t {{ 0 12 }} units: '{units}' calendar: noleap none {i}{suffix}"
        assert ds(*shlex.split(line)).status == 0
    assert ds("merge", "t", f"0{suffix}", f"1{suffix}", f"out{suffix}") == (0, "", "")
    d = files.read(f"out{suffix}")
    assert d["t"].tolist() == [0.0, 12.0, 24.0, 312.0]
    assert {key: d["."]["t"][key] for key in ("units", "calendar")} == {
        "units": "hours since 2000-01-01",
        "calendar": "noleap",
    }
    assert ds("merge", "t", f"0{suffix}", f"1{suffix}", f"out{suffix}", "jd:", "true") == (0, "", "")
    d = files.read(f"out{suffix}")
    assert d["."]["t"]["units"].startswith("days since -4713-11-24 12:00")


def test_units_of_times(ds: Run, folder: Path) -> None:
    line = "set t float64 t { 0 1 2 } units: 'days since 2000-01-01' none t.nc"
    assert ds(*shlex.split(line)).status == 0
    for command in ("select", "set a: 1", "set t long_name: time"):
        words = f"{command} t.nc out.nc time_units: 'hours since 2000-01-01' calendar: standard"
        assert ds(*shlex.split(words)) == (0, "", "")
        d = files.read("out.nc")
        assert d["t"].tolist() == [0.0, 24.0, 48.0]
        assert (d["."]["t"]["units"], d["."]["t"]["calendar"]) == ("hours since 2000-01-01", "standard")
