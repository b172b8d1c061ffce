"""Headers that are JSON, but say odd things: whoever reads them gets a value, or an error of ours."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format import cmd, drivers
from ds_format.cli.arguments import ArgumentError
from ds_format.errors import DsError, FormatError
from ds_format.zds import unpack

LARGE = [2**31, 2**53, 2**59, 2**62, 2**63 - 1, 2**63, 2**64, 10**30]
numbers = st.sampled_from([0, 1, 2, 3, -1, 0.5, float("nan"), float("inf"), 1e300, *LARGE])
names = st.sampled_from([
    "",
    "x",
    "y",
    "t",
    "float24",
    "complex128",
    "str",
    "unicode",
    "bool",
    "int8",
    "\0",
    "\ud800",
    "é",
])
scalars = st.none() | st.booleans() | numbers | names
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=2), max_leaves=4
)
sizes = st.lists(st.sampled_from([0, 1, 2, 3, *LARGE]), max_size=4)
PROPERTIES = (
    ".size",
    ".type",
    ".dims",
    ".offset",
    ".len",
    ".missing",
    ".endian",
    ".dsize",
    ".dtypes",
    "units",
    "_FillValue",
)
changes = st.lists(
    st.tuples(st.sampled_from(["x", "y", "t", "."]), st.sampled_from(PROPERTIES), values | sizes),
    min_size=1,
    max_size=3,
)
BASE: dict[str, Any] = {
    "x": {
        ".type": "int32",
        ".size": [2, 3],
        ".dims": ["t", "s"],
        ".offset": 0,
        ".len": 24,
        ".endian": "l",
        "units": "K",
    },
    "y": {".type": "unicode", ".size": [2], ".dims": ["t"], ".offset": 24, ".len": 20, ".endian": "l"},
    "t": {".type": "float64", ".size": [2], ".dims": ["t"], ".offset": 48, ".len": 16, ".endian": "l"},
    ".": {"title": "a"},
}
BODY = bytes(24) + b"\2" + bytes(7) + b"\2" + bytes(7) + b"abcd" + bytes(4) + bytes(16)


def changed(given: list[tuple[str, str, Any]]) -> dict[str, Any]:
    entries = {key: dict(entry) for key, entry in BASE.items()}
    for key, name, value in given:
        entries[key][name] = value
    return entries


DATASET = {
    "x": [[1, 2, 3], [4, 5, 6]],
    "y": ["ab", "cd"],
    "t": [0.5, 1.5],
    "c": [7, 8, 9],
    ".": {"x": {".dims": ["t", "s"]}, "y": {".dims": ["t"]}, "t": {".dims": ["t"]}, "c": {".dims": ["s"]}},
}
SIDECARS = {"a.msgpack": "a.msgpack.meta", "a.zds": "a.zds/collections/default/meta/dataset.ds"}


def change(path: Path, given: list[tuple[str, str, Any]]) -> None:
    """Change properties in the header of a ds file; those of its records have two dots."""
    lead, line, body = path.read_bytes().split(b"\n", 2)
    entries = json.loads(line)
    for key, name, value in given:
        entry = entries[key]
        if name.startswith(".."):
            entry, name = entry[".records"], name[2:]
        entry[name] = value
    path.write_bytes(b"\n".join([lead, json.dumps(entries).encode(), body]))


def records(folder: str, name: str) -> tuple[Path, Path]:
    """Write records; return their path, and that of their sidecar file."""
    path = Path(folder, name)
    ds.write(path, DATASET)
    if path.suffix == ".zds":
        archive = path.rename(path.with_suffix(".zip"))
        unpack(archive, path)
    return path, Path(folder, SIDECARS[name])


def write(path: Path, entries: dict[str, Any], lead: bytes = b"ds-1.0\n") -> None:
    path.write_bytes(lead + json.dumps(entries).encode() + b"\n" + BODY)


def read_lazily(path: Path) -> None:
    with ds.open(path) as file:
        _ = repr(file), file._repr_html_(), file.dims
        for variable in file.values():
            _ = repr(variable), variable._repr_html_(), variable.size, variable.ndim
            with contextlib.suppress(DsError):
                variable[...]
            with contextlib.suppress(DsError):
                list(variable.blocks(100))


def part(path: Path, name: str, **selectors: Any) -> None:
    with contextlib.suppress(IndexError):  # variables need not agree on the size of a dimension
        ds.read(path, name, **selectors)


def show(path: Path) -> None:
    with contextlib.suppress(DsError):
        dataset = ds.read(path, "x", full=True)
        _ = repr(dataset), dataset._repr_html_()


def verify(path: Path) -> None:
    for problem in ds.verify(path, strict=True):
        assert "Error:" not in problem.message, problem


def command(name: str, *words: Any, **options: Any) -> Callable[[Path], None]:
    return lambda path: cmd.CMDS[name](*words, str(path), **options)


WAYS: tuple[Callable[[Path], Any], ...] = (
    ds.read,
    lambda path: part(path, "y", sel={"t": 0}),
    lambda path: part(path, "x", range_={"t": (0, 1)}),
    lambda path: part(path, "x", between={"t": (0, 1)}),
    lambda path: ds.read(path, mmap=True),
    lambda path: ds.read_many([path, path]),
    lambda path: ds.write(path.with_suffix(".json"), ds.read(path)),
    read_lazily,
    show,
    drivers.meta,
    verify,
    command("ls"),
    command("ls", l=True),
    command("meta"),
    command("dims"),
    command("size", "x"),
    command("attrs", "x"),
    command("cat", "x"),
    command("cat", "t", "y"),
    command("stats", "t"),
)


def go_every_way(path: Path) -> None:
    for way in WAYS:
        with contextlib.suppress(DsError, OSError, ArgumentError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            way(path)


@pytest.mark.parametrize("lead", [b"ds-1.0\n", b""])
def test_the_base_is_right(lead: bytes, tmp_path: Path) -> None:
    write(tmp_path / "a.ds", changed([]), lead)
    if lead:
        assert ds.verify(tmp_path / "a.ds") == []
        assert ds.read(tmp_path / "a.ds")["y"].tolist() == ["ab", "cd"]


@given(changes, st.sampled_from([b"ds-1.0\n", b""]))
def test_odd_headers_are_read_or_refused(given: list[tuple[str, str, Any]], lead: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "odd.ds"
        write(path, changed(given), lead)
        with contextlib.redirect_stdout(io.StringIO()):
            go_every_way(path)


OF_RECORDS = ("..axes", "..missing", "..n", "..size", "..end", "..md5")
sidecar_changes = st.lists(
    st.tuples(st.sampled_from("xytc"), st.sampled_from(PROPERTIES), values | sizes)
    | st.tuples(st.just("."), st.sampled_from(OF_RECORDS), values | st.dictionaries(names, values, max_size=3)),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("name", SIDECARS)
@given(sidecar_changes)
def test_odd_sidecars_are_read_or_refused(name: str, given: list[tuple[str, str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path, sidecar = records(folder, name)
        change(sidecar, given)
        go_every_way(path)


@pytest.mark.parametrize("name", SIDECARS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("x", ".type", "float24"), r'variable "x": \.type: found "float24", expected a type of the format'),
        (
            ("x", ".size", [0, 2**50]),
            r'variable "x": \.size: found \[2, 1125899906842624\], more values than',
        ),
        (
            ("x", ".size", [0, 2**63]),
            r'variable "x": \.size: found \[0, 9223372036854775808\], expected integers whose',
        ),
        (("x", ".size", [3, 0]), r'variable "x": \.records: found the axis 0, but \.size \[3, 0\]'),
        ((".", "..axes", {"x": True}), r'variable "x": \.records: found the axis True, but \.size \[0, 3\]'),
        ((".", "..axes", {"q": 0}), r"\.records: there is no variable 'q'"),
    ],
)
def test_wrong_sidecars(name: str, given: tuple[str, str, Any], message: str, tmp_path: Path) -> None:
    path, sidecar = records(str(tmp_path), name)
    change(sidecar, [given])
    with pytest.raises(FormatError, match=f"{sidecar.name}: {message}"):
        ds.open(path)


@pytest.mark.parametrize("lead", [b"ds-1.0\n", b""])
@pytest.mark.parametrize("size", [[2**63, 0], [0, 2**59], [0, 2**31, 2**31]])
def test_sizes_beyond_those_of_arrays(size: list[int], lead: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.ds"
    write(path, changed([("x", ".size", size), ("x", ".dims", [f"d{i}" for i in range(len(size))])]), lead)
    message = r'a\.ds: variable "x": \.size: found \[.*\], expected integers whose product, without zeros, is at most'
    with pytest.raises(FormatError, match=message):
        ds.read(path, "x")
    assert ds.read(path, "t")["t"].tolist() == [0, 0]
    write(path, changed([("x", ".size", [0, 2**40])]))
    assert ds.read(path, "x")["x"].shape == (0, 2**40)
