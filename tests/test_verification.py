"""Checking files: every golden file is what it should be, and every damaged one is reported with all that is wrong."""

from __future__ import annotations

import json
import shutil
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import netCDF4
import numpy as np
import pytest
from hypothesis import given, strategies as st

import ds_format as ds
from ds_format import drivers
from ds_format.api.verification import verify
from ds_format.drivers.base import Problem

from . import golden_ds as golden

CORRUPT = golden.FOLDER / "corrupt"
DAMAGED = sorted(path.name for path in CORRUPT.glob("*.ds"))
TRAILING = "nul_padding_at_end.ds"
"""The one file that is legal, by the notes of the folder."""
GOOD = [(folder, name) for folder in ("v1", "v2", "hand") for name in golden.present(folder)]
NOTED = {
    ("v1", "bytes_object_last"): ".len: found 61, expected 40",
    ("v1", "masked_unicode_all_last"): ".len: found 7, expected 1",
    ("v1", "masked_unicode_last"): ".len: found 23, expected 21",
    ("hand", "gaps_and_order"): "found 14 bytes after the last variable",
    ("hand", "len_wrong"): ".len: found 999, expected 12",
    ("hand", "size_product_smaller_than_len"): ".len: found 12, expected 8",
}
"""Good files that do not describe themselves rightly, which does no harm."""
I4 = {".type": "int32", ".endian": "l"}


def messages(problems: list[Problem]) -> dict[tuple[str | None, str], list[str]]:
    found: dict[tuple[str | None, str], list[str]] = {}
    for problem in problems:
        found.setdefault((problem.variable, problem.severity), []).append(problem.message)
    return found


def make(path: Path, entries: Any, body: bytes = b"") -> str:
    path.write_bytes(b"ds-1.0\n" + json.dumps(entries).encode() + b"\n" + body)
    return str(path)


@pytest.mark.parametrize(("folder", "name"), GOOD)
def test_good_files_have_no_errors(folder: str, name: str) -> None:
    problems = verify(golden.FOLDER / folder / f"{name}.ds")
    assert [problem.severity for problem in problems] == ["warning"] * ((folder, name) in NOTED)
    assert [problem.message for problem in problems] == [NOTED[key] for key in [(folder, name)] if key in NOTED]


@pytest.mark.parametrize("name", [name for name in DAMAGED if name != TRAILING])
def test_damaged_files_have_errors(name: str) -> None:
    path = str(CORRUPT / name)
    problems = verify(path)
    assert "error" in {problem.severity for problem in problems}
    for problem in problems:
        assert problem.path == path
        assert problem.variable in (None, "x", "y")
        assert problem.message
        assert path not in problem.message
        assert "\n" not in problem.message


def test_bytes_at_the_end_are_a_warning() -> None:
    assert len(DAMAGED) == 54
    problems = verify(CORRUPT / TRAILING)
    assert messages(problems) == {(None, "warning"): ["found 100 bytes after the last variable"]}


@pytest.mark.parametrize("folder", ["v1_broken", "v2_broken"])
def test_what_is_repaired_is_reported(folder: str) -> None:
    for name in golden.present(folder):
        problems = verify(golden.FOLDER / folder / f"{name}.ds")
        assert bool(problems) is (name != "masked_unicode")
        assert ("error" in {problem.severity for problem in problems}) is (name == "two_masked_counts_differ")


def test_wrong_offsets_are_named_once() -> None:
    problems = verify(golden.FOLDER / "v1_broken" / "masked_unicode_then_int.ds")
    told = "offsets in the header are wrong, as in files of older writers; variables are read by their true lengths"
    assert messages(problems) == {
        (None, "warning"): [told],
        ("a", "warning"): [".len: found 23, expected 21"],
        ("b", "warning"): [".offset: found 23, expected 21"],
    }


def test_all_problems_are_listed(tmp_path: Path) -> None:
    entries = {
        "good": {**I4, ".size": [2], ".dims": ["a"]},
        "size": {**I4, ".size": [-1]},
        "type": {**I4, ".size": [1], ".type": "int128"},
        "far": {**I4, ".size": [9], ".offset": 4, ".dims": ["b"]},
        "dims": {**I4, ".size": [1], ".dims": ["a"]},
        "text": {".type": "unicode", ".endian": "l", ".size": [1], ".offset": 8},
        "null": None,
    }
    path = make(tmp_path / "x.ds", entries, bytes(8) + b"\1" + bytes(7) + b"\xff")
    problems = verify(path)
    assert {problem.path for problem in problems} == {path}
    assert [problem.variable for problem in problems] == ["size", "type", "far", "dims", "text", "null"]
    assert {problem.severity for problem in problems} == {"error"}
    by_name = {problem.variable: problem.message for problem in problems}
    assert by_name["size"] == ".size: found [-1], expected integers of 0 or more"
    assert by_name["dims"] == 'dimension "a": found size 1, expected 2 as in variable "good"'
    assert by_name["text"].startswith("string 0 is not UTF-8")


def test_strict_looks_for_more(tmp_path: Path) -> None:
    entries = {
        "a": {**I4, ".size": [2], "x": float("nan"), "y": float("inf")},
        "b": {**I4, ".size": [2], ".offset": 4},
        "c": {**I4, ".size": [1], ".offset": 12},
        "\ud800": {**I4, ".size": [1], ".offset": 16},
    }
    path = make(tmp_path / "x.ds", entries, bytes(20))
    assert verify(path) == []
    assert messages(verify(path, strict=True)) == {
        (None, "warning"): [
            "header: NaN is not JSON: other readers may refuse it",
            "header: Infinity is not JSON: other readers may refuse it",
        ],
        ("b", "warning"): ['shares bytes with variable "a"'],
        ("\ud800", "warning"): ["the name is not valid text: it contains an unpaired surrogate"],
    }


def test_what_this_package_writes_is_in_order(tmp_path: Path) -> None:
    masked = np.ma.MaskedArray(np.arange(20.0), np.arange(20) % 3 == 0)
    dataset = {
        "f": masked,
        "b": np.arange(9) % 2 == 0,
        "s": np.array(["a", "ž", ""], object),
        "n": 5,
        "none": None,
        "zero": np.zeros((0, 3)),
        ".": {".": {"title": "x"}},
    }
    kinds: dict[str, Any] = {"a.ds": {}, "b.ds": {"version": "2.0.1"}, "c.nc": {}}
    for name, options in kinds.items():
        path = tmp_path / name
        wanted = {key: data for key, data in dataset.items() if data is not None or name == "a.ds"}
        ds.write(path, wanted, **options)
        assert verify(path, strict=name != "b.ds") == []


def test_netcdf_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 100_000)
        variable = file.createVariable("v", "f8", ("x",), zlib=True, fletcher32=True)
        variable[:] = np.random.default_rng(1).random(100_000)
    assert verify(path) == []
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    [problem] = verify(path)
    assert (problem.variable, problem.severity) == ("v", "error")
    path.write_bytes(content[: len(content) // 3])
    assert [problem.severity for problem in verify(path)] == ["error"]


def test_what_cannot_be_opened_is_a_problem(tmp_path: Path) -> None:
    nothing, folder, unknown = tmp_path / "nothing.ds", tmp_path / "folder.ds", tmp_path / "x.xyz"
    folder.mkdir()
    unknown.write_bytes(b"")
    assert verify(nothing) == [Problem(str(nothing), None, "File does not exist", "error")]
    message = "a folder without series.json, expected a file or a series"
    assert verify(folder) == [Problem(str(folder), None, message, "error")]
    [problem] = verify(str(unknown).encode())
    assert problem.path == str(unknown)
    assert problem.message.startswith("unknown file format")


def test_memory_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "large.ds"
    with open(make(path, {"x": {".type": "float64", ".endian": "l", ".size": [20_000_000]}}), "r+b") as file:
        file.truncate(path.stat().st_size + 160_000_000)
    tracemalloc.start()
    try:
        assert verify(path) == []
        assert tracemalloc.get_traced_memory()[1] < 80_000_000
    finally:
        tracemalloc.stop()


SEEDS = [golden.FOLDER / "v1" / "masked_int16_le.ds", golden.FOLDER / "v1" / "unicode_2d.ds"]


@given(st.data())
def test_changed_bytes_raise_nothing(data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(SEEDS))
    content = bytearray(seed.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, len(content))) :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.ds"
        path.write_bytes(content)
        problems = verify(path, strict=True)
        for problem in problems:
            assert problem.severity in ("error", "warning")
        shutil.copy(seed, path)
        assert verify(path) == []


@pytest.mark.parametrize("suffix", ["ds", "nc", "json"])
def test_a_file_is_opened_once(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / f"x.{suffix}")
    ds.write(path, {"x": [1, 2]})
    driver = drivers.load(drivers.find(path))
    found, opened, checked = (
        Mock(wraps=drivers.find),
        Mock(wraps=driver.open),
        driver.check and Mock(wraps=driver.check),
    )
    monkeypatch.setattr(drivers, "find", found)
    monkeypatch.setattr(drivers, "load", lambda format: driver._replace(open=opened, check=checked))
    assert verify(path) == []
    found.assert_called_once_with(path)
    assert opened.call_count + (0 if checked is None else checked.call_count) == 1
