"""Datasets of xarray, written and read by two worker processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from .dask_datasets import chunked, example

xr = pytest.importorskip("xarray", reason="needs xarray (extra xarray)")
distributed = pytest.importorskip("distributed", reason="needs dask.distributed (extra dask)")

# of sockets and event loops, which end with the processes
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as found:
        yield found


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("suffix", [".ds", ".nc"])
def test_masks_travel(tmp_path: Path, suffix: str) -> None:
    """Packed numbers with missing values, text and times go from worker to worker."""
    ds.write(tmp_path / f"a{suffix}", chunked(example()))
    found = ds.read(tmp_path / f"a{suffix}", unpack=False)
    assert found["rain"].tolist()[1] == [6, 8, None] and found["note"].tolist() == ["a", None, "", "d"]


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("compute", [True, False])
def test_from_file_to_file(tmp_path: Path, compute: bool) -> None:
    ds.write(tmp_path / "a.ds", example())
    opened = xr.open_dataset(tmp_path / "a.ds", engine="ds", chunks={"time": 3})
    written = ds.write(tmp_path / "b.ds", opened, compute=compute)
    if not compute:
        assert not (tmp_path / "b.ds").exists()
        written.compute()
    found = xr.open_dataset(tmp_path / "b.ds", engine="ds")
    xr.testing.assert_identical(found.load(), opened.compute())
    assert np.ma.is_masked(ds.read(tmp_path / "b.ds", unpack=False)["rain"])
