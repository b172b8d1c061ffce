"""The engine of xarray on files that are elsewhere."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import hdf5
from ds_format.body.body import MemoryBody

from .server import Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

xarray = pytest.importorskip("xarray")
Serve = Callable[..., Server]
GRID = np.random.default_rng(3).normal(size=(12, 400, 900)).astype("f4")
DATASET: dict[str, Any] = {
    "time": np.arange(12.0),
    "names": np.array(["a", "bc", "d"], object),
    "count": np.ma.MaskedArray(np.array([1, 2, 3], "i4"), [False, True, False]),
    "grid": GRID,
    ".": {
        "time": {".dims": ["time"], "units": "hours since 2000-01-01"},
        "names": {".dims": ["n"]},
        "count": {".dims": ["n"]},
        "grid": {".dims": ["time", "lat", "lon"], "units": "K"},
    },
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("files") / "x.ds"
    ds.write(path, DATASET)
    return path.read_bytes()


def test_opening_takes_one_request(data: bytes, serve: Serve) -> None:
    server = serve({"x.ds": data})
    with xarray.open_dataset(server.url("x.ds?token=1"), engine="ds") as opened:
        assert opened["grid"].dims == ("time", "lat", "lon") and opened["grid"].attrs == {"units": "K"}
        assert opened["time"].values[1] == np.datetime64("2000-01-01T01")
        assert opened["names"].values.tolist() == ["a", "bc", "d"]
        assert np.isnan(opened["count"].values[1])
        assert len(server.requests) == 1
        np.testing.assert_array_equal(opened["grid"][5].values, GRID[5])
        assert len(server.requests) == 2
        assert "token" not in opened.encoding["source"]


def test_pickled_datasets_read_elsewhere(data: bytes, serve: Serve) -> None:
    server = serve({"x.ds": data})
    opened = xarray.open_dataset(server.url("x.ds"), engine="ds")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(opened))["grid"][3].values, GRID[3])
    server.files["x.ds"] = data[:-4] + b"1234"
    with pytest.raises(ds.ReplacedError, match=r"x\.ds"):
        opened["grid"][4].values  # noqa: B018


def test_a_chunk_of_dask_takes_one_request(data: bytes, serve: Serve) -> None:
    pytest.importorskip("dask.array")
    server = serve({"x.ds": data})
    opened = xarray.open_dataset(server.url("x.ds"), engine="ds", chunks={})
    n = opened["grid"].data.npartitions
    assert n > 1
    np.testing.assert_array_equal(opened["grid"].compute(scheduler="synchronous").values, GRID)
    assert len(server.requests) == 1 + n


def netcdf(folder: Path, dataset: dict[str, Any], **options: Any) -> bytes:
    ds.write(folder / "x.nc", dataset, **options)
    return (folder / "x.nc").read_bytes()


@pytest.mark.parametrize("options", [{"format": "NETCDF3_CLASSIC"}, {}, {"compression": "zlib", "chunks": {"time": 1}}])
def test_netcdf_files_take_few_requests(options: dict[str, Any], tmp_path: Path, serve: Serve) -> None:
    entries = {
        **DATASET["."],
        "time": {**DATASET["."]["time"], "bounds": "limits"},
        "limits": {".dims": ["time", "two"]},
    }
    limits = np.arange(24.0).reshape(12, 2)
    # coordinates are behind the grid, which is larger than what comes with the first request
    dataset = {
        "grid": GRID,
        **{key: DATASET[key] for key in ("names", "count", "time")},
        "limits": limits,
        ".": entries,
    }
    server = serve({"x.nc": netcdf(tmp_path, dataset, **options)})
    with xarray.open_dataset(server.url("x.nc"), engine="ds") as opened:
        assert len(server.requests) == 2  # the first and the last bytes, side by side
        assert opened["time"].values[1] == np.datetime64("2000-01-01T01")
        assert opened["limits"].values[1, 1] == np.datetime64("2000-01-01T03")
        assert opened["names"].values.tolist() == ["a", "bc", "d"]
        assert len(server.requests) == 2
        copied = pickle.loads(pickle.dumps(opened))
        np.testing.assert_array_equal(opened["grid"][5].values, GRID[5])
        assert len(server.requests) == 3
        np.testing.assert_array_equal(copied["grid"][7].values, GRID[7])
        assert copied["limits"].values[0, 1] == np.datetime64("2000-01-01T01")
        assert len(server.requests) == 4


@pytest.mark.parametrize("options", [{"format": "NETCDF3_CLASSIC"}, {}, {"compression": "zlib", "chunks": {"n": 2}}])
def test_a_small_netcdf_file_is_requested_once(options: dict[str, Any], tmp_path: Path, serve: Serve) -> None:
    dataset = {key: DATASET[key] for key in ("names", "count", ".")}
    dataset["."] = {key: DATASET["."][key] for key in ("names", "count")}
    server = serve({"x.nc": netcdf(tmp_path, dataset, **options)})
    opened = xarray.open_dataset(server.url("x.nc"), engine="ds")
    opened = pickle.loads(pickle.dumps(opened))
    assert opened["names"].values.tolist() == ["a", "bc", "d"]
    np.testing.assert_array_equal(opened["count"].values, [1, np.nan, 3])
    assert sorted(map(str, server.ranges)) == ["(0, 65536)", "(None, 65536)"]


def test_what_was_read_when_the_file_was_opened_is_not_changed(tmp_path: Path, serve: Serve) -> None:
    server = serve({"x.nc": netcdf(tmp_path, DATASET, format="NETCDF3_CLASSIC")})
    with xarray.open_dataset(server.url("x.nc"), engine="ds", cache=False, decode_times=False) as opened:
        opened["names"].values[0] = "changed"
        opened["count"].values[0] = 7
        assert opened["names"].values[0] == "a" and opened["count"].values[0] == 1


def test_a_damaged_variable_that_is_not_wanted_does_not_matter(tmp_path: Path, serve: Serve) -> None:
    entries = {
        **DATASET["."],
        "time": {**DATASET["."]["time"], "bounds": "limits"},
        "limits": {".dims": ["time", "two"]},
    }
    entries["."] = {".netcdf": {"unlimited": ["time"]}}
    limits = np.arange(24.0).reshape(12, 2)
    data = netcdf(tmp_path, {**DATASET, "grid": GRID[:, :90], "limits": limits, ".": entries})
    objects = hdf5.read_file(MemoryBody("x.nc", data), netcdf=True).datasets
    address = next(each.layout.address for each in objects if each.name == "limits")
    assert address is not None
    server = serve({"x.nc": data[:address] + b"0000" + data[address + 4 :]})
    with xarray.open_dataset(server.url("x.nc"), engine="ds", decode_times=False) as opened:
        np.testing.assert_array_equal(opened["grid"][5].values, GRID[5, :90])
        with pytest.raises(ds.FormatError, match=r"x\.nc.*limits"):
            opened["limits"].values  # noqa: B018
    with pytest.raises(ds.FormatError, match=r"x\.nc.*limits"):
        xarray.open_dataset(server.url("x.nc"), engine="ds")


def test_options_file_objects_and_groups(data: bytes, serve: Serve) -> None:
    server = serve({"x.ds": data})
    options = {"storage_options": {"headers": {"X-Key": "1"}}}
    with xarray.open_dataset(server.url("x.ds"), engine="ds", **options) as opened:
        np.testing.assert_array_equal(opened["grid"].values, GRID)
    assert set(server.received("X-Key", "127.0.0.1")) == {"1"}
    with xarray.open_dataset(io.BytesIO(data), engine="ds") as opened:
        np.testing.assert_array_equal(opened["grid"][2:4].values, GRID[2:4])
    with xarray.open_datatree(server.url("x.ds"), engine="ds") as tree:
        np.testing.assert_array_equal(tree["grid"][0].values, GRID[0])
