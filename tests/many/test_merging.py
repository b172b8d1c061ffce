"""Merging files: the same as merging their datasets, in blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import base
from ds_format.drivers.ds.sink import DsSink
from ds_format.many import merging, pieces

from ..same import same_data, same_dataset
from .conftest import a_bit_of_everything

FIRST_IS_KEPT = pytest.mark.filterwarnings("ignore:.*so only the first value is kept:ds_format.DsWarning")


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    found = [tmp_path / f"f{i}.ds" for i in range(5)]
    for i, path in enumerate(found):
        ds.write(path, a_bit_of_everything(i))
    return found


@FIRST_IS_KEPT
@pytest.mark.parametrize("budget", [1, 64, base.BLOCK_SIZE])
@pytest.mark.parametrize("n_open", [1, 2, 128])
@pytest.mark.parametrize("arguments", [("t", {}), ("y", {"variables": ["x"]}), ("t", {"new": "n"}), ("new", {})])
def test_files_merge_as_datasets_do(
    paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: int, n_open: int, arguments: Any
) -> None:
    monkeypatch.setattr(merging, "BLOCK_SIZE", budget)
    monkeypatch.setattr(pieces, "MAX_OPEN", n_open)
    dim, options = arguments
    ds.merge_files(dim, paths, tmp_path / "out.ds", **options)
    assert same_dataset(ds.read(tmp_path / "out.ds"), ds.merge([ds.read(path) for path in paths], dim, **options))


@FIRST_IS_KEPT
def test_other_formats_on_either_side(paths: list[Path], tmp_path: Path) -> None:
    ds.convert(paths[0], tmp_path / "a.nc")
    ds.merge_files("t", [tmp_path / "a.nc", paths[1]], tmp_path / "out.nc")
    merged = ds.read(tmp_path / "out.nc")
    oracle = ds.merge([ds.read(path) for path in paths[:2]], "t")
    for key in ("t", "x", "s", "flag"):
        assert same_data(merged[key], oracle[key])


@FIRST_IS_KEPT
def test_parts_of_files(paths: list[Path], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    ds.merge_files(
        "t", paths, tmp_path / "out.ds", sel={"y": 0}, range_={"t": (1, None)}, progress=lambda *told: seen.append(told)
    )
    merged = ds.read(tmp_path / "out.ds")
    assert same_data(merged["t"], np.array([1.0, 3.0, 5.0, 7.0, 9.0]))
    assert ds.dims(merged, "x") == ["t"]
    assert seen[-1][0] == seen[-1][1] == max(done for done, _ in seen)


@pytest.mark.parametrize("budget", [1, base.BLOCK_SIZE])
@pytest.mark.parametrize("lacking", [0, 1, 2])
def test_what_a_file_lacks_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: int, lacking: int
) -> None:
    monkeypatch.setattr(merging, "BLOCK_SIZE", budget)
    datasets = [
        {"t": [2 * i, 2 * i + 1], "x": [float(i), 0.5], ".": {"t": {".dims": ["t"]}, "x": {".dims": ["t"]}}}
        for i in range(3)
    ]
    del datasets[lacking]["x"]
    paths = [tmp_path / f"{i}.ds" for i in range(3)]
    for path, dataset in zip(paths, datasets, strict=True):
        ds.write(path, dataset)
    ds.merge_files("t", paths, tmp_path / "out.ds")
    merged = ds.read(tmp_path / "out.ds")
    assert same_dataset(merged, ds.merge(datasets, "t"))
    assert np.flatnonzero(merged["x"].mask).tolist() == [2 * lacking, 2 * lacking + 1]


@pytest.mark.parametrize("dtype", ["f8", "?"])  # numbers are copied from file to file, booleans are not
def test_progress_adds_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    size = np.dtype(dtype).itemsize
    monkeypatch.setattr(merging, "BLOCK_SIZE", 2 * size)
    paths = [tmp_path / "a.ds", tmp_path / "b.ds"]
    for path in paths:
        arrays = {name: np.zeros(2, dtype) for name in "xyz"}
        ds.write(path, {**arrays, ".": {name: {".dims": ["t"]} for name in arrays}})
    told: list[tuple[int, int]] = []
    ds.merge_files("t", paths, tmp_path / "out.ds", progress=lambda *both: told.append(both))
    assert told == [(n * size, 12 * size) for n in (2, 4, 6, 8, 10, 12)]


@FIRST_IS_KEPT
def test_the_output_may_be_an_input_and_appears_whole(paths: list[Path], tmp_path: Path) -> None:
    oracle = ds.merge([ds.read(path) for path in paths[:2]], "t")
    ds.merge_files("t", paths[:2], paths[0])
    assert same_dataset(ds.read(paths[0]), oracle)
    paths[4].write_bytes(paths[4].read_bytes()[:-30])
    before = paths[0].read_bytes()
    with pytest.raises(ds.TruncatedError, match=r"f4.ds"):
        ds.merge_files("t", paths, paths[0])
    assert paths[0].read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"f{i}.ds" for i in range(5)]


@pytest.mark.parametrize(
    ("calendar", "jd", "expected"),
    [
        (None, None, [12.0, 1.5]),
        ("gregorian", None, [12.0, 1.5]),
        (None, True, [2451556.5, 2451546.0]),
        ("proleptic_gregorian", None, [2451556.5, 2451546.0]),
        ("proleptic_gregorian", False, [12.0, 1.5]),
    ],
)
def test_times_in_different_units(calendar: str | None, jd: bool | None, expected: list[float], tmp_path: Path) -> None:
    for name, more in (
        ("a.ds", {"units": "days since 2000-01-01"}),
        ("b.ds", {"units": "hours since 2000-01-02", **({"calendar": calendar} if calendar else {})}),
    ):
        ds.write(tmp_path / name, {"t": [12.0], ".": {"t": {".dims": ["t"], **more}}})
    paths = [tmp_path / "a.ds", tmp_path / "b.ds"]
    ds.merge_files("t", paths, tmp_path / "c.ds", jd=jd)
    merged = ds.read(tmp_path / "c.ds")
    assert merged["t"].tolist() == expected
    assert merged["."]["t"].get(".time", False) is (expected[0] > 12)
    if jd is None:
        assert ds.read_many(paths, dim="t")["t"].tolist() == expected


@pytest.mark.parametrize("units", ["hours since 2000-01-01", "days since 2000-01-01"])
def test_times_in_units_of_choice(units: str, tmp_path: Path) -> None:
    for i, each in enumerate(("hours since 2000-01-01", units)):
        meta = {"time": {".dims": ["time"], "units": each, "calendar": "standard"}}
        ds.write(tmp_path / f"{i}.ds", {"time": [24.0, 48.0], ".": meta})
    inputs, output = [tmp_path / "0.ds", tmp_path / "1.ds"], tmp_path / "out.nc"
    ds.merge_files("time", inputs, output, time_units="minutes since 2000-01-01", calendar="standard")
    merged = ds.read(tmp_path / "out.nc")
    n_minutes = 60 if units.startswith("hours") else 1440
    assert merged["time"].tolist() == [1440, 2880, 24 * n_minutes, 48 * n_minutes]
    assert merged["."]["time"]["units"] == "minutes since 2000-01-01"


@pytest.mark.parametrize("inputs", [["a.ds", "b.ds"], "*.ds"])
def test_arguments_in_the_order_of_open_many(inputs: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError) as caught:
        ds.merge_files(inputs, "t", tmp_path / "out.ds")
    assert str(caught.value) == (
        f"merge_files(dim, inputs, output): found {inputs!r} as dim, expected the name of a dimension, "
        "and 't' as inputs, expected a list of files"
    )
    assert not (tmp_path / "out.ds").exists()


def test_no_inputs(tmp_path: Path) -> None:
    ds.merge_files("t", [], tmp_path / "out.ds")
    assert ds.read(tmp_path / "out.ds") == {".": {".": {}}}
    with pytest.raises(FileNotFoundError):
        ds.merge_files("t", [tmp_path / "nope.ds"], tmp_path / "out.ds")


def test_large_numbers_are_copied_from_file_to_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 50_000  # so that the files are not held in memory
    values = np.arange(3.0 * n).reshape(3, n)
    paths = [tmp_path / f"{i}.ds" for i in range(3)]
    for path, row in zip(paths, values, strict=True):
        ds.write(path, {"x": row, "i": row.astype("i2"), ".": {"x": {".dims": ["t"]}, "i": {".dims": ["t"]}}})
    copied: list[str] = []
    copy = DsSink.copy

    def noted(self: DsSink, name: str, *given: Any) -> None:
        copied.append(name)
        copy(self, name, *given)

    monkeypatch.setattr(DsSink, "copy", noted)
    ds.merge_files("t", paths, tmp_path / "all.ds")
    found = ds.read(tmp_path / "all.ds")
    assert copied == ["x", "i"]
    assert found["x"].tolist() == values.ravel().tolist()
    assert found["i"].tolist() == values.ravel().astype("i2").tolist()
