"""Handles: variables that travel, and notice when their file does not stay."""

import base64
import copy
import dataclasses
import importlib.util
import json
import os
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.body.stamp import HOST, Stamp
from ds_format.drivers.handle import FileHandle
from tests.descriptors import n_open

from ..same import same_data

DATASET: dict[str, Any] = {
    "x": np.arange(12.0).reshape(3, 4),
    "m": np.ma.MaskedArray([1, 2, 3], [False, True, False], dtype="i2"),
    "text": np.array(["a", "bb", "c"], object),
    "flags": np.array([True, False, True]),
    "scalar": np.int32(7),
    "none": None,
}


def written(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    ds.write(path, DATASET)
    return path


def handles(path):
    source = drivers.open_source(path)
    try:
        return {key: source.handle(key) for key in source.meta if key != "."}
    finally:
        source.close()


def test_in_threads_and_processes(tmp_path):
    path = written(tmp_path, "ds")
    handle = handles(path)["x"]
    with ThreadPoolExecutor(8) as threads:
        assert {result.tobytes() for result in threads.map(lambda _: handle.read(), range(200))} == {
            DATASET["x"].tobytes()
        }
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        assert same_data(processes.submit(handle.read).result(), DATASET["x"])


def test_it_holds_nothing_open(tmp_path):
    path = written(tmp_path, "ds")
    handle = handles(path)["x"]
    handle.read()
    assert not n_open(path)
    copy.deepcopy(handle)


def change_bytes(path, status):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def cut(path, status):
    os.truncate(path, status.st_size - 8)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def change_header(path, status):
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"a"', b'"b"', 1))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "message"),
    [(change_bytes, "it was written since"), (cut, "found .* bytes, expected"), (change_header, "its header differs")],
)
@pytest.mark.parametrize("size", [10, 20_000])
def test_a_changed_file_is_an_error(tmp_path, change, message, size):
    path = tmp_path / "a.ds"
    ds.write(path, {"x": np.arange(float(size)), ".": {"x": {"units": "a"}}})
    handle = handles(path)["x"]
    handle.read()
    os.utime(path, ns=(10**18, 10**18))
    handle = handles(path)["x"]
    change(path, os.stat(path))
    with pytest.raises(ds.ReplacedError, match=f'a.ds: variable "x": .*{message}'):
        handle.read()


@pytest.mark.parametrize("suffix", ["ds", "json"])
def test_a_removed_file(tmp_path, suffix):
    path = written(tmp_path, suffix)
    found = handles(path)
    path.unlink()
    with pytest.raises(ds.ReplacedError, match=r'a\.\w+: variable "x": the file was opened, and is not there any more'):
        found["x"].read()
    elsewhere = pickle.loads(pickle.dumps(found["x"]).replace(HOST.encode(), b"w" * len(HOST)))
    with pytest.raises(ds.ReplacedError, match=rf"was opened on w+; there is none of this name on {HOST}"):
        elsewhere.read()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_any_more(tmp_path, make):
    path = written(tmp_path, "ds")
    found = handles(path)
    path.unlink()
    make(path)
    with pytest.raises(ds.ReplacedError, match=r'a\.ds: variable "x": the file was opened, and is none any more'):
        found["x"].read()


def test_what_a_handle_says_is_not_trusted(tmp_path):
    path = written(tmp_path, "ds")
    forged = dataclasses.replace(handles(path)["x"], body=2**60)
    with pytest.raises(ds.ReplacedError, match="its header differs"):
        forged.read()


def test_the_inode_counts_on_the_same_host_only():
    stamp = Stamp(10, 20, b"digest", "here", 1)
    stamp.compare(Stamp(10, 20, b"digest", "there", 2), "a.ds")
    with pytest.raises(ds.ReplacedError, match="another file of the same size and time"):
        stamp.compare(Stamp(10, 20, b"digest", "here", 2), "a.ds")


def test_a_small_file_that_was_replaced_before_its_handle_was_made(tmp_path):
    path = written(tmp_path, "ds")
    source = drivers.open_source(path)
    ds.write(path, {"x": np.zeros((3, 4)), "other": np.arange(100)})
    handle = source.handle("x")
    with pytest.raises(ds.ReplacedError):
        handle.read()


def test_other_metadata_under_the_same_stamp(tmp_path):
    path = written(tmp_path, "json")
    handle = handles(path)["x"]
    wrong = FileHandle(handle.origin, "x", (4, 3), "float64", False)
    with pytest.raises(ds.ReplacedError, match="its metadata differ"):
        wrong.read()


def test_of_an_open_file(tmp_path):
    path = written(tmp_path, "ds")
    with ds.open(path) as file:
        handle = file["x"].handle()
    assert same_data(np.asarray(handle.read())[1:, 2], np.arange(12.0).reshape(3, 4)[1:, 2])


def test_a_part_and_packed_values_have_none(tmp_path):
    path = tmp_path / "a.nc"
    ds.write(path, {"x": np.array([1, 2], "i2"), ".": {"x": {"scale_factor": 0.5}}})
    with ds.open(path) as file, pytest.raises(ds.UnsupportedError, match="unpack=False"):
        file["x"].handle()
    with ds.open(path, unpack=False) as file:
        handle = file["x"].handle()
    assert same_data(handle.read(), np.array([1, 2], "i2"))


def test_a_damaged_variable_has_none(tmp_path):
    path = tmp_path / "a.ds"
    ds.write(path, {"x": [1, 2], "y": [3, 4]})
    path.write_bytes(path.read_bytes().replace(b'"int64"', b'"int63"', 1))
    source = drivers.open_source(path)
    with pytest.raises(ds.FormatError, match='variable "x"'):
        source.handle("x")
    assert same_data(source.handle("y").read(), [3, 4])


def test_dask_names_it_by_file_and_variable(tmp_path):
    base = pytest.importorskip("dask.base", reason="dask is not installed")
    path = written(tmp_path, "ds")
    found = handles(path)
    assert base.tokenize(found["x"]) == base.tokenize(handles(path)["x"]) != base.tokenize(found["m"])


OF_0_2_0 = json.loads((Path(__file__).parents[1] / "golden" / "pickles" / "of_0.2.0.json").read_text())


@pytest.mark.parametrize("name", OF_0_2_0)
def test_what_a_former_version_pickled_is_refused_with_a_reason(name: str) -> None:
    if name in ("arrays of dask", "a graph that writes"):
        pytest.importorskip("xarray")
        pytest.importorskip("dask")
    with pytest.raises(ImportError, match=r"pickled by ds_format 0\.2\.0 or before: open the file again"):
        pickle.loads(base64.b64decode(OF_0_2_0[name]))


@pytest.mark.parametrize("name", ["no_such_module", "drivers.no_such_module"])
def test_modules_that_never_existed(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"No module named 'ds_format.{name}'"):
        importlib.import_module(f"ds_format.{name}")
    assert importlib.util.find_spec("ds_format.no_such_module") is None
