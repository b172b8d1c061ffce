"""`ds.diff`: datasets of any two kinds."""

from __future__ import annotations

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import base
from ds_format.errors import MissingError, UnsupportedError
from tests import golden_ds as golden

from ..formats import DATASETS

SAMPLE = Path(__file__).parents[2] / "examples" / "sample.nc"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def dataset() -> dict[str, Any]:
    """A dataset with variables of different types."""
    return {
        "time": np.array([0, 6, 12, 18]),
        "t": np.ma.MaskedArray(np.arange(8.0).reshape(4, 2), np.array([[0, 0], [1, 0], [0, 0], [0, 0]], bool)),
        "flag": np.array([True, False, True, True]),
        "name": np.array(["a", "b"], object),
        "\\.hidden": 5,
        ".": {
            "time": {".dims": ["time"], "units": "hours since 2026-01-01"},
            "t": {".dims": ["time", "station"], "units": "K", "scale": np.float32(1)},
            "flag": {".dims": ["time"]},
            "name": {".dims": ["station"]},
            ".": {"title": "T", "levels": [1, 2]},
        },
    }


def changed(**changes: Any) -> dict[str, Any]:
    return {**dataset(), **changes}


def diff(*args: Any, **options: Any) -> Any:
    return ds.diff(*args, **options)


def told(*args: Any, **options: Any) -> list[tuple[Any, ...]]:
    return [(one.kind, one.variable, one.name, one.only, one.a, one.b) for one in diff(*args, **options)]


@pytest.mark.parametrize("suffix", [*DATASETS, ".nc3"])
def test_a_copy_in_any_format_is_the_same(suffix: str) -> None:
    if suffix == ".h5":
        pytest.importorskip("h5py")
    ds.convert(SAMPLE, f"copy{suffix}")
    for pair in (
        (SAMPLE, f"copy{suffix}"),
        (f"copy{suffix}", os.fsencode(SAMPLE)),
        (ds.read(SAMPLE), f"copy{suffix}"),
    ):
        found = diff(*pair)
        assert (list(found), found.variables, repr(found)) == ([], 7, "no differences")


def test_dimensions_shapes_and_types() -> None:
    a, b = dataset(), dataset()
    b["time"] = b["time"][:3].astype("i2")
    b["."]["flag"] = {".dims": ["hour"]}
    b["t"] = b["t"][:3]
    assert told(a, b) == [
        ("dimension", None, "time", None, 4, 3),
        ("dimension", None, "hour", "b", None, 4),
        ("shape", "time", None, None, [4], [3]),
        ("type", "time", None, None, "int64", "int16"),
        ("shape", "t", None, None, [4, 2], [3, 2]),
        ("dimensions", "flag", None, None, ["time"], ["hour"]),
    ]
    assert [row[0] for row in told(a, b, header=False)] == ["shape", "shape"]
    assert told(a, b, variables=["name", ".hidden"]) == []


def test_attributes() -> None:
    a, b = dataset(), dataset()
    b["."]["t"] = {".dims": ["time", "station"], "scale": 1.0, "note": "n"}
    b["."]["."] = {"title": "T", "levels": np.array([1, 2])}
    assert told(a, b) == [
        ("attribute", "t", "units", "a", "K", None),
        ("attribute", "t", "scale", None, 1.0, 1.0),
        ("attribute", "t", "note", "b", None, "n"),
    ]
    assert diff(a, b)[1].types == ("float32", "float64")
    assert told(a, b, ignore=["units", "n*"]) == [("attribute", "t", "scale", None, 1.0, 1.0)]
    assert told(a, b, ignore="*") == told(a, b, header=False) == []
    b["."]["."]["levels"] = np.array([1, 2], "i2")
    assert diff(a, b)[0].types == ("int64[2]", "int16[2]")
    assert "levels" not in str(diff(a, b, "t"))


def test_values_and_where() -> None:
    a, b = dataset(), dataset()
    b["t"][2, 1] += 0.25
    b["t"][3, 0] -= 2
    b["name"][1] = "c"
    t, name = diff(a, b)
    assert (t.kind, t.variable, t.n, t.total) == ("values", "t", 2, 8)
    assert (t.first.index, t.first.coordinates) == ((2, 1), {"time": "2026-01-01T12:00:00"})
    assert (t.first.a, t.first.b) == (5.0, 5.25)
    assert (t.largest.index, t.largest.size, t.relative.index, t.relative.size) == ((3, 0), 2.0, (3, 0), 0.5)
    assert (name.first.index, name.first.a, name.first.b, name.largest) == ((1,), "b", "c", None)
    assert [one.n for one in diff(a, b, atol=0.25)] == [1, 1]
    assert [one.n for one in diff(a, b, "t", rtol=0.5)] == []
    assert diff(a, b, values=False) == ()
    assert len(diff(a, b, first=True)) == 1


def test_missing_values() -> None:
    a, b = dataset(), dataset()
    b["t"].mask = False
    b["t"][3, 1] = np.ma.masked
    b["t"].data[1, 0] = 99
    [found] = diff(a, b)
    assert (found.kind, found.a, found.b, found.n, found.total) == ("missing", 1, 1, 2, 8)
    assert (found.first.index, found.first.a, found.first.b) == ((1, 0), None, 99.0)
    assert found.report()["first"]["a"] is None


def test_variables_of_other_names() -> None:
    a, b = dataset(), dataset()
    for old, new in (("flag", "flags"), ("t", "air")):
        b[new] = b.pop(old)
        b["."][new] = b["."].pop(old)
    found = {(one.variable, one.only): one.hint for one in diff(a, b)}
    assert found == {("t", "a"): "air", ("flag", "a"): "flags", ("flags", "b"): "flag", ("air", "b"): "t"}
    with pytest.raises(MissingError, match=r'variable "tim" not found in either dataset: did you mean time\?'):
        diff(a, b, "tim")
    assert [row[:4] for row in told(a, b, "air", header=False)] == [("variable", "air", None, "b")]


def test_packed_numbers_are_what_they_stand_for() -> None:
    meta = {"x": {".dims": ["i"], "scale_factor": 0.5, "add_offset": 10.0, "units": "K"}}
    packed = {"x": np.array([0, 3, 4], "i2"), ".": meta}
    ds.write("packed.nc", packed)
    plain = {"x": np.array([10.0, 11.5, 12.0]), ".": {"x": {".dims": ["i"], "units": "K"}}}
    for one in ("packed.nc", packed):
        assert told(one, plain) == []
        assert [row[0] for row in told(one, plain, unpack=False)] == ["type", "attribute", "attribute", "values"]


def test_text_and_numbers_are_not_compared_one_by_one() -> None:
    found = diff({"x": ["1", "2"]}, {"x": [1, 2]})
    assert [one.kind for one in found] == ["type"]
    assert diff({"x": ["1", "2"]}, {"x": [1, 2]}, header=False) == found
    assert [one.kind for one in diff({"x": ["a", "é"]}, {"x": [b"a", "é".encode()]})] == ["type"]


def test_parts() -> None:
    ds.write("a.ds", dataset())
    b = dataset()
    b["t"][3, 1] = 70
    [found] = diff("a.ds", b, "t", between={"time": (12, None)})
    assert (found.first.index, found.first.coordinates) == ((1, 1), {"time": "2026-01-01T18:00:00"})
    assert told("a.ds", b, sel={"time": 0}) == []


def test_large_variables_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "BLOCK_SIZE", 1 << 12)
    x = np.random.default_rng(1).random((50, 60, 70))
    meta = {"x": {".dims": ["i", "j", "k"]}}
    ds.write("a.ds", {"x": x, ".": meta})
    x[-1, -1, -1] = np.nan
    x[20, 30, 40] += 1
    calls: list[Any] = []
    for name in ("b.ds", "b.nc", "b.nc3"):
        ds.write(name, {"x": x, ".": meta})
        calls.clear()
        [found] = diff("a.ds", name, progress=lambda *sizes: calls.append(sizes))
        assert (found.n, found.first.index, found.largest.index) == (2, (20, 30, 40), (20, 30, 40))
        assert calls[-1] == (x.nbytes, x.nbytes)


def test_bytes_of_ds_files_that_are_the_same_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.full(300_000, np.nan)
    ds.write("a.ds", {"x": x, ".": {".": {"history": "a"}}})
    ds.write("b.ds", {"x": x, ".": {".": {"history": "b"}}})
    monkeypatch.setattr("ds_format.comparison.values.Tally.add", None)
    assert [one.name for one in diff("a.ds", "b.ds")] == ["history"]
    monkeypatch.setattr("ds_format.comparison.datasets._of_values", None)
    assert not diff("a.ds", "./a.ds")


def test_two_ds_files_differ_as_their_datasets() -> None:
    """Only plain numbers are compared by their bytes: not those with a mask, flags, text, or what has no data."""
    n = 100_000  # so that the files are not read at once
    given = {"i": np.arange(n), "t": np.ma.MaskedArray(np.arange(n, dtype="i2"), np.arange(n) % 3 == 1)}
    a: dict[str, Any] = {**given, "flag": np.arange(n) % 2 == 0, "name": np.array(["a", "b"] * n, object), "none": None}
    a["."] = {name: {".dims": [f"n_{name}"]} for name in a if name != "none"}
    b: dict[str, Any] = {name: data if data is None else data.copy() for name, data in a.items()}
    b["i"][-1], b["t"][-1], b["flag"][-1], b["name"][-1] = -1, -1, True, "c"
    for order in ("<", ">"):
        for path, one in (("a.ds", a), ("b.ds", b)):
            ds.write(path, {**one, "i": one["i"].astype(f"{order}i8")})
        found = diff("a.ds", "b.ds")
        assert [repr(one) for one in found] == [repr(one) for one in diff(a, b)]
        assert {one.variable for one in found} == {"i", "t", "flag", "name"}


def test_objects_of_xarray() -> None:
    xr = pytest.importorskip("xarray")
    ds.write("a.ds", dataset())
    opened = xr.open_dataset("a.ds", engine="ds")
    assert {one.kind for one in diff("a.ds", opened)} <= {"attribute", "missing", "type"}
    x = xr.Dataset({"x": ("i", [1.0, 2.0])})
    [found] = diff(x, xr.Dataset({"x": ("i", [1.0, 2.5])}))
    assert (found.kind, found.largest.size) == ("values", 0.5)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(UnsupportedError):
        diff({"x": np.array([1j])}, dataset())
    with pytest.raises(UnsupportedError, match="a dataset must be a dict"):
        diff(5, dataset())
    with pytest.raises(FileNotFoundError):
        diff("nothing.ds", dataset())
    for value in (-1, float("nan")):
        with pytest.raises(ValueError, match=f"rtol: found {value}, expected a number of 0 or more"):
            diff({}, {}, rtol=value)
        with pytest.raises(ValueError, match=f"atol: found {value}, expected a number of 0 or more"):
            diff({}, {}, atol=value)
    with pytest.raises(ds.FormatError):
        diff(golden.FOLDER / "corrupt" / "truncated_body.ds", {"x": np.zeros(3, "i4")})
    for other in (Path("odd.ds"), Path("copy.ds")):  # the file itself, and a copy of it
        other.write_bytes(b'ds-1.0\n{"x": {".size": [], ".type": "int9"}, ".": {}}\n1')
        with pytest.raises(ds.DsError, match="int9"):
            diff("odd.ds", other)


def test_text_is_on_one_line_and_escaped() -> None:
    a, b = dataset(), dataset()
    b["."]["."]["title"] = "x\x1b[31m\ny" * 30
    b["a\nb\x1b"] = 1
    b["time"] = np.array([0, 6, 12, 19])
    lines = str(diff(a, b)).splitlines()
    assert len(lines) == 4
    assert "\x1b" not in "".join(lines)
    assert lines[0].startswith('attribute  :title    A "T", B "x\\u001b[31m\\ny')
    assert lines[0].endswith("...")
    assert lines[1] == "variable   a\\nb\\x1b  only in B"
    assert lines[2] == "values     time      1 of 4 differ; first at [3]: A 18, B 19; by at most 1"
    assert lines[3] == "3 differences (variable 1, attribute 1, values 1), in 2 of 6 variables"


def test_results_travel() -> None:
    found = diff(dataset(), changed(flag=np.zeros(4, bool)))
    for other in (pickle.loads(pickle.dumps(found)), copy.copy(found)):
        assert (other, other.variables) == (found, found.variables)
    with pytest.raises(AttributeError):
        found[0].kind = "x"
    assert found.report()["differences"] == [
        {
            "kind": "values",
            "variable": "flag",
            "n": 3,
            "total": 4,
            "first": {"index": [0], "coordinates": {"time": "2026-01-01T00:00:00"}, "a": True, "b": False},
        }
    ]
