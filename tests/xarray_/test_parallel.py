"""Dask arrays into one ds file, by the schedulers of one machine; `test_cluster` has those of many."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ds_format as ds

from ..conftest import small_disk
from ..same import same_dataset
from ..strategies import chunked
from . import lazy
from .dask_datasets import NUMBERS, da, many_kinds, names, parallel, write

dask = pytest.importorskip("dask", reason="dask is optional")

COMPUTE = pytest.mark.parametrize("compute", [True, False])


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """Processes of all tests here: each imports dask, which takes a second."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(params=["synchronous", "threads", "processes"])
def scheduler(request: pytest.FixtureRequest) -> Iterator[None]:
    pool = {"pool": request.getfixturevalue("processes")} if request.param == "processes" else {"num_workers": 2}
    with dask.config.set(scheduler=request.param, **pool):
        yield


@pytest.mark.usefixtures("scheduler")
@COMPUTE
def test_values_are_those_of_the_eager_writer(compute: bool, tmp_path: Path) -> None:
    meta, arrays, expected = many_kinds()
    write(tmp_path / "a.ds", arrays, compute=compute, meta=meta)
    assert names(tmp_path) == ["a.ds"]
    ds.write(tmp_path / "b.ds", {**expected, ".": meta})
    assert same_dataset(ds.read(tmp_path / "a.ds"), ds.read(tmp_path / "b.ds"))


@pytest.mark.usefixtures("scheduler")
def test_an_empty_variable_may_be_the_last(tmp_path: Path) -> None:
    arrays = {"scalar": np.array(1, "f4"), "empty": da.zeros(0, dtype="f8")}
    write(tmp_path / "a.ds", arrays, meta={key: {} for key in arrays})
    assert ds.read(tmp_path / "a.ds")["scalar"] == 1
    assert ds.verify(tmp_path / "a.ds") == []


@settings(max_examples=50)
@given(drawn=chunked(), compute=st.booleans(), masked=st.booleans())
def test_any_chunks_beside_numpy(
    tmp_path_factory: pytest.TempPathFactory, drawn: Any, compute: bool, masked: bool
) -> None:
    array, chunks = drawn
    if masked:
        array = np.ma.MaskedArray(array, np.random.default_rng(0).random(array.shape) < 0.5)
    path = tmp_path_factory.getbasetemp() / "any.ds"
    with dask.config.set(scheduler="synchronous"):
        lazily = da.from_array(array, chunks=chunks)
        write(path, {"x": lazily}, compute=compute, meta={"x": {".missing": masked}})
    found = np.ma.asanyarray(ds.read(path)["x"])
    expected = np.ma.asanyarray(array.astype(array.dtype.newbyteorder("=")))
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert np.ma.getmaskarray(found).tolist() == np.ma.getmaskarray(expected).tolist()
    assert found.compressed().tobytes() == expected.compressed().tobytes()


@COMPUTE
def test_the_same_file_is_written_by_all_schedulers(compute: bool, tmp_path: Path) -> None:
    meta, arrays, _ = many_kinds()
    contents = set()
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            write(tmp_path / "a.ds", arrays, compute=compute, meta=meta)
        contents.add((tmp_path / "a.ds").read_bytes())
    assert len(contents) == 1


@COMPUTE
def test_what_variables_share_is_computed_once(compute: bool, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    base = da.arange(40, chunks=10).map_blocks(lazy.log, folder=str(folder), dtype="i8", meta=np.empty(0, "i8"))
    arrays = {"x": base, "y": base + 1, "text": base.astype("U3"), "odd": base > 7, "masked": base * 2}
    write(tmp_path / "a.ds", arrays, compute=compute, meta={"masked": {".missing": True}})
    assert len(names(folder)) == 4
    assert ds.read(tmp_path / "a.ds")["masked"].tolist() == [2 * i for i in range(40)]


def test_one_task_per_chunk(tmp_path: Path) -> None:
    x = (da.ones(1000, chunks=10) * 2 + 1).astype("f4")
    delayed = parallel.write(tmp_path / "a.ds", {}, {"x": x}, compute=False)
    tasks = [key[0].rsplit("-", 1)[0] for key in dict(delayed.__dask_graph__()) if isinstance(key, tuple)]
    assert tasks.count("write_chunk") == 100
    assert len(tasks) < 250
    delayed.compute()
    delayed.compute()  # once more, over the first one
    assert ds.read(tmp_path / "a.ds")["x"].tolist() == x.compute().tolist()
    assert names(tmp_path) == ["a.ds"]


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("is_text", [False, True])
def test_an_error_leaves_nothing(is_text: bool, tmp_path: Path) -> None:
    (tmp_path / "a.ds").write_bytes(b"old")
    x = da.from_array(NUMBERS, chunks=4).map_blocks(lazy.fail, dtype="i8", meta=np.empty(0, "i8"))
    with pytest.raises(ArithmeticError, match="found a 7"):
        write(tmp_path / "a.ds", {"x": x.astype("U9") if is_text else x, "y": da.ones(1000, chunks=1)})
    assert names(tmp_path) == ["a.ds"]
    assert (tmp_path / "a.ds").read_bytes() == b"old"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Respond to SIGINT even if the tests run in the background, where a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_an_interrupt_leaves_nothing_and_tasks_that_go_on_make_nothing(scheduler: str, tmp_path: Path) -> None:
    x = da.arange(40, chunks=1).map_blocks(lazy.interrupt, dtype="i8", meta=np.empty(0, "i8"))
    slowly = da.arange(40, chunks=1).map_blocks(lazy.slow, dtype="i8", meta=np.empty(0, "i8"))
    with dask.config.set(scheduler=scheduler, num_workers=4), pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a.ds", {"x": x, "slowly": slowly})
    assert names(tmp_path) == []
    time.sleep(0.5)
    assert names(tmp_path) == []


@COMPUTE
@pytest.mark.parametrize(
    ("change", "text", "message"),
    [
        (lazy.longer, False, r"found a chunk of shape \(5,\), expected \(4,\)"),
        (lazy.longer, True, r"found a chunk of shape \(5,\), expected \(4,\)"),
        (lazy.other, False, "found a chunk of type float32, expected int64"),
        (lazy.other, True, "found a chunk of dtype float64, expected object"),
    ],
)
def test_tasks_that_do_not_keep_what_they_promise(
    change: Any, text: bool, message: str, compute: bool, tmp_path: Path
) -> None:
    x = da.from_array(NUMBERS.astype("U2").astype(object) if text else NUMBERS, chunks=4)
    x = x.map_blocks(change, dtype=x.dtype, meta=np.empty(0, x.dtype))
    with pytest.raises(ds.DsError, match=rf'a\.ds: variable "a/x": {message}'):
        write(tmp_path / "a.ds", {"a/x": x}, compute=compute)
    assert names(tmp_path) == [] or not compute


def test_a_missing_value_where_none_can_be(tmp_path: Path) -> None:
    x = da.from_array(np.ma.masked_equal(NUMBERS, 7), chunks=4)
    with pytest.raises(ds.DsError, match=r'a\.ds: variable "x": a value is missing, although'):
        write(tmp_path / "a.ds", {"x": x})


@COMPUTE
def test_unknown_sizes_are_refused_at_once(compute: bool, tmp_path: Path) -> None:
    x = da.arange(40, chunks=10)
    with pytest.raises(ds.UnsupportedError, match=r'a\.ds: variable "x": found chunks of unknown size'):
        parallel.write(tmp_path / "a.ds", {}, {"y": NUMBERS, "x": x[x > 3]}, compute=compute)
    assert names(tmp_path) == []


@pytest.mark.parametrize("code", ["c16", "M8[s]"])
def test_types_that_the_format_does_not_have_are_refused_at_once(code: str, tmp_path: Path) -> None:
    with pytest.raises(ds.UnsupportedError, match=r'a\.ds: variable "x": dtype: found'):
        parallel.write(tmp_path / "a.ds", {}, {"x": da.zeros(3, dtype=code)}, compute=False)


@COMPUTE
def test_a_folder_that_is_not_there(compute: bool, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent/a\.ds"):
        write(tmp_path / "absent" / "a.ds", {"x": da.arange(3)}, compute=compute)


@COMPUTE
def test_a_relative_path_is_one_of_the_folder_of_the_caller(
    compute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    delayed = parallel.write("a.ds", {}, {"x": da.arange(3)}, compute=compute)
    monkeypatch.chdir(tmp_path)
    if delayed is not None:
        delayed.compute()
    assert ds.read(tmp_path / "folder" / "a.ds")["x"].tolist() == [0, 1, 2]


def test_a_full_disk_is_said_before_anything_is_computed(tmp_path: Path) -> None:
    folder, log = tmp_path / "small", tmp_path / "log"
    folder.mkdir()
    log.mkdir()
    x = da.arange(1_000_000, chunks=1000).map_blocks(
        partial(lazy.log, folder=str(log)), dtype="i8", meta=np.empty(0, "i8")
    )
    with small_disk(folder):
        (folder / "a.ds").write_bytes(b"old")
        with pytest.raises(OSError, match=r"No space left on device: .*a\.ds"):
            write(folder / "a.ds", {"x": x})
        assert names(folder) == ["a.ds"]
        assert (folder / "a.ds").read_bytes() == b"old"
        with pytest.raises(OSError, match=r"No space left on device: .*a\.ds"):
            write(folder / "a.ds", {"x": x}, compute=False)
        assert names(folder) == ["a.ds"]
        assert names(log) == []
        with pytest.raises(OSError, match=r"No space left on device: .*a\.ds"):
            write(folder / "a.ds", {"text": x.astype("U")})
        assert names(folder) == ["a.ds"]


@COMPUTE
@pytest.mark.parametrize("is_text", [False, True])
def test_a_temporary_file_that_a_task_does_not_see(compute: bool, is_text: bool, tmp_path: Path) -> None:
    x = da.arange(20, chunks=4).map_blocks(lazy.forget, folder=str(tmp_path), dtype="i8", meta=np.empty(0, "i8"))
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(FileNotFoundError, match=rf"host {os.uname().nodename} does not see \.a\.ds.*a\.ds'"),
    ):
        write(tmp_path / "a.ds", {"x": x.astype("U") if is_text else x}, compute=compute)
    assert names(tmp_path) == []


def test_old_layout(tmp_path: Path) -> None:
    write(tmp_path / "a.ds", {"x": da.arange(20, chunks=3), "text": da.from_array(np.array(["a"]))}, version="2.0.1")
    assert (tmp_path / "a.ds").read_bytes().startswith(b"{")
    assert ds.read(tmp_path / "a.ds")["x"].tolist() == NUMBERS.tolist()


def test_durable(tmp_path: Path) -> None:
    write(tmp_path / "a.ds", {"x": da.arange(20, chunks=3)}, durable=True)
    assert ds.read(tmp_path / "a.ds")["x"].tolist() == NUMBERS.tolist()


def test_nothing_lazy(tmp_path: Path) -> None:
    for compute in (True, False):
        write(tmp_path / "a.ds", {"x": NUMBERS}, compute=compute)
        assert ds.read(tmp_path / "a.ds")["x"].tolist() == NUMBERS.tolist()
