"""Of a file that says what files before it said, the same is read; nobody has a part of what another one has."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.classic import header
from ds_format.drivers import netcdf
from ds_format.drivers.netcdf.classic import recalled

from ....classic.files import Attribute, File, Variable, drawn, encode
from ....classic.same import exact
from ..files import CHANGES, numbers, station


def fresh(path: Path) -> Any:
    """Read a file as if it were the first one."""
    recalled.ClassicMemory.idle.clear()
    codec: Any = header
    made = codec.Dimension, codec.ClassicVariable, codec.ClassicHeader, codec.FORMATS, codec.CODES
    codec._parser = type(codec._parser)(*made)
    return read(path)


def read(path: Path) -> Any:
    with ds.open(path) as file:
        meta = {key: dict(file.meta[key]) for key in file.meta}
    dataset = ds.read(path)
    return exact(meta), {key: exact(value) if key == "." else repr(value) for key, value in dataset.items()}


def spoil(value: Any) -> None:
    """Change all that can be changed."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoiled"] = True
    elif isinstance(value, list):
        value.append("spoiled")
    elif isinstance(value, np.ndarray) and value.size:
        value[...] = 1


@pytest.mark.parametrize("first", CHANGES)
@pytest.mark.parametrize("second", CHANGES)
def test_what_was_read_before_changes_nothing(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for path, changes in zip(paths, (first, second), strict=True):
        path.write_bytes(encode(station(**changes)))
    expected = [fresh(path) for path in paths]
    fresh(paths[0])
    for path, known in zip(paths + paths[::-1], expected + expected[::-1], strict=True):
        assert read(path) == known


def test_nobody_has_a_part_of_what_another_one_has(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    path.write_bytes(encode(station()))
    expected = fresh(path)
    for _ in range(3):
        spoil(ds.read(path))
        with ds.open(path) as file:
            spoil(file._source.meta)
        assert read(path) == expected


def test_any_files_in_a_row(tmp_path: Path) -> None:
    random = Random(1)
    paths = []
    for i in range(40):
        paths.append(tmp_path / f"{i}.nc")
        paths[-1].write_bytes(encode(drawn(Random(i // 2))))
    expected = {path: fresh(path) for path in paths}
    for path in random.choices(paths, k=200):
        assert read(path) == expected[path]


MANY = 300
"""More variables than are remembered."""


def test_the_last_of_many_variables_without_attributes_has_its_own_type(tmp_path: Path) -> None:
    paths = [tmp_path / "float.nc", tmp_path / "int.nc", tmp_path / "short.nc"]
    for path, (number, raw) in zip(paths, [(5, numbers(1)), (4, struct.pack(">i", 2)), (3, b"\0\3")], strict=True):
        variables = [Variable(b"v%d" % i, [0], 5, [numbers(0)]) for i in range(MANY - 1)]
        path.write_bytes(encode(File(1, [(b"t", 0)], (), [*variables, Variable(b"last", [0], number, [raw])])))
    expected = [fresh(path) for path in paths]
    assert [read(path) for path in paths] == expected
    assert ds.read_many(paths, dim="t")["last"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("order", [[0, 1, 0], [1, 0, 1]])
def test_bounds_read_alone_have_the_scale_of_their_coordinate(tmp_path: Path, order: list[int]) -> None:
    for i, scale in enumerate([0.5, 0.25]):
        attributes = [
            Attribute(b"bounds", 2, b"lat_bnds"),
            Attribute(b"scale_factor", 6, struct.pack(">d", scale)),
        ]
        lat = Variable(b"lat", [0], 3, [struct.pack(">2h", 10, 20)], attributes)
        bounds = Variable(b"lat_bnds", [0, 1], 3, [struct.pack(">4h", 5, 15, 15, 25)])
        other = Variable(b"x", [0], 5, [numbers(1, 2)])
        file = File(1, [(b"lat", 2), (b"two", 2), (b"unused", 7)], (), [other, lat, bounds])
        (tmp_path / f"{i}.nc").write_bytes(encode(file))
    for i in order:
        whole, alone = ds.read(tmp_path / f"{i}.nc"), ds.read(tmp_path / f"{i}.nc", ["lat_bnds"])
        np.testing.assert_array_equal(alone["lat_bnds"], np.array([[5, 15], [15, 25]]) * [0.5, 0.25][i])
        assert exact(alone["."]) == exact({key: whole["."][key] for key in ("lat_bnds", ".")})


@pytest.mark.parametrize("name", ["x", "temperature", "name", "scalar"])
def test_one_variable_read_alone_is_as_in_the_whole_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.nc"
    for day, changes in enumerate([{}, *CHANGES, {}]):
        path.write_bytes(encode(station(**({"day": day + 1} | changes))))
        whole, alone = ds.read(path), ds.read(path, [name])
        assert repr(alone.get(name)) == repr(whole.get(name))
        assert exact(alone["."]) == exact({key: whole["."][key] for key in whole["."] if key in (name, ".")})


@pytest.fixture
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalled, "LARGE", 0)


def large_and_usual(monkeypatch: pytest.MonkeyPatch, path: Path) -> tuple[Any, Any]:
    usual = fresh(path)
    monkeypatch.setattr(recalled, "LARGE", -1)
    large = fresh(path)
    monkeypatch.undo()
    return large, usual


@pytest.mark.parametrize("changes", CHANGES)
def test_metadata_on_access_are_those_of_the_usual_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    path = tmp_path / "a.nc"
    path.write_bytes(encode(station(**changes)))
    large, usual = large_and_usual(monkeypatch, path)
    assert large == usual


def test_metadata_on_access_of_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(60):
        path = tmp_path / f"{i}.nc"
        path.write_bytes(encode(drawn(Random(i))))
        large, usual = large_and_usual(monkeypatch, path)
        assert large == usual


@pytest.mark.filterwarnings("ignore:.*is written as JSON text")
@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_metadata_on_access_of_what_this_package_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    meta = {
        "text": {".dims": ["n"], "list": [1, "a", None], ".type": "unicode"},
        "empty": {".dims": ["gone"], ".size": None, ".type": None},
        "scalar": {"missing_value": np.float64(-9.0), "_FillValue": np.float64(-8.0)},
        "lat": {".dims": ["n"], "bounds": "lat_bnds", "scale_factor": 0.5, "units": "degrees_north"},
        "lat_bnds": {".dims": ["n", "two"]},
        ".": {"nested": {"a": [1, 2]}, "title": "x"},
    }
    data = {
        "text": ["a", None], "empty": None, "scalar": np.ma.masked_all((), "f8"), "lat": np.array([1, 2], "i2"),
        "lat_bnds": np.array([[0, 1], [1, 2]], "i2"), "flag": np.array([True, False]), ".": meta,
    }  # fmt: skip
    ds.write(tmp_path / "a.nc", data, format=format)
    large, usual = large_and_usual(monkeypatch, tmp_path / "a.nc")
    assert large == usual
    assert not any(".missing" in entry for entry in ds.read(tmp_path / "a.nc")["."].values())


@pytest.mark.usefixtures("every_file_is_large")
def test_metadata_on_access_share_nothing_and_need_no_open_file(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    meta = {"x": {"list": [1], "missing_value": np.arange(3.0)}, ".": {"a": [1]}}
    ds.write(path, {"x": np.float32(7), ".": meta}, format="NETCDF3_CLASSIC")
    source = netcdf.open(path)
    before = exact(dict(source.meta))
    source.close()
    assert exact(dict(source.meta)) == before
    for _ in range(2):
        spoil(dict(source.meta))
        assert exact(dict(source.meta)) == before
    with ds.open(path) as file:
        assert (
            exact(file["x"].attrs) == exact(ds.attrs({".": file.meta}, "x")) and list(file) == ["x"] and len(file) == 1
        )
        assert "x" in file and "y" not in file and "." not in file
        with pytest.raises(ds.MissingError):
            file["y"]
    assert file.attrs == {"a": [1]}


@pytest.mark.usefixtures("every_file_is_large")
@pytest.mark.parametrize("name", ["lat", "lat_bnds", "x"])
def test_variables_of_an_open_file_are_unpacked(tmp_path: Path, name: str) -> None:
    attributes = [Attribute(b"bounds", 2, b"lat_bnds"), Attribute(b"scale_factor", 6, struct.pack(">d", 0.5))]
    lat = Variable(b"lat", [0], 3, [struct.pack(">2h", 10, 20)], attributes)
    bounds = Variable(b"lat_bnds", [0, 1], 3, [struct.pack(">4h", 5, 15, 15, 25)])
    other = Variable(b"x", [0], 5, [numbers(1, 2)])
    path = tmp_path / "a.nc"
    path.write_bytes(encode(File(1, [(b"lat", 2), (b"two", 2)], (), [other, lat, bounds])))
    with ds.open(path) as file:
        found = file[name][...], exact(file[name].attrs), file[name].type
    whole = ds.read(path)
    np.testing.assert_array_equal(found[0], whole[name])
    assert found[1] == exact(ds.attrs(whole, name)) and found[2] == whole[name].dtype.name


@pytest.mark.slow
def test_many_variables_take_no_memory_until_they_are_read(tmp_path: Path) -> None:
    n = 20_000
    path = tmp_path / "many.nc"
    path.write_bytes(encode(File(1, (), (), [Variable(b"v%05d" % i, [], 5, [numbers(i)]) for i in range(n)])))
    ds.read(path, ["v00000"])
    ds.open(path).close()
    tracemalloc.start()
    try:
        assert ds.read(path, ["v19999"])["v19999"] == n - 1
        peaks = [tracemalloc.get_traced_memory()[1]]
        tracemalloc.reset_peak()
        with ds.open(path) as file:
            assert file["v19999"][...] == n - 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.reset_peak()
        dataset = ds.read(path)
        of_dataset, peak = tracemalloc.get_traced_memory()
        assert dataset["v19999"] == n - 1
    finally:
        tracemalloc.stop()
    assert max(peaks) < 500 * n
    assert peak - of_dataset < 800 * n


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_a_file_without_variables_follows_one_that_is_not_remembered(format: str, tmp_path: Path) -> None:
    scalar, empty = tmp_path / "scalar.nc", tmp_path / "empty.nc"
    ds.write(scalar, {"n": np.int32(1)}, format=format)
    ds.write(empty, {}, format=format)
    assert list(ds.read(scalar)) == ["n", "."]
    assert list(ds.read(empty)) == ["."]
    assert list(ds.read(scalar)) == ["n", "."]
