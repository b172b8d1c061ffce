"""Dask arrays into one ds file from two worker processes, one of which may be killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from ..same import same_dataset
from . import lazy
from .dask_datasets import many_kinds, names, write

distributed = pytest.importorskip("distributed", reason="dask.distributed is optional")
dask = pytest.importorskip("dask", reason="dask is optional")
da = pytest.importorskip("dask.array", reason="dask is optional")
parallel = pytest.importorskip("ds_format.xarray_.parallel", reason="dask is optional")

COMPUTE = pytest.mark.parametrize("compute", [True, False])
NUMBERS = np.arange(20)
SECONDS = 60
"""After which something is waited for that will never come."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two worker processes of one thread each, which start anew if they are killed."""
    folder = tmp_path_factory.mktemp("workers")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    # a cluster gives up a worker that does not return in 15 s, which a busy machine may need
    settings = {"distributed.scheduler.allowed-failures": 5, "distributed.deploy.lost-worker-timeout": "1h"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(**options, local_directory=str(folder), silence_logs=50) as cluster,
        distributed.Client(cluster) as opened,
    ):
        yield opened


@pytest.fixture(autouse=True)
def _all_workers(client: Any) -> None:
    """Wait for a worker that was killed by the test before."""
    client.wait_for_workers(2, timeout=SECONDS)


def settle(client: Any) -> None:
    """Wait until no worker has anything left to do."""
    end = time.monotonic() + SECONDS
    while any(client.processing().values()) and time.monotonic() < end:
        time.sleep(0.05)


@COMPUTE
def test_values_are_those_of_the_eager_writer(compute: bool, tmp_path: Path) -> None:
    meta, arrays, expected = many_kinds()
    write(tmp_path / "a.ds", arrays, compute=compute, meta=meta)
    assert names(tmp_path) == ["a.ds"]
    found = ds.read(tmp_path / "a.ds")
    ds.write(tmp_path / "b.ds", {**expected, ".": meta})
    assert same_dataset(found, ds.read(tmp_path / "b.ds"))


@COMPUTE
def test_the_bytes_are_those_of_one_process(compute: bool, tmp_path: Path) -> None:
    meta, arrays, _ = many_kinds()
    write(tmp_path / "a.ds", arrays, compute=compute, meta=meta)
    content = (tmp_path / "a.ds").read_bytes()
    with dask.config.set(scheduler="synchronous"):
        write(tmp_path / "a.ds", arrays, meta=meta)
    assert (tmp_path / "a.ds").read_bytes() == content


def test_both_workers_write(client: Any, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    x = da.ones(40, chunks=1, dtype="i8").map_blocks(lazy.slow, dtype="i8", meta=np.empty(0, "i8"))
    write(tmp_path / "a.ds", {"x": x.map_blocks(lazy.log, folder=str(folder), dtype="i8", meta=np.empty(0, "i8"))})
    processes = {name.split("-")[0] for name in names(folder)}
    assert len(processes) == 2
    assert str(os.getpid()) not in processes


@COMPUTE
@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_a_worker_that_is_killed_in_the_middle(kind: str, compute: bool, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    meta, arrays, _ = many_kinds()
    x = da.arange(200, chunks=2).map_blocks(
        partial(lazy.die_once, marker=str(marker)), dtype="i8", meta=np.empty(0, "i8")
    )
    arrays = {"before": da.ones((50, 30), chunks=(7, 8)), "x": x.astype("U3") if kind == "text" else x, **arrays}
    folder = tmp_path / "files"
    folder.mkdir()
    write(folder / "a.ds", arrays, compute=compute, meta=meta)
    assert marker.exists()
    content = (folder / "a.ds").read_bytes()
    with dask.config.set(scheduler="synchronous"):
        write(folder / "a.ds", arrays, meta=meta)
    assert (folder / "a.ds").read_bytes() == content
    assert names(folder) == ["a.ds"]


@pytest.mark.parametrize("is_text", [False, True])
def test_an_error_leaves_nothing(is_text: bool, client: Any, tmp_path: Path) -> None:
    (tmp_path / "a.ds").write_bytes(b"old")
    x = da.from_array(NUMBERS, chunks=4).map_blocks(lazy.fail, dtype="i8", meta=np.empty(0, "i8"))
    slowly = da.arange(20, chunks=1).map_blocks(lazy.slow, dtype="i8", meta=np.empty(0, "i8"))
    with pytest.raises(ArithmeticError, match="found a 7"):
        write(tmp_path / "a.ds", {"slowly": slowly, "x": x.astype("U9") if is_text else x})
    assert names(tmp_path) == ["a.ds"]
    settle(client)
    assert names(tmp_path) == ["a.ds"]
    assert (tmp_path / "a.ds").read_bytes() == b"old"


@COMPUTE
def test_a_chunk_of_another_shape(compute: bool, tmp_path: Path) -> None:
    x = da.from_array(NUMBERS, chunks=4).map_blocks(lazy.longer, dtype="i8", meta=np.empty(0, "i8"))
    with pytest.raises(ds.DsError, match=r'a\.ds: variable "x": found a chunk of shape \(5,\), expected \(4,\)'):
        write(tmp_path / "a.ds", {"x": x}, compute=compute)


def test_a_worker_that_does_not_see_the_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent/a\.ds"):
        write(tmp_path / "absent" / "a.ds", {"x": da.arange(20, chunks=4)}, compute=False)


@COMPUTE
def test_a_worker_that_does_not_see_the_file(compute: bool, tmp_path: Path) -> None:
    x = da.arange(20, chunks=4).map_blocks(lazy.forget, folder=str(tmp_path), dtype="i8", meta=np.empty(0, "i8"))
    with pytest.raises(FileNotFoundError, match=r"host .* does not see \.a\.ds\..*a\.ds'"):
        write(tmp_path / "a.ds", {"x": x}, compute=compute)
    assert names(tmp_path) == []


def test_a_future_of_a_delayed_file(client: Any, tmp_path: Path) -> None:
    delayed = parallel.write(tmp_path / "a.ds", {}, {"x": da.arange(20, chunks=4)}, compute=False)
    assert names(tmp_path) == []
    future = client.compute(delayed)
    assert future.result(timeout=SECONDS) is None
    assert ds.read(tmp_path / "a.ds")["x"].tolist() == NUMBERS.tolist()
