"""Many files as one dataset, with `preprocess`, `group` and `join`: what `xarray.open_mfdataset` gives."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.errors import MissingError, MissingGroupError, ReplacedError, UnsupportedError

xr = pytest.importorskip("xarray", reason="needs xarray")
dask = pytest.importorskip("dask", reason="needs dask")

pytestmark = pytest.mark.filterwarnings("ignore:attributes of the dataset differ")

WAYS: dict[str, dict[str, Any]] = {
    "lazy": {},
    "load": {"load": True},
    "engine": {"chunks": {}},
    "files": {"chunks": 2},
}
"""Arguments of `open_many`."""


def field(i: int, lat: Any, n: int = 3, **more: Any) -> dict[str, Any]:
    """Make a field of some hours on some latitudes."""
    lat = np.asarray(lat)
    values = np.arange(n * lat.size, dtype="f8").reshape(n, lat.size) + 100 * i
    meta = {
        "time": {".dims": ["time"], "units": f"hours since 2000-01-0{i + 1}", "bounds": "time_bnds"},
        "time_bnds": {".dims": ["time", "two"]},
        "lat": {".dims": ["lat"], "units": "degrees_north"},
        "t": {".dims": ["time", "lat"], "units": "K"},
        "n": {".dims": ["time", "lat"]},
        "name": {".dims": ["time"]},
        ".": {"title": "fields", "run": i},
    }
    hours = np.arange(n, dtype="f8") * 8
    return {
        "time": hours,
        "time_bnds": np.stack([hours, hours + 8], 1),
        "lat": lat,
        "t": values,
        "n": values.astype("i4"),
        "name": np.array([f"ž{i}.{k}" for k in range(n)], object),
        **more,
        ".": {**meta, **{name: {".dims": ["lat"] if np.ndim(value) else []} for name, value in more.items()}},
    }


def in_group(d: dict[str, Any], group: str) -> dict[str, Any]:
    """Return a dataset whose variables, dimensions and attributes are in a group, beside some in the root."""
    meta = d["."]
    found = {f"{group}/{name}": value for name, value in d.items() if name != "."}
    entries = {
        f"{group}/{name}": {**entry, ".dims": [f"{group}/{dim}" for dim in entry[".dims"]]}
        for name, entry in meta.items()
        if name != "."
    }
    attributes = {f"{group}/{name}": value for name, value in meta["."].items()}
    return {
        "root": np.arange(2),
        **found,
        ".": {"root": {".dims": ["time"]}, **entries, ".": {"site": "x", **attributes}},
    }


def packed(i: int, scale: float) -> dict[str, Any]:
    d = field(i, [1.0, 2.0])
    d["t"] = np.ma.MaskedArray(np.arange(6, dtype="i2").reshape(3, 2), np.arange(6).reshape(3, 2) == 1)
    d["."]["t"] |= {"scale_factor": scale, "add_offset": 1.0, "_FillValue": np.int16(-9)}
    return d


def only_t(opened: Any) -> Any:
    """Take one variable, of the first hours, in other units."""
    found = opened[["t"]].isel(time=slice(None, 2)) - 273.15
    found.attrs = opened.attrs
    return found


def with_run(opened: Any) -> Any:
    """Give each file a position along a new dimension, from the name of the file."""
    run = int(Path(opened.encoding["source"]).stem[1:])
    return opened[["t", "lat"]].isel(time=0, drop=True).assign_coords(run=run)


def renamed(opened: Any) -> Any:
    """Give variables other names, and another coordinate."""
    return opened.rename(t="temperature").assign_coords(step=("time", np.arange(opened.sizes["time"])))


SETS: dict[str, tuple[list[dict[str, Any]], str, dict[str, Any]]] = {
    "a part of each file": ([field(i, [1.0, 2.0]) for i in range(3)], "time", {"preprocess": only_t}),
    "a dimension from file names": ([field(i, [1.0, 2.0]) for i in range(3)], "run", {"preprocess": with_run}),
    "other names": ([field(i, [1.0, 2.0]) for i in range(3)], "time", {"preprocess": renamed}),
    "a group": ([in_group(field(i, [1.0, 2.0], 1 + i), "g/h") for i in range(3)], "time", {"group": "g/h"}),
    "a part of a group": (
        [in_group(field(i, [1.0]), "g") for i in range(2)], "time", {"group": "/g/", "preprocess": only_t}),
    "all positions": ([field(i, [1.0 + i, 2.0 + i, 9.0]) for i in range(3)], "time", {"join": "outer"}),
    "common positions": ([field(i, [1.0 + i, 2.0 + i, 3.0 + i]) for i in range(3)], "time", {"join": "inner"}),
    "positions of the first": ([field(i, [1 + i, 2 + i]) for i in range(2)], "time", {"join": "left"}),
    "positions of the last": ([field(i, [1 + i, 2 + i]) for i in range(2)], "time", {"join": "right"}),
    "names as positions": ([field(i, np.array(["x", f"s{i}"], object)) for i in range(3)], "time", {"join": "outer"}),
    "a group, all positions": (
        [in_group(field(i, [1.0, 2.0 + i]), "g") for i in range(2)], "time", {"group": "g", "join": "outer"}),
    "packings that differ": ([packed(0, 0.5), packed(1, 0.25)], "time", {"preprocess": only_t}),
    "float32 and float64": (
        [{**field(0, [1.0]), "t": np.ones((3, 1), "f4")}, field(1, [2.0])], "time", {"join": "outer"}),
    "no position in common": ([field(0, [1.0]), field(1, [2.0])], "time", {"join": "inner"}),
}  # fmt: skip
"""Files, the dimension, and how they are put together."""


def write_all(datasets: list[dict[str, Any]], folder: Path, suffix: str) -> list[str]:
    paths = [str(folder / f"r{i}{suffix}") for i in range(len(datasets))]
    for path, d in zip(paths, datasets, strict=True):
        ds.write(path, d)
    return paths


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], list[str]]:
    """Return a function: a key of `SETS`, and a suffix → the paths of its files, which are written once."""
    return functools.cache(lambda key, suffix: write_all(SETS[key][0], tmp_path_factory.mktemp("files"), suffix))


@pytest.fixture(scope="module")
def expected_of(written: Callable[[str, str], list[str]]) -> Callable[[str], Any]:
    """Return a function: a key of `SETS` → what xarray gives of the files, which is read once."""

    def read(key: str) -> Any:
        _, dim, options = SETS[key]
        return xr.open_mfdataset(
            written(key, ".ds"),
            engine="ds",
            combine="nested",
            concat_dim=dim,
            data_vars="minimal",
            coords="minimal",
            compat="override",
            combine_attrs="override",
            **{"join": "exact", **options},
        ).load()

    return functools.cache(read)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("suffix", [".ds", ".nc", ".h5"])
@pytest.mark.parametrize("key", SETS)
def test_the_same_as_open_mfdataset(
    written: Callable[[str, str], list[str]],
    expected_of: Callable[[str], Any],
    key: str,
    suffix: str,
    way: str,
    tmp_path: Path,
) -> None:
    _, dim, options = SETS[key]
    paths, expected = written(key, suffix), expected_of(key)
    found = ds.open_many(paths, dim, **WAYS[way], **options)
    if "join" in options or "preprocess" in options:
        assert bool(found.chunks) is (way != "load")
    xr.testing.assert_identical(pickle.loads(pickle.dumps(found)).load(), expected)
    assert {name: variable.dtype for name, variable in found.variables.items()} == {
        name: variable.dtype for name, variable in expected.variables.items()
    }
    found.load().to_netcdf(tmp_path / "again.nc", engine="netcdf4")
    again = xr.load_dataset(tmp_path / "again.nc", engine="netcdf4")
    xr.testing.assert_allclose(again.drop_vars("name", errors="ignore"), expected.drop_vars("name", errors="ignore"))


@pytest.mark.parametrize("way", WAYS)
def test_variables_that_some_files_lack(way: str, tmp_path: Path) -> None:
    datasets = [field(i, [1.0, 2.0 + i]) for i in range(2)]
    del datasets[0]["n"], datasets[0]["."]["n"]
    paths = write_all(datasets, tmp_path, ".ds")
    found = ds.open_many(paths, "time", join="outer", missing="fill", **WAYS[way])
    assert np.isnan(found["n"].values[:3]).all()
    np.testing.assert_array_equal(found["n"].values[3:], [[100, np.nan, 101], [102, np.nan, 103], [104, np.nan, 105]])
    with pytest.raises(MissingError, match=r'r0\.ds: variable "n": .*expected as in .*r1\.ds; missing="fill"'):
        ds.open_many(paths, "time", join="outer", **WAYS[way])
    assert "n" not in ds.open_many(paths, "time", join="outer", drop_variables="n", **WAYS[way])
    with pytest.raises(MissingError, match=r'r0\.ds: variable "n"'):
        ds.open_many(paths, "time", join="outer", variables=["t", "n"], **WAYS[way])
    with pytest.raises(MissingError, match="in none of the files"):
        ds.open_many(paths, "time", join="outer", missing="fill", variables=["t", "q"], **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_constants_and_scalar_coordinates(way: str, tmp_path: Path) -> None:
    datasets = [field(i, [1.0, 2.0], area=np.array([5.0, 6.0 + i]), height=2.0 + i) for i in range(2)]
    for d in datasets:
        d["."]["t"]["coordinates"] = "height"
    paths = write_all(datasets, tmp_path, ".ds")
    with pytest.raises(UnsupportedError, match=r'r1\.ds: variable "area": other values than in .*r0\.ds'):
        ds.open_many(paths, "time", join="outer", **WAYS[way])
    found = ds.open_many(paths, "time", join="outer", drop_variables="area", **WAYS[way])
    native = ds.open_many(paths, "time", drop_variables="area", **WAYS[way])
    assert found["height"].values.tolist() == [2.0] * 3 + [3.0] * 3
    xr.testing.assert_identical(found.load(), native.load())
    found = ds.open_many(paths, "time", join="outer", compat="override", **WAYS[way])
    assert found["area"].values.tolist() == [5.0, 6.0]
    assert found["height"].values == 2.0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dim", ["time", "member"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"attributes": "run"},
        {"stack": ["t", "area"]},
        {"decode_times": False, "units": "first"},
        {"sortby": "time"},
    ],
)
def test_other_options_mean_what_they_mean_without(options: dict[str, Any], dim: str, way: str, tmp_path: Path) -> None:
    order = [1, 0] if "sortby" in options and dim == "time" else [0, 1]
    datasets = [field(i, [1.0, 2.0], area=np.array([5.0, 6.0])) for i in order]
    if dim == "member":
        datasets = [datasets[0], {**datasets[0], "t": datasets[1]["t"]}]
        options = {key: value for key, value in options.items() if key != "sortby"}
    if "decode_times" in options:
        datasets = [datasets[0], {**datasets[0], "t": datasets[1]["t"]}]
    paths = write_all(datasets, tmp_path, ".ds")
    expected = ds.open_many(paths, dim, load=True, **options)
    found = ds.open_many(paths, dim, preprocess=lambda opened: opened, **WAYS[way], **options)
    xr.testing.assert_identical(found.load()[list(expected)], expected)


def test_raw_values_in_other_units_are_refused(tmp_path: Path) -> None:
    paths = write_all([field(i, [1.0]) for i in range(2)], tmp_path, ".ds")
    with pytest.raises(UnsupportedError, match=r'r1\.ds: variable "time": units: found .*expected .*r0\.ds'):
        ds.open_many(paths, "time", join="outer", decode_times=False)


@pytest.mark.parametrize("suffix", [".ds", ".nc"])
def test_a_group_is_read_natively(suffix: str, tmp_path: Path) -> None:
    datasets = [in_group(field(i, [1.0, 2.0]), "sweep_0") for i in range(3)]
    paths = write_all(datasets, tmp_path, suffix)
    found = ds.open_many(paths, "time", group="sweep_0", attributes="run", variables=["t", "time"])
    assert not found.chunks
    assert set(found.variables) == {"t", "time", "run"}
    assert found.attrs == {"title": "fields"}
    assert found["run"].values.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert found["t"].values[[0, 5, 8], 1].tolist() == [1, 105, 205]
    found = ds.open_many(paths, "time", group="sweep_0")
    ds.write(paths[1], datasets[2])
    found["t"].isel(time=[0, 8]).load()
    with pytest.raises(ReplacedError, match=r"r1\."):
        found["t"].isel(time=4).load()


def test_a_group_that_a_file_lacks(tmp_path: Path) -> None:
    paths = write_all([in_group(field(0, [1.0]), "g"), in_group(field(1, [1.0]), "h")], tmp_path, ".ds")
    for options in ({}, {"join": "outer"}, {"preprocess": only_t}):
        with pytest.raises(MissingGroupError, match=r'r1\.ds: group "g" not found'):
            ds.open_many(paths, "time", group="g", **options)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"preprocess": 5}, TypeError, "preprocess: found 5, expected a function"),
        ({"preprocess": lambda opened: None}, TypeError, r"preprocess: it returned NoneType, .*r0\.ds"),
        ({"preprocess": lambda opened: opened["t"]}, TypeError, "preprocess: it returned DataArray"),
        ({"group": 5}, TypeError, "group: found 5"),
        ({"preprocess": renamed, "join": "exact"}, UnsupportedError, r"r1\.ds: index coordinates: .*join=.exact"),
    ],
)
def test_what_is_refused(options: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path) -> None:
    paths = write_all([field(i, [1.0, 2.0 + i]) for i in range(2)], tmp_path, ".ds")
    with pytest.raises(kind, match=message):
        ds.open_many(paths, "time", **options)


def test_an_error_of_preprocess_stays(tmp_path: Path) -> None:
    paths = write_all([field(0, [1.0])], tmp_path, ".ds")
    call: Callable[[Any], Any] = lambda opened: opened["absent"]  # noqa: E731
    with pytest.raises(KeyError, match="absent"):
        ds.open_many(paths, "time", preprocess=call)
