"""The engine of xarray on files that are elsewhere."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from .server import Server

pytest.importorskip("urllib3", reason="needs urllib3, of the extra remote")

xarray = pytest.importorskip("xarray")
Serve = Callable[..., Server]
GRID = np.random.default_rng(3).normal(size=(12, 400, 900)).astype("f4")
DATASET: dict[str, Any] = {
    "time": np.arange(12.0),
    "names": np.array(["a", "bc", "d"], object),
    "count": np.ma.MaskedArray([1, 2, 3], [False, True, False]),
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
