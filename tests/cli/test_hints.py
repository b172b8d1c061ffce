"""Suggestions for wrong command lines."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ds_format

from ..formats import SUFFIXES

if TYPE_CHECKING:
    from .conftest import Run

pytestmark = pytest.mark.filterwarnings("default")
NOWHERE = "memory://none/x.nc"


@pytest.fixture
def field(folder: Path) -> str:
    """A file with a variable along two dimensions."""
    meta = {"time": {".dims": ["time"], "units": "days since 2000-01-01"}, "v": {".dims": ["time", "x"]}}
    ds_format.write("f.ds", {"time": np.arange(3), "v": np.zeros((3, 2)), ".": meta})
    return "f.ds"


@pytest.fixture
def sweeps(folder: Path) -> str:
    """A file with variables in groups."""
    ds_format.write("g.ds", {"sweep_0/DBZ": [1, 2], "sweep_1/DBZ": [3, 4], "sweep_1/VEL": [5, 6]})
    return "g.ds"


@pytest.mark.parametrize("line", ["help", "-h", "help plot"])
def test_help(line: str, ds: Run) -> None:
    command = line.partition(" ")[2]
    expected = ds("--help", command) if command else ds("--help")
    assert ds(*line.split()) == expected
    assert expected.status == 0
    assert expected.out


def test_help_on_no_command(ds: Run) -> None:
    status, out, err = ds("help", "nosuch")
    assert (status, out) == (1, "")
    assert err.startswith('ds: unknown command "nosuch"\n')
    assert ds("help", "help") == ds("help")
    ds_format.write("h.ds", {"help": [1]})
    assert ds("help", "h.ds") == (0, "help\n", "")


def test_h_stays_an_option_of_cat_alone(ds: Run, base: str) -> None:
    assert ds("ls", "-h", base).err.startswith('ds ls: unrecognized option "h"')
    assert ds("cat", "-h", "time", base).status == 0


@pytest.mark.parametrize(
    "line",
    [
        *("info {}", "ls {}", "{}", "cat x {}", "stats x {}", "plot x {}", "meta {}", "attrs {}", "select {} out.ds"),
        *("diff {} base.ds", "merge time {} base.ds out.ds", "rm x {} out.ds", "rename a: b {} out.ds"),
    ],
)
def test_nothing_is_at_an_address(line: str, ds: Run, base: str) -> None:
    pytest.importorskip("fsspec")
    command = line.split()[0]
    label = "ls" if command == "{}" else command
    status, out, err = ds(*line.format(NOWHERE).split())
    assert (status, out) == (2 if label == "diff" else 1, "")
    assert err.startswith(f"ds {label}: {NOWHERE}: ")
    assert not Path("out.ds").exists()


def test_commands_that_change_containers_take_local_paths(ds: Run) -> None:
    for line in (
        *("pack {} x.zds", "pack x {}", "unpack {} x", "reindex {}", "inspect {}", "reindex x {}"),
        *("records delete {} a", "records put {} a -- 1", "records merge {} x y"),
    ):
        address = "https://me:secret@a.b/x.zds?token=secret"
        status, out, err = ds(*line.format(address).split())
        label, rest = line.split()[0], "this command works on local files only: copy the file first"
        assert (status, out, err) == (1, "", f"ds {label}: https://a.b/x.zds: {rest}\n")
    assert ds("pack", "nothing", "x.zds") == (1, "", "ds pack: nothing: File does not exist\n")


def test_addresses_are_not_written(ds: Run, base: str) -> None:
    message = "web servers are read only: write a local file, and upload it with a program for this server"
    assert ds("select", base, "http://b/x.ds").err == f"ds select: http://b/x.ds: {message}\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_folder_of_the_output_does_not_exist(suffix: str, ds: Run, base: str) -> None:
    path = f"nodir/x{suffix}"
    message = f"{path}: the folder nodir does not exist\n"
    for line in (f"select time {base} {path}", f"merge time {base} {path}", f"rm temperature {base} {path}"):
        assert ds(*line.split()) == (1, "", f"ds {line.split()[0]}: {message}")
    assert not Path("nodir").exists()


def test_the_folder_behind_a_link_does_not_exist(ds: Run, base: str) -> None:
    Path("link.ds").symlink_to("gone/x.ds")
    folder = Path("gone").absolute()
    assert ds("select", base, "link.ds").err == f"ds select: link.ds: the folder {folder} does not exist\n"


@pytest.mark.parametrize("command", ["plot v", "cat v", "stats v"])
def test_a_position_along_a_dimension(command: str, ds: Run, field: str) -> None:
    label = command.split()[0]
    for words, meant in (
        (["time:", "0"], "sel: { time: 0 }"),
        (["time:", "{", "0", "1", "}"], "sel: { time: { 0 1 } }"),
        (["time:", "0.5"], "at: { time: 0.500000 }"),
        (["time:", "2000-01-02"], "at: { time: 2000-01-02 }"),
    ):
        status, out, err = ds(*command.split(), field, *words)
        assert (status, out) == (1, "")
        assert err.startswith(f'ds {label}: unrecognized option "time": did you mean {meant}?\nUsage: ds {label} ')
    err = ds(*command.split(), field, "nope:", "0").err
    assert err.startswith(f'ds {label}: unrecognized option "nope": did you mean sel: {{ nope: 0 }}?\n')
    err = ds(*command.split(), field, "time_unit:", "x").err
    assert err.startswith(f'ds {label}: unrecognized option "time_unit": did you mean time_units?\n')


def test_what_is_meant_is_accepted(ds: Run, field: str) -> None:
    assert ds("cat", "v", field, *["sel:", "{", "time:", "0", "}"]).status == 0
    assert ds("cat", "v", field, *["at:", "{", "time:", "2000-01-02", "}"]).status == 0


@pytest.mark.parametrize(
    "line",
    [
        *("select v time: 0 f.ds", "select v f.ds", "select v time f.ds", "select f.ds", "select time: 0 f.ds"),
        *("rm v f.ds", "rm f.ds", "rename a: b f.ds", "rename v a: b f.ds", "set v units: K f.ds"),
        "rename_dim x: y f.ds",
    ],
)
def test_the_output_is_missing(line: str, ds: Run, field: str) -> None:
    before = Path(field).read_bytes()
    label = line.split()[0]
    status, out, err = ds(*line.split())
    assert (status, out) == (1, "")
    assert err.startswith(f"ds {label}: OUTPUT is missing: found only f.ds, expected INPUT OUTPUT\nUsage: ds ")
    assert Path(field).read_bytes() == before


def test_an_existing_output_is_not_taken_for_the_input(ds: Run, field: str) -> None:
    shutil.copy(field, "old.ds")
    assert ds("select", "nope.ds", "old.ds").err == "ds select: nope.ds: File does not exist\n"
    assert ds("set", "title:", "x", "none", "old.ds").status == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("set f.ds title: x o.ds", "found title: between INPUT and OUTPUT: put arguments before INPUT"),
        ("rename f.ds v: w o.ds", "found v: between INPUT and OUTPUT: put arguments before INPUT"),
        ("select compresion: zlib f.ds o.nc", 'unrecognized option "compresion": did you mean compression?'),
        ("select f.ds compresion: zlib o.nc", 'unrecognized option "compresion": did you mean compression?'),
        ("select v layout: 2.0.1 coords: 5 f.ds o.ds", 'the option "coords" takes no value, found 5'),
        ("rename_dim f.ds o.ds", "OLD: NEW is missing: found only f.ds o.ds"),
        ("rename v f.ds o.ds", "OLD: NEW is missing: found only v"),
        ("rm f.ds o.ds", "VAR is missing: found only f.ds o.ds"),
        ("rm v a b f.ds o.ds", "found 3 arguments before INPUT, expected at most VAR ATTR: put several in braces"),
        ("set title: x v f.ds o.ds", "found v after braces or attributes: expected VAR first, or { VARIABLE... }"),
        ("set { units: K } f.ds o.ds", "VAR is missing: found only units: K"),
        ("set v none time 1 2 f.ds o.ds", "found 5 arguments for a variable, expected at most VAR TYPE DIMS DATA"),
        ("merge time", "OUTPUT is missing: found only time"),
        ("merge", "DIM and OUTPUT are missing"),
        ("select", "INPUT and OUTPUT are missing"),
        ("select nope", "INPUT or OUTPUT is missing: found only nope"),
    ],
)
def test_what_is_missing_or_misplaced(line: str, message: str, ds: Run, field: str) -> None:
    label = line.split()[0]
    status, out, err = ds(*line.split())
    assert (status, out) == (1, "")
    assert err.startswith(f"ds {label}: {message}")
    assert "\nUsage: ds " in err
    assert not Path("o.ds").exists()


def test_a_position_between_input_and_output_selects(ds: Run, field: str) -> None:
    assert ds("select", field, "time:", "0", "o.ds").status == 0
    assert ds_format.read("o.ds")["v"].shape == (2,)


def test_a_variable_in_a_group(ds: Run, sweeps: str) -> None:
    meant = 'variable "DBZ" not found: did you mean sweep_0/DBZ?'
    for command in ("plot", "cat", "stats", "meta", "attrs", "type", "size", "dims", "ls"):
        assert ds(command, "DBZ", sweeps) == (1, "", f"ds {command}: g.ds: {meant}\n")
    for command in ("select", "rm"):
        assert ds(command, "DBZ", sweeps, "o.ds") == (1, "", f"ds {command}: g.ds: {meant}\n")
    assert ds("cat", "VEL", sweeps).err == 'ds cat: g.ds: variable "VEL" not found: did you mean sweep_1/VEL?\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("stat v f.ds", 'unknown command "stat", and no variable of f.ds: did you mean stats?'),
        ("pllot v f.ds", 'unknown command "pllot", and no variable of f.ds: did you mean plot?'),
        ("sett time f.ds other.ds", 'unknown command "sett", and no variable of other.ds: did you mean set?'),
    ],
)
def test_a_near_command_instead_of_a_list(line: str, message: str, ds: Run, field: str) -> None:
    shutil.copy(field, "other.ds")
    status, out, err = ds(*line.split())
    assert (status, out) == (1, "")
    assert err.startswith(f"ds: {message}\nUsage: ds [CMD]")


def test_a_variable_called_like_a_command_is_listed(ds: Run) -> None:
    ds_format.write("s.ds", {"stat": [1], "v": [2]})
    assert ds("stat", "v", "s.ds") == (0, "stat\nv\n", "")


@pytest.mark.parametrize("command", ["cat", "plot", "stats", "type", "size"])
def test_the_variable_is_missing(command: str, ds: Run, field: str) -> None:
    status, out, err = ds(command, field)
    assert (status, out) == (1, "")
    expected = f"ds {command}: VAR is missing: found only the file f.ds; `ds ls f.ds` lists possible names\nUsage: ds "
    assert err.startswith(expected)
    err = ds(command, "v").err
    assert err.startswith(f"ds {command}: INPUT is missing: found only v, which is not a file\nUsage: ds ")


def test_the_dimension_is_missing(ds: Run, field: str) -> None:
    err = ds("dim", field).err
    assert err.startswith("ds dim: DIM is missing: found only the file f.ds; `ds dims f.ds` lists possible names\n")


@pytest.mark.parametrize("other", ["cut.ds", "link.ds"])
def test_a_cut_file_is_not_equal_to_itself(other: str, ds: Run, field: str) -> None:
    Path("cut.ds").write_bytes(Path(field).read_bytes()[:-8])
    Path("link.ds").symlink_to("cut.ds")
    status, out, err = ds("diff", "cut.ds", other)
    assert (status, out) == (2, "")
    message = 'cut.ds: variable "v": .size [3, 2]: 6 values need 48 bytes at .offset 24, but the file has 40\n'
    assert err == f"ds diff: {message}"
    assert ds("diff", field, field) == (0, "", "")
    with pytest.raises(ds_format.errors.FormatError, match="the file has 40"):
        ds_format.diff("cut.ds", other)


def test_a_cut_header(ds: Run, field: str) -> None:
    data = Path(field).read_bytes()
    end = data.index(b"\n", 7)
    for size in (3, 6, 7, 8, end // 2, data.rindex(b"}", 0, end)):
        Path("cut.ds").write_bytes(data[:size])
        message = f"cut.ds: the header ends after {size} bytes: the file is truncated\n"
        for command in ("ls", "info", "meta"):
            assert ds(command, "cut.ds") == (1, "", f"ds {command}: {message}")
        assert ds("select", "cut.ds", "o.ds").err == f"ds select: {message}"
        assert ds("diff", "cut.ds", "cut.ds") == (2, "", f"ds diff: {message}")


def test_the_file_without_units_is_named(ds: Run) -> None:
    for i, units in enumerate(({"units": "K"}, {}, {"units": "degC"})):
        ds_format.write(f"{i}.ds", {"t": [i], "x": [1.0], ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t"], **units}}})
    message = "variable \"x\": merged although units differ: 'K', none in 1.ds, 'degC'"
    assert ds("merge", "t", "0.ds", "1.ds", "2.ds", "o.ds") == (0, "", f"ds merge: warning: {message}\n")
    with pytest.warns(UserWarning, match=message):
        ds_format.read_many(["0.ds", "1.ds", "2.ds"], dim="t")
    every = [ds_format.read(f"{i}.ds") for i in range(3)]
    with pytest.warns(UserWarning, match="'K', none in dataset 2, 'degC'"):
        ds_format.merge(every, "t")


@pytest.mark.parametrize(
    "line",
    [
        *(
            "select layout: 2.0.1 f.ds o.ds",
            "select v layout: 2.0.1 time: 0 f.ds o.ds",
            "select f.ds layout: 2.0.1 o.ds",
        ),
        *("rename layout: 2.0.1 v: w f.ds o.ds", "rename v: w layout: 2.0.1 f.ds o.ds"),
        *("rename v: w f.ds layout: 2.0.1 o.ds", "rename v units: u layout: 2.0.1 f.ds o.ds"),
        *("rename_dim x: y layout: 2.0.1 f.ds o.ds", "rename_dim layout: 2.0.1 x: y f.ds o.ds"),
        *("rm v layout: 2.0.1 f.ds o.ds", "set v units: K f.ds layout: 2.0.1 o.ds", "merge layout: 2.0.1 x f.ds o.ds"),
    ],
)
def test_options_are_accepted_anywhere(line: str, ds: Run) -> None:
    meta = {"v": {".dims": ["time", "x"], "units": "m"}, "time": {".dims": ["time"]}}
    ds_format.write("f.ds", {"v": np.ones((2, 3)), "time": [1, 2], ".": meta})
    assert ds(*line.split()) == (0, "", "")
    assert not Path("o.ds").read_bytes().startswith(b"ds-1.0")


def test_options_of_reading_directly_after_the_command(ds: Run, field: str) -> None:
    words = ["between:", "{", "time:", "{", "2000-01-02", "none", "}", "}"]
    assert ds("select", *words, field, "o.ds") == (0, "", "")
    assert (
        ds_format.read("o.ds")["time"].tolist()
        == ds_format.read(field, between={"time": ("2000-01-02", None)})["time"].tolist()
    )
    assert len(ds_format.read("o.ds")["time"]) < len(ds_format.read(field)["time"])


def test_an_option_with_an_integer_is_a_position_if_there_is_such_a_dimension(ds: Run) -> None:
    ds_format.write("l.ds", {"x": [1.0, 2.5], ".": {"x": {".dims": ["level"]}}})
    ds_format.write("n.ds", {"x": [1.0, 2.5], ".": {"x": {".dims": ["n"]}}})
    assert ds("select", "level:", "1", "l.ds", "o.nc") == (0, "", "")
    assert ds_format.read("o.nc")["x"] == 2.5
    assert ds("select", "digits:", "4", "n.ds", "p.nc") == (0, "", "")
    assert ds_format.read("p.nc")["x"].tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("select f.ds some", "some: this is a folder: name a file in it, as some/f.ds"),
        ("set title: x none some", "some: this is a folder: name a file in it, as some/new.ds"),
        ("rm v f.ds some/", "some/: this is a folder: name a file in it, as some/f.ds"),
        ("merge time f.ds some", "some: this is a folder: name a file in it, as some/merged.ds"),
    ],
)
def test_a_folder_as_output(line: str, message: str, ds: Run, field: str) -> None:
    Path("some").mkdir()
    assert ds(*line.split()) == (1, "", f"ds {line.split()[0]}: {message}\n")


def test_a_variable_called_like_an_option_is_renamed(ds: Run) -> None:
    ds_format.write("s.ds", {"layout": [1]})
    assert ds("rename", "layout:", "page", "s.ds", "s.ds") == (0, "", "")
    assert "page" in ds_format.read("s.ds")


def test_convert_makes_no_folder_of_an_address(ds: Run, field: str) -> None:
    assert ds("convert", field, "http://b/out").err.startswith(
        "ds convert: http://b/out/x.ds: web servers are read only"
    )
    assert not Path("http:").exists()


def test_convert_to_a_file_in_a_folder_that_does_not_exist(ds: Run, field: str) -> None:
    assert ds("convert", field, "nodir/x.ds").err == "ds convert: nodir/x.ds: the folder nodir does not exist\n"


def test_patterns_of_addresses(ds: Run) -> None:
    pattern = "https://a.b/*.nc"
    message = "web servers do not list their files: give the address of each file"
    assert ds("convert", pattern, "out") == (1, "", f"ds convert: https://a.b/: {message}\n")


def test_the_variable_before_an_address_is_missing(ds: Run) -> None:
    path = "https://a.b/x.nc"
    expected = f"ds cat: VAR is missing: found only the file {path}; `ds ls {path}` lists possible names\n"
    assert ds("cat", path).err.startswith(expected)


@pytest.mark.parametrize(
    "line", ["merge {}", "rename {}", "set {}", "rm {}", "select {}", "select {} folder", "cat {}", "size {}"]
)
def test_what_is_missing_is_told_without_secrets(line: str, ds: Run, field: str) -> None:
    Path("folder").mkdir()
    status, out, err = ds(*line.format("https://me:secret@localhost:1/a.ds?token=secret").split())
    assert (status, out) == (1, "")
    assert "a.ds" in err and "secret" not in err


def test_a_store_is_no_name_for_an_output(ds: Run, field: str) -> None:
    Path("folder").mkdir()
    Path("store").mkdir()
    assert "as folder/store\n" in ds("select", "store/", "folder").err
