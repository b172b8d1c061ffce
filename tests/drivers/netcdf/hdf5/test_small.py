"""Small netCDF-4 files in a row, and what is remembered of them."""

from __future__ import annotations

import itertools
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format import hdf5
from ds_format.body.body import open_body
from ds_format.drivers.alike import AlikeFiles
from ds_format.drivers.netcdf import NetCDFWarning, opening
from ds_format.drivers.netcdf.hdf5 import description, recalled
from ds_format.errors import DsError

from ....classic.same import exact

CHANGES: list[dict[str, Any]] = [
    {},
    {"title": "another"},
    {"units": "degC"},
    {"n": 4},
    {"fill": -1.0},
    {"code": "f8"},
    {"code": ">f4"},
    {"attribute": np.int16(1)},
    {"attribute": np.int32(1)},
    {"attribute": np.array([1, 2], "i2")},
    {"attribute": np.array([1, 2], "i4")},
    {"attribute": -0.0},
    {"attribute": 0.0},
    {"string": "a"},
    {"string": "b"},
    {"name": "other"},
    {"dim": "t"},
    {"zlib": True},
    {"chunks": (2,)},
    {"unlimited": False},
    {"format": "NETCDF4_CLASSIC"},
    {"group": "g"},
    {"fill": False},
]


def make(path: Path, day: int = 1, **changes: Any) -> Path:
    given: dict[str, Any] = {
        "title": "a title", "units": "K", "n": 3, "fill": -9.0, "code": "f4", "attribute": None, "string": None,
        "name": "temperature", "dim": "time", "zlib": False, "chunks": None, "unlimited": True, "group": None,
        "format": "NETCDF4",
    }  # fmt: skip
    given |= changes
    with netCDF4.Dataset(path, "w", format=given["format"]) as file:
        file.title = given["title"]
        file.levels = np.arange(3, dtype="i4")
        file.createDimension(given["dim"], None if given["unlimited"] else given["n"])
        if given["group"]:
            file.createGroup(given["group"]).setncattr("note", 1)
        time = file.createVariable(given["dim"], "i4", (given["dim"],))
        time.units = "days since 2000-01-01"
        time[:] = np.arange(given["n"]) + day
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            variable = file.createVariable(
                given["name"], given["code"], (given["dim"],), fill_value=given["fill"], zlib=given["zlib"],
                chunksizes=given["chunks"],
            )  # fmt: skip
        variable.units = given["units"]
        variable.valid_range = np.array([-90, 60], "f4")
        if given["attribute"] is not None:
            variable.extra = given["attribute"]
        if given["string"] is not None:
            variable.setncattr_string("text", given["string"])
        variable[:] = np.arange(given["n"]) + day
        if given["fill"]:
            variable[0] = given["fill"]
    return path


def told(dataset: Any) -> Any:
    return {key: exact(value) if key == "." else repr(value) for key, value in dataset.items()}


def fresh(path: Path) -> Any:
    recalled.NetCDF4Memory.idle.clear()
    description._recent.clear()
    return told(ds.read(path, unpack=False))


def spoil(value: Any) -> None:
    """Change everything that can be changed."""
    if isinstance(value, dict):
        for item in value.values():
            spoil(item)
        value["spoiled"] = True
    elif isinstance(value, list):
        value.append("spoiled")
    elif isinstance(value, np.ndarray) and value.size:
        value[...] = 1


def test_any_order_of_files_gives_what_each_gives_alone(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{i}.nc", i, **change) for i, change in enumerate(CHANGES)]
    expected = {path: fresh(path) for path in paths}
    order = random.Random(1)
    for _ in range(200):
        path = order.choice(paths)
        dataset = ds.read(path, unpack=False)
        assert told(dataset) == expected[path]
        spoil(dataset)


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("variables", [None, ["x"], ["y"]])
def test_files_of_other_shapes_in_any_order(tmp_path: Path, format: Any, variables: list[str] | None) -> None:
    sizes = {tmp_path / f"{i}.nc": n for i, n in enumerate([3, 3, 5, 100_000])}
    for path, n in sizes.items():
        with netCDF4.Dataset(path, "w", format=format) as file:
            file.createDimension("i", n)
            for name in ("x", "y"):
                file.createVariable(name, "f8", ("i",))[:] = np.arange(n)
    for paths in itertools.product(sizes, repeat=3):
        for path in paths:
            dataset = ds.read(path, variables)
            for name in variables or ["x", "y"]:
                assert dataset[name].shape == (sizes[path],)
                assert dataset["."][name][".size"] == [sizes[path]]
                assert dataset[name][-1] == sizes[path] - 1


def test_metadata_are_recalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [make(tmp_path / f"{i}.nc", i, title=f"day {i}") for i in range(2)]
    ds.read(paths[0])
    expected = fresh(paths[1])
    ds.read(paths[0])
    monkeypatch.setattr(recalled.NetCDF4Memory, "described", None)
    assert told(ds.read(paths[1], unpack=False)) == expected


def elsewhere(path: Path, i: int, dims: tuple[str, str] = ("x", "y"), shuffle: bool = True) -> Path:
    """Make a file whose objects are where those of others are not: the text before them is longer."""
    dice = np.random.default_rng(i)
    with netCDF4.Dataset(path, "w") as file:
        for dim in ("x", "y"):
            file.createDimension(dim, 3)
        file.set_fill_off()
        file.createVariable("filler", "i4", ("x",), zlib=True)[:] = i
        file["filler"].note = "n" * 100
        file.sync()
        file.title = "t" * (1 + 700 * i)
        file.sync()
        for name in ("u", "v"):
            variable = file.createVariable(name, "f8", dims, zlib=True, shuffle=shuffle)
            variable.units = "m"
            variable[:] = dice.random((3, 3))
            file.sync()
    return path


def test_files_that_say_the_same_elsewhere_are_recalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [elsewhere(tmp_path / f"{i}.nc", i) for i in range(3)]
    addresses = {hdf5.read_file(open_body(path)).datasets[-1].address for path in paths}
    assert len(addresses) == len(paths)
    expected = [fresh(path) for path in paths]
    monkeypatch.setattr(description, "_outline", None)
    for i in (0, 1, 2, 0, 2, 1):
        assert told(ds.read(paths[i], unpack=False)) == expected[i]
        with ds.open(paths[i]) as file:
            handles = [pickle.loads(pickle.dumps(file[name].handle())) for name in ("u", "v")]
        values = np.random.default_rng(i).random((2, 3, 3))
        np.testing.assert_array_equal([handle.read() for handle in handles], values)


@pytest.mark.parametrize("change", [{"dims": ("y", "x")}, {"shuffle": False}])
@pytest.mark.parametrize("i", [0, 1])
def test_what_is_said_of_other_dimensions_is_not_recalled(tmp_path: Path, change: dict[str, Any], i: int) -> None:
    """The references to dimensions are not compared by their addresses, but by the dimensions there."""
    paths = [elsewhere(tmp_path / "a.nc", 0), elsewhere(tmp_path / "b.nc", i, **change)]
    expected = [fresh(path) for path in paths]
    entries = [ds.read(path)["."]["v"] for path in paths]
    assert entries[0] != entries[1]
    for path, each in [*zip(paths, expected, strict=True)] * 2:
        assert told(ds.read(path, unpack=False)) == each


def test_a_reference_to_no_dimension_is_not_recalled(tmp_path: Path) -> None:
    paths = [elsewhere(tmp_path / f"{i}.nc", i) for i in range(2)]
    files = [hdf5.read_file(open_body(path), netcdf=True, share=True) for path in paths]
    description.outline(files[0])
    assert "v" in [each.name for each in description.outline(files[1]).variables]
    changed = files[1].datasets[-1]
    hidden = {**changed.hidden, "DIMENSION_LIST": ((1,), (1,))}
    broken = files[1]._replace(datasets=[*files[1].datasets[:-1], changed._replace(hidden=hidden)])
    with pytest.raises(hdf5.Unusual, match="names its dimensions in two ways"):
        description.outline(broken)


def test_metadata_of_a_variable_without_missing_values_are_not_those_of_others(tmp_path: Path) -> None:
    """What is settled once for all files holds only where nothing is missing."""
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for path, n in zip(paths, (3, 2), strict=True):
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("x", 3)
            file.createVariable("v", "f8", ("x",))[:n] = 1
    expected = [fresh(path) for path in paths]
    assert [ds.read(path)["."]["v"][".netcdf"]["fill"] for path in paths] == ["unused", "default"]
    for path, each in [*zip(paths, expected, strict=True)] * 2:
        assert told(ds.read(path, unpack=False)) == each


def test_the_index_of_chunks_is_that_of_the_file(tmp_path: Path) -> None:
    """Files that say the same in the same places may have their chunks elsewhere."""
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    for path, order in zip(paths, ([0, 1, 2], [2, 0, 1]), strict=True):
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("x", 30)
            variable = file.createVariable("v", "i4", ("x",), chunksizes=(10,))
            file.sync()
            for i in order:
                variable[10 * i : 10 * i + 10] = i
                file.sync()
    expected = np.repeat([0, 1, 2], 10).tolist()
    for _ in range(3):
        for path in paths:
            assert ds.read(path)["v"].tolist() == expected
            with ds.open(path) as file:
                assert file["v"][5:25].tolist() == expected[5:25]


def merged(paths: list[Path], **options: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            dataset = ds.read_many(paths, **options)
        except DsError as error:
            return type(error), str(error)
    return told(dataset), [str(warning.message) for warning in caught]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("options", [{}, {"variables": ["temperature"]}])
def test_alike_files_are_merged_as_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], options: dict[str, Any]
) -> None:
    changes: list[dict[str, Any]] = [{}, {"title": "b"}, change, change, {}]
    paths = [make(tmp_path / f"{i}.nc", i, **each) for i, each in enumerate(changes)]
    found = merged(paths, dim="time", **options)
    monkeypatch.setattr(opening, "SMALL", opening.SMALL._replace(hold=lambda path, content: None))
    assert found == merged(paths, dim="time", **options)


def test_a_row_of_files(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [{}, {"title": "b"}, {"title": "c"}, {"units": "degC"}]
    paths = [str(make(tmp_path / f"{i}.nc", i, **each)) for i, each in enumerate(changes)]
    held = [opening.hold(path, bytearray(Path(path).read_bytes())) for path in paths]
    row = AlikeFiles(opening.SMALL, paths[0], held[0], None, None, ["title"])
    assert [row.add(path, each) for path, each in zip(paths[1:], held[1:], strict=True)] == [True, True, False]
    assert row.dataset_attributes == [{"title": "a title"}, {"title": "b"}, {"title": "c"}]
    assert row.read("temperature").shape == (3, 3)


def test_files_of_both_kinds_are_read_in_one_go(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{i}.nc", i, format=kind) for i, kind in enumerate(["NETCDF4", "NETCDF3_CLASSIC"] * 2)]
    merged = ds.read_many(paths, dim="time")
    assert merged["time"].tolist() == np.concatenate([ds.read(path)["time"] for path in paths]).tolist()


def test_what_is_unusual_is_not_held(tmp_path: Path) -> None:
    path = make(tmp_path / "x.nc")
    with netCDF4.Dataset(path, "a") as file:
        file.createCompoundType(np.dtype([("a", "i4")]), "pair")
    assert opening.hold(str(path), bytearray(path.read_bytes())) is None
    with pytest.warns(NetCDFWarning, match="JSON"):
        ds.write(path, {"x": [1], ".": {".": {"deep": {"a": 1}}}})
    assert opening.hold(str(path), bytearray(path.read_bytes())) is None


@pytest.mark.parametrize("zlib", [False, True])
def test_strings_of_the_library_are_read_in_one_call(tmp_path: Path, zlib: bool) -> None:
    """Their fill value is a string somewhere else in the file, usually an empty one."""
    path = tmp_path / "x.nc"
    texts = np.array(["a", "", "žluť", "a" * 300], object)
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", 4)
        file.createDimension("u", None)
        for name, dim, fill in [("all", "t", None), ("growing", "u", None), ("some", "t", None), ("filled", "t", "zz")]:
            variable = file.createVariable(name, str, (dim,), zlib=zlib, shuffle=False, fill_value=fill)
            if name in ("all", "growing"):
                variable[:] = texts
            else:
                variable[1] = "q"
        file.createVariable("scalar", str, ())[...] = "one"
        file.createVariable("nothing", str, ("t",))
    with netCDF4.Dataset(path) as file:
        expected = {name: np.asarray(variable[...], object).tolist() for name, variable in file.variables.items()}
    found = ds.read(path)
    assert {name: np.asarray(found[name], object).tolist() for name in expected} == expected
    held = opening.hold(str(path), bytearray(path.read_bytes()))
    assert held is not None
    variables = [*held.recall(None, True).variables]
    finishers = [each.stored.finisher for each in variables]
    small = held.values.read_small([each.variable for each in variables], held.places(), finishers, True)
    assert small is not None
    assert {variables[i].key for i in small[1]} == ({"nothing", "filled"} if zlib else {"nothing"})
