"""Many files as one dataset of xarray: what xarray gives for files that are opened one by one and put together."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.errors import MissingError, ReplacedError, UnsupportedError

xr = pytest.importorskip("xarray", reason="needs xarray")
dask = pytest.importorskip("dask", reason="needs dask")

pytestmark = pytest.mark.filterwarnings("ignore:attributes of the dataset differ")

LENGTHS = [2, 3, 0, 1, 2, 2]


def make(i: int, n: int) -> dict[str, Any]:
    """Make what a station reports in some hours."""
    hours = np.arange(n, dtype="f8") + 5 * i
    return {
        "time": hours,
        "level": np.array([1000, 500], "i4"),
        "temperature": np.arange(2 * n, dtype="f4").reshape(n, 2) + i,
        "rain": np.ma.MaskedArray(np.arange(n, dtype="i2") + 10 * i, np.arange(n) % 3 == 1),
        "snow": np.ma.MaskedArray(np.arange(n, dtype="i4"), np.arange(n) % 2 == 0),
        "packed": np.ma.MaskedArray(np.arange(n, dtype="i2") + 10 * i, np.arange(n) % 3 == 2),
        "name": np.array([f"ž{i}.{k}" for k in range(n)], object),
        "wet": np.arange(n) % 2 == 0,
        "orography": np.array([5.0, 6.0]),
        "area": np.array([[1.0, 2.0]]),
        ".": {
            "time": {".dims": ["time"], "units": "hours since 2000-01-01", "calendar": "standard", "axis": "T"},
            "level": {".dims": ["level"], "units": "hPa"},
            "temperature": {".dims": ["time", "level"], "units": "K", "coordinates": "area"},
            "rain": {".dims": ["time"], "_FillValue": np.int16(-1)},
            "snow": {".dims": ["time"]},
            "packed": {".dims": ["time"], "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": np.int16(-9)},
            "name": {".dims": ["time"]},
            "wet": {".dims": ["time"]},
            "orography": {".dims": ["level"]},
            "area": {".dims": ["one", "level"]},
            ".": {"title": "reports", "station": 100 + i, "site": f"here {i}"},
        },
    }


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    found = [str(tmp_path / f"r{i}.ds") for i in range(len(LENGTHS))]
    for i, (path, n) in enumerate(zip(found, LENGTHS, strict=True)):
        ds.write(path, make(i, n))
    return found


def together(paths: list[str], dim: str = "time", **options: Any) -> Any:
    """Return what xarray makes of the files that are not empty."""
    opened = [xr.open_dataset(path, engine="ds", **options).load() for path in paths]
    parts = [one for one in opened if one.sizes.get(dim, 1)]
    return xr.concat(
        parts, dim, data_vars="minimal", coords="minimal", compat="equals", join="exact", combine_attrs="override"
    )


WAYS: dict[str, dict[str, Any]] = {
    "lazy": {},
    "load": {"load": True},
    "auto": {"chunks": "auto"},
    "engine": {"chunks": {}},
    "files": {"chunks": 2},
    "positions": {"chunks": {"time": 4, "level": 1}},
    "pieces": {"chunks": {"time": 2}},
    "one": {"chunks": -1},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", [{}, {"decode_times": False}, {"mask_and_scale": False}])
def test_the_same_as_xarray_puts_together(paths: list[str], way: str, options: dict[str, Any]) -> None:
    found = ds.open_many(paths, "time", **WAYS[way], **options)
    expected = together(paths, **options)
    assert bool(found.chunks) is ("chunks" in WAYS[way])
    assert {name: found[name].dtype for name in found.variables} == {
        name: expected[name].dtype for name in expected.variables
    }
    xr.testing.assert_identical(pickle.loads(pickle.dumps(found)).load(), expected)
    xr.testing.assert_identical(found.compute(scheduler="threads") if found.chunks else found, expected)
    for name in ("dtype", "_FillValue", "scale_factor", "add_offset", "units", "calendar"):
        assert {key: found[key].encoding.get(name) for key in found.variables} == {
            key: expected[key].encoding.get(name) for key in expected.variables
        }
    xr.testing.assert_identical(found.isel(time=[7, 0, 7], level=-1).load(), expected.isel(time=[7, 0, 7], level=-1))
    xr.testing.assert_identical(found.isel(time=slice(None, None, -3)), expected.isel(time=slice(None, None, -3)))
    points = {"time": xr.DataArray([9, 0, 3], dims="p"), "level": xr.DataArray([0, 1, 1], dims="p")}
    xr.testing.assert_identical(found["temperature"].isel(points).load(), expected["temperature"].isel(points))


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
def test_a_new_dimension(tmp_path: Path, way: str) -> None:
    found = [str(tmp_path / f"r{i}.ds") for i in range(4)]
    for i, path in enumerate(found):
        dataset = make(0, 3)
        dataset["temperature"] = dataset["temperature"] + i
        dataset["latitude"] = 50.0 + i
        dataset["."]["rain"]["coordinates"] = "latitude"
        ds.write(path, dataset)
    opened = [xr.open_dataset(path, engine="ds").load() for path in found]
    expected = xr.concat(
        opened, "file", data_vars="all", coords=["latitude"], compat="equals", join="exact", combine_attrs="override"
    )
    xr.testing.assert_identical(ds.open_many(found, "file", **WAYS[way]).load(), expected)


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
def test_formats_units_and_packing_mixed(paths: list[str], tmp_path: Path, way: str) -> None:
    other = make(6, 2)
    other["time"] = np.array([2.0, 2.5])
    other["."]["time"]["units"] = "days since 2000-01-01"
    other["."]["packed"]["scale_factor"] = 0.25
    paths = [*paths[:2], str(tmp_path / "other.nc"), str(tmp_path / "other.json")]
    ds.write(paths[2], other)
    ds.write(paths[3], make(7, 2))
    found = ds.open_many(paths, "time", **WAYS[way])
    assert (
        found.time.values[-4:].astype("M8[h]").tolist()
        == np.array(["2000-01-03T00", "2000-01-03T12", "2000-01-02T11", "2000-01-02T12"], "M8[h]").tolist()
    )
    assert found.time.encoding["units"] == "hours since 2000-01-01"
    assert found["packed"].values.tolist() == [
        1.0,
        1.5,
        6.0,
        6.5,
        pytest.approx(np.nan, nan_ok=True),
        16,
        16.25,
        36,
        36.5,
    ]
    assert "scale_factor" not in found["packed"].encoding


def test_patterns(paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.makedirs("a/b")
    os.rename("r0.ds", "a/b/z.ds")
    for pattern in ("**/*.ds", Path("**") / "*.ds", str(tmp_path / "**" / "*.ds")):
        found = ds.open_many(pattern, "time")
        assert found["temperature"].values[:, 0].tolist() == [0, 2, 1, 3, 5, 3, 4, 6, 5, 7]
        assert found.time.values[0] == np.datetime64("2000-01-01T00")
    os.chdir("/")
    assert found["rain"].sizes["time"] == 10
    assert np.isnan(found["rain"].values[1])
    for single in ("a/b/z.ds", ["a/b/z.ds"], Path("a/b/z.ds")):
        monkeypatch.chdir(tmp_path)
        assert ds.open_many(single, "time").sizes["time"] == 2
    os.rename("a/b/z.ds", "a/[z].ds")
    assert ds.open_many("a/[z].ds", "time").sizes["time"] == 2
    with pytest.raises(FileNotFoundError, match=r"no file matches the pattern: 'none\*\.ds'"):
        ds.open_many("none*.ds", "time")
    with pytest.raises(FileNotFoundError, match="found none, expected at least one file"):
        ds.open_many([], "time")
    with pytest.raises(FileNotFoundError, match=r"gone\.ds"):
        ds.open_many(["r1.ds", "gone.ds"], "time")


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
def test_order_duplicates_and_sorting(paths: list[str], way: str) -> None:
    order = [paths[i] for i in (3, 0, 3, 1)]
    found = ds.open_many(order, "time", **WAYS[way])
    assert found["rain"].fillna(-1).values.tolist() == [30, 0, -1, 30, 10, -1, 12]
    for sortby in ("time", "rain", "station"):
        found = ds.open_many(order, "time", sortby=sortby, attributes=["station"], **WAYS[way])
        expected = ds.open_many(order, "time", attributes="station", load=True).sortby(sortby)
        xr.testing.assert_identical(found.load(), expected)
    chunked = ds.open_many(order, "time", sortby="time", chunks=1)
    assert chunked.chunks["time"] == (2, 3, 1, 1)


def test_attributes_become_variables(paths: list[str]) -> None:
    found = ds.open_many(paths, "time", attributes=["station", "site"])
    assert found.attrs == {"title": "reports"}
    assert found["station"].values.tolist() == np.repeat(np.arange(100, 106), LENGTHS).tolist()
    assert found["site"].values[[0, -1]].tolist() == ["here 0", "here 5"]
    with pytest.raises(MissingError, match='attribute "stattion" of the dataset not found: did you mean station'):
        ds.open_many(paths, "time", attributes="stattion")


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
def test_what_a_file_lacks(paths: list[str], way: str) -> None:
    lacking = make(1, 3)
    for name in ("rain", "wet", "name", "temperature"):
        del lacking[name]
    ds.write(paths[1], lacking)
    with pytest.raises(MissingError, match=r'r1\.ds: variable "temperature": variable not found'):
        ds.open_many(paths, "time", **WAYS[way])
    found = ds.open_many(paths, "time", missing="fill", **WAYS[way])
    assert np.isnan(found["temperature"].values[2:5]).all()
    assert found["rain"].fillna(-1).values.tolist() == [0, -1, -1, -1, -1, 30, 40, -1, 50, -1]
    assert found["wet"].values.tolist()[:3] == [True, False, pytest.approx(np.nan, nan_ok=True)]
    assert found["name"].values[5] == "ž3.0"
    assert set(ds.open_many(paths, "time", drop_variables=["rain", "wet", "name", "temperature"]).data_vars) == {
        "snow",
        "packed",
        "orography",
        "area",
    }
    assert set(ds.open_many(paths, "time", variables="packed", **WAYS[way]).variables) == {"packed"}


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
def test_what_differs_and_does_not_get_longer(paths: list[str], way: str) -> None:
    other = make(1, 3)
    other["level"] = np.array([1000, 400], "i4")
    ds.write(paths[1], other)
    with pytest.raises(UnsupportedError, match=r'r1\.ds: variable "level": other values than in .*r0\.ds'):
        ds.open_many(paths, "time", **WAYS[way])
    for compat in ("equals", "override"):
        found = ds.open_many(paths, "time", join="override", compat=compat, **WAYS[way])
        assert found.level.values.tolist() == [1000, 500]
    with pytest.raises(UnsupportedError, match=r'r1\.ds: variable "level": other values than in .*r0\.ds'):
        ds.open_many(paths, "time", compat="override", **WAYS[way])
    other["orography"] = np.array([5.0, 7.0])
    ds.write(paths[1], other)
    with pytest.raises(UnsupportedError, match=r'r1\.ds: variable "orography": other values than in .*r0\.ds'):
        ds.open_many(paths, "time", join="override", **WAYS[way])
    found = ds.open_many(paths, "time", compat="override", join="override", **WAYS[way])
    assert found["orography"].values.tolist() == [5, 6]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"join": "outre"},
            ValueError,
            r'join: found \'outre\', expected "exact" or "override" or "outer".*mean outer',
        ),
        ({"join": "exatc"}, ValueError, "did you mean exact"),
        ({"compat": "no_conflicts"}, ValueError, 'compat: found .no_conflicts., expected "equals" or "override"'),
        ({"missing": "fil"}, ValueError, "did you mean fill"),
        ({"decode_time": False}, TypeError, "no parameter 'decode_time': did you mean decode_times"),
        ({"load": True, "chunks": 2}, ValueError, "load and chunks"),
        ({"chunks": 0}, ValueError, "chunks: found 0, expected 1 or more"),
        ({"chunks": True}, ValueError, "chunks: found True"),
        ({"chunks": {"time": "some"}}, ValueError, "chunks: found 'some'"),
        ({"default_fill": "nan"}, ValueError, "default_fill: found 'nan'"),
        ({"sortby": "level"}, UnsupportedError, 'variable "level": cannot sort by it'),
        ({"sortby": "tiem"}, UnsupportedError, 'variable "tiem": cannot sort by it'),
    ],
)
def test_what_is_refused(paths: list[str], options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ds.open_many(paths, "time", **options)


@pytest.mark.parametrize("way", ["lazy", "files"])
@pytest.mark.parametrize(
    "change", [lambda path: ds.write(path, make(5, 1)), os.unlink, lambda path: os.truncate(path, 9)]
)
def test_a_file_that_is_another_one_by_now(paths: list[str], way: str, change: Any) -> None:
    found = ds.open_many(paths, "time", **WAYS[way])
    change(paths[3])
    with pytest.raises(ReplacedError, match=r'r3\.ds: variable "temperature": the file was'):
        found["temperature"].load()
    assert found["temperature"].isel(time=slice(0, 5), level=0).values.tolist() == [0, 2, 1, 3, 5]


def test_values_are_kept_once_they_were_read(paths: list[str]) -> None:
    found = ds.open_many(paths, "time")
    expected = found["rain"].values.copy()
    for path in paths:
        os.unlink(path)
    assert np.array_equal(found["rain"].values, expected, equal_nan=True)
    copy = found["rain"].copy()
    copy.values[0] = 7
    assert found["rain"].values[0] == 0


def test_one_task_for_each_group_of_files(paths: list[str]) -> None:
    found = ds.open_many(paths, "time", chunks=2)
    assert found.chunks == {"time": (5, 1, 4), "level": (2,), "one": (1,)}
    graph = found["temperature"].data.dask
    assert sum(isinstance(key, tuple) for key in graph) == 3
    assert ds.open_many(paths, "time", chunks={"time": 4}).chunks["time"] == (2, 4, 4)
    assert ds.open_many(paths, "time", chunks={"time": 2}).chunks["time"] == (2, 2, 2, 2, 2)
    assert ds.open_many(paths, "time", chunks={"time": (9, 1)}).chunks["time"] == (9, 1)
    assert ds.open_many(paths, "time", chunks={"level": 1}).chunks == {"time": (10,), "level": (1, 1), "one": (1,)}


def test_equal_opens_have_equal_names(paths: list[str]) -> None:
    def name(**options: Any) -> str:
        found: str = ds.open_many(paths, "time", **{"chunks": 2, **options})["rain"].data.name
        return found

    assert name() == name()
    assert name() not in (name(chunks=1), name(decode_times=False), name(mask_and_scale=False), name(sortby="snow"))
    before = name()
    ds.write(paths[0], make(0, 2))
    assert name() != before


def test_groups_are_left_out(tmp_path: Path) -> None:
    path = str(tmp_path / "a.ds")
    ds.write(path, {"x": [1], "g/y": [2], ".": {"x": {".dims": ["t"]}, "g/y": {".dims": ["g/t"]}}})
    assert set(ds.open_many([path, path], "t", load=True).variables) == {"x"}


def month(number: int, height: float = 2.0) -> dict[str, Any]:
    meta = {
        "time": {".dims": ["time"], "units": f"days since 2000-0{number}-01"},
        "height": {".dims": [], "units": "m"},
        "t": {".dims": ["time"], "units": "K", "coordinates": "height"},
        "area": {".dims": ["cell"]},
    }
    return {"time": [0.0, 1.0], "height": height, "t": [number, number + 0.5], "area": [1.0, 2.0], ".": meta}


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
@pytest.mark.parametrize("suffix", [".ds", ".nc"])
def test_indexes_obey_join_alone(tmp_path: Path, way: str, suffix: str) -> None:
    paths = [str(tmp_path / f"{number}{suffix}") for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        ds.write(path, month(number))
    for compat in ("equals", "override"):
        with pytest.raises(UnsupportedError, match=r'variable "time": other values than'):
            ds.open_many(paths, "run", compat=compat, **WAYS[way])
        found = ds.open_many(paths, "run", compat=compat, join="override", **WAYS[way])
        assert found["t"].values.tolist() == [[1, 1.5], [2, 2.5]]


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
@pytest.mark.parametrize("suffix", [".ds", ".nc"])
def test_scalar_coordinates_that_differ(tmp_path: Path, way: str, suffix: str) -> None:
    paths = [str(tmp_path / f"{number}{suffix}") for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        ds.write(path, month(number, 2.0 * number))
    found = ds.open_many(paths, "time", **WAYS[way])
    assert found.coords["height"].dims == ("time",)
    assert found["height"].values.tolist() == [2, 2, 4, 4]
    assert found["height"].attrs == {"units": "m"}
    first = ds.open_many(paths, "time", compat="override", **WAYS[way])
    assert first["height"].values.tolist() == 2
    along = ds.open_many(paths, "run", join="override", stack=["t"], **WAYS[way])
    assert along["height"].dims == ("run",)
    assert along["height"].values.tolist() == [2, 4]
    ds.write(paths[1], month(2))
    assert ds.open_many(paths, "time", **WAYS[way])["height"].dims == ()


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
@pytest.mark.parametrize("compat", ["equals", "override"])
def test_stack_along_a_dimension_that_exists(tmp_path: Path, way: str, compat: str) -> None:
    paths = [str(tmp_path / f"{number}.ds") for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        ds.write(path, {**month(number), "area": [1.0, 1.0 + number]})
    found = ds.open_many(paths, "time", stack=["area"], compat=compat, **WAYS[way])
    assert found["area"].dims == ("time", "cell")
    assert found["area"].values.tolist() == [[1, 2], [1, 2], [1, 3], [1, 3]]


@pytest.mark.parametrize("way", ["lazy", "load", "files"])
def test_units_of_the_first(tmp_path: Path, way: str) -> None:
    paths = [str(tmp_path / f"{number}.ds") for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        dataset = month(number)
        dataset["."]["t"].update(units="K" if number == 1 else "degC", scale_factor=0.5 * number)
        dataset["t"] = (2 * np.array(dataset["t"])).astype("i2")
        ds.write(path, dataset)
    for compat in ("equals", "override"):
        with pytest.raises(UnsupportedError, match=r'units="first"'):
            ds.open_many(paths, "time", compat=compat, **WAYS[way])
    found = ds.open_many(paths, "time", units="first", **WAYS[way])
    assert found["t"].attrs["units"] == "K"
    assert found["t"].values.tolist() == [1, 1.5, 4, 5]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("suffix", ["ds", "nc", "h5"])
@pytest.mark.parametrize("types", ["f4 f8 f4", "f8 f4", "f4 f4 f8"])
def test_floats_of_different_types(tmp_path: Path, way: str, suffix: str, types: str) -> None:
    if suffix == "h5":
        pytest.importorskip("h5py", reason="h5py is not installed")
    found = []
    for i, kind in enumerate(types.split()):
        values = np.array([[0.1, 1 / 3], [np.nan, i]], kind)
        dataset = {
            "time": np.arange(2.0) + 2 * i,
            "x": values,
            "gaps": np.ma.MaskedArray(values, [[False, True], [False, False]]),
            "filled": np.ma.MaskedArray(values, [[True, False], [False, False]]),
            "fixed": np.array([1.5, 2.5], kind),
            ".": {
                "time": {".dims": ["time"], "units": "hours since 2000-01-01"},
                **{name: {".dims": ["time", "level"]} for name in ("x", "gaps")},
                "filled": {".dims": ["time", "level"], "_FillValue": np.array(-9, kind)[()]},
                "fixed": {".dims": ["level"]},
            },
        }
        found.append(str(tmp_path / f"{i}.{suffix}"))
        ds.write(found[-1], dataset)
        ds.write(tmp_path / f"{i}.ds", dataset)
    expected = together([f"{os.path.splitext(path)[0]}.ds" for path in found])
    many = ds.open_many(found, "time", **WAYS[way])
    for name in ("x", "gaps", "filled", "fixed"):
        assert many[name].dtype == many[name].values.dtype == expected[name].dtype
        assert np.array_equal(many[name].values, expected[name].values, equal_nan=True)
        assert np.array_equal(many[name][1:].values, expected[name][1:].values, equal_nan=True)
    assert many["x"].dtype == "f8"
