"""A dataset as samples, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.verify import verify
from ds_format.datadings.writer import FileWriter, reindex
from ds_format.drivers.records import sink, source
from ds_format.testing import require_same

Masked: Any = np.ma.MaskedArray
SAMPLE = Path(__file__).parents[3] / "examples" / "sample.nc"
TABLE: dict[str, Any] = {
    "id": np.array(["a", "b", "ž"], object),
    "t": np.array([1, 2, 3], "i2"),
    "x": Masked([[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]], [[0, 0], [0, 1], [1, 1]]),
    "names": Masked(np.array([["p", "q"], ["r", "s"], ["", "u"]], object), [[0, 0], [1, 0], [0, 0]]),
    "flag": Masked([True, False, True], [0, 1, 0]),
    "late": np.arange(6, dtype=">u4").reshape(2, 3),
    "grid": np.arange(2.0),
    "none": None,
    ".": {
        **{name: {".dims": ["t"]} for name in ("id", "t", "flag")},
        **{name: {".dims": ["t", "y"]} for name in ("x", "names")},
        "late": {".dims": ["y", "t"], "units": "K"},
        "grid": {".dims": ["y"]},
        "none": {},
        ".": {"title": "T", "n": np.int16(3)},
    },
}


def samples(path: Path) -> list[Any]:
    with MsgpackReader(path) as reader:
        return list(reader)


def test_samples_are_plain(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.msgpack", TABLE, key="id")
    first, second, third = samples(tmp_path / "a.msgpack")
    assert list(first) == ["key", "id", "t", "x", "x.mask", "names", "flag", "late"]
    assert [sample["key"] for sample in (first, second, third)] == ["a", "b", "ž"]
    assert type(first["t"]) is np.int16
    assert first["x"].tolist() == [1.5, 2.5] and second["x"].tolist() == [3.5, 0.0]
    assert [sample["x.mask"].tolist() for sample in (first, second)] == [[False, False], [False, True]]
    assert (first["names"], second["names"]) == (["p", "q"], [None, "s"])
    assert (first["flag"], second["flag"]) == (True, None)
    assert second["late"].dtype == np.dtype("<u4") and second["late"].tolist() == [1, 4]
    assert verify(tmp_path / "a.msgpack") == []
    assert ds.verify(tmp_path / "a.msgpack") == []
    require_same(TABLE, ds.read(tmp_path / "a.msgpack"))


def test_blocks_without_a_missing_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All samples have the entry of the mask if one of the variable's values is missing, in whichever block."""
    monkeypatch.setattr(sink, "BLOCK_SIZE", 1)
    ds.write(tmp_path / "a.ds", TABLE)
    ds.convert(tmp_path / "a.ds", tmp_path / "a.msgpack")
    masks = [sample["x.mask"] for sample in samples(tmp_path / "a.msgpack")]
    assert [mask.tolist() for mask in masks] == [[False, False], [False, True], [True, True]]
    assert all(mask.dtype == bool for mask in masks)
    require_same(TABLE, ds.read(tmp_path / "a.msgpack"))


def test_what_is_the_same_for_all_stands_in_a_ds_file(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.msgpack", TABLE)
    (tmp_path / "a.msgpack.meta").rename(tmp_path / "meta.ds")
    found = ds.read(tmp_path / "meta.ds")
    assert found["x"].shape == (0, 2) and found["late"].shape == (2, 0) and found["grid"].tolist() == [0, 1]
    assert found["."]["."][".records"]["n"] == 3


def test_the_sample_file_comes_back_byte_by_byte(tmp_path: Path) -> None:
    ds.write(tmp_path / "plain.nc", ds.read(SAMPLE))  # unpacked
    ds.convert(tmp_path / "plain.nc", tmp_path / "a.msgpack", dim="station")
    ds.convert(tmp_path / "a.msgpack", tmp_path / "a.ds")
    ds.convert(tmp_path / "plain.nc", tmp_path / "b.ds")
    assert (tmp_path / "a.ds").read_bytes() == (tmp_path / "b.ds").read_bytes()
    assert len(samples(tmp_path / "a.msgpack")) == 3


@pytest.mark.parametrize("held", [0, 1, 60, 1 << 20])
def test_little_memory(held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ds.write(tmp_path / "a.msgpack", TABLE)
    monkeypatch.setattr(source, "CACHE_SIZE", held)
    monkeypatch.setattr(source, "BLOCK_LENGTH", 2)
    ds.convert(tmp_path / "a.msgpack", tmp_path / "b.ds")
    require_same(TABLE, ds.read(tmp_path / "b.ds"))


@pytest.mark.parametrize(
    ("meta", "dim"),
    [
        ({}, "t"),
        ({".": {".netcdf": {"unlimited": ["u"]}}}, "u"),
        ({".": {".netcdf": {"unlimited": ["gone"]}}}, "t"),
        ({"b": {".dims": ["t", "u"], ".hdf5": {"maxshape": [2, None]}}}, "u"),
    ],
)
def test_the_dimension(meta: dict[str, Any], dim: str, tmp_path: Path) -> None:
    entries = {"u": {".dims": ["u"]}, "a": {".dims": ["t"]}, "b": {".dims": ["t", "u"]}}
    data = {"u": np.zeros(3), "a": np.zeros(2), "b": np.zeros((2, 3)), ".": {**entries, **meta}}
    ds.write(tmp_path / "a.msgpack", data)
    assert len(samples(tmp_path / "a.msgpack")) == {"t": 2, "u": 3}[dim]


def test_dimensions_without_names(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.msgpack", {"a": [1, 2], "b": [[1], [2]], "c": [1, 2, 3], "d": 5})
    assert [list(sample) for sample in samples(tmp_path / "a.msgpack")] == [["key", "a", "b"]] * 2
    require_same(
        {"a": [1, 2], "b": [[1], [2]], "c": [1, 2, 3], "d": 5, ".": {".": {}, **{name: {} for name in "abcd"}}},
        ds.read(tmp_path / "a.msgpack"),
    )


@pytest.mark.parametrize("data", [{}, {"a": 1}, {"a": np.zeros((0, 2))}, {"a": None}])
def test_nothing_to_make_samples_of(data: dict[str, Any], tmp_path: Path) -> None:
    ds.write(tmp_path / "a.msgpack", data)
    assert samples(tmp_path / "a.msgpack") == []
    found = ds.read(tmp_path / "a.msgpack")
    assert found.keys() == {*data, "."}
    assert all(np.array_equal(found[name], data[name]) for name in data if data[name] is not None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": "z"}, 'no variable has the dimension "z"'),
        ({"key": "z"}, 'variable "z": expected a variable of one value for each record'),
        ({"key": "x"}, 'variable "x": expected a variable of one value for each record'),
        ({"key": "grid"}, 'variable "grid": expected a variable of one value for each record'),
        ({"key": "flag"}, 'variable "flag": record 1: no value, expected a key'),
        ({"key": "same"}, 'variable "same": sample 1: found the key .1. for the second time'),
    ],
)
def test_refusals(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    meta = {**TABLE["."], "same": {".dims": ["t"]}}
    with pytest.raises(ds.UnsupportedError, match=f"a.msgpack: {message}"):
        ds.write(tmp_path / "a.msgpack", {**TABLE, "same": [1, 1, 1], ".": meta}, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["key", "x.mask"])
def test_names_that_samples_use(name: str, tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match=f'variable "{name}": the entry'):
        ds.write(tmp_path / "a.msgpack", {"x": [1.0], name: [1]})


def test_a_sidecar_of_other_data_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "a.msgpack"
    ds.write(path, {"a": [1, 2], ".": {"a": {".dims": ["t"], "units": "K"}}})
    with FileWriter(path, overwrite=True) as writer:
        for i in range(2):
            writer.write({"key": str(i), "a": i + 5})
    with pytest.warns(UserWarning, match=r"a.msgpack.meta: does not belong to the data of"):
        found = ds.read(path)
    assert found["a"].tolist() == [5, 6] and ds.attrs(found, "a") == {}


def test_index_files_may_be_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.msgpack"
    ds.write(path, TABLE)
    for suffix in (".offsets", ".md5", ".keys"):
        path.with_name(path.name + suffix).unlink()
    assert reindex(path) == 3
    require_same(TABLE, ds.read(path))


def test_a_damaged_sidecar_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.msgpack"
    ds.write(path, TABLE)
    meta = path.with_name("a.msgpack.meta")
    meta.write_bytes(meta.read_bytes().replace(b'"axes": {"id": 0', b'"axes": {"id": 7'))
    with pytest.raises(ds.FormatError, match=r'a.msgpack.meta: variable "id": .records: found the axis 7'):
        ds.read(path)
    [problem] = ds.verify(path)
    assert "axis 7" in problem.message


def test_times_in_other_units(tmp_path: Path) -> None:
    times = {"t": [2451545.0, 2451546.0], ".": {"t": {".dims": ["t"], ".time": True}}}
    ds.write(tmp_path / "a.msgpack", times, time_units="hours since 2000-01-01", calendar="standard")
    assert [sample["t"] for sample in samples(tmp_path / "a.msgpack")] == [12.0, 36.0]
    assert ds.read(tmp_path / "a.msgpack", jd=True)["t"].tolist() == [2451545.0, 2451546.0]
