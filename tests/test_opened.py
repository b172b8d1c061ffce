"""What holds an open file is not copied: the copy would have the number of a descriptor, and no right to it."""

from __future__ import annotations

import contextlib
import copy
import functools
import multiprocessing
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import binpickle, drivers
from ds_format.body.body import FileBody, OutputBody, Stream
from ds_format.body.lock import Lock
from ds_format.codec.encode import describe
from ds_format.datadings.reader import MsgpackReader, _short_cut
from ds_format.datadings.writer import FileWriter, RawWriter
from ds_format.datasets import arrays_of
from ds_format.drivers.ds.sink import BitStream
from ds_format.drivers.spool import Spool
from ds_format.model.selection import Selection
from ds_format.views.subset import open_subset
from ds_format.zds import ZDSStore, pack
from ds_format.zds.roots import Archive, Folder
from ds_format.zds.store_access import WritableStore

from .formats import SUFFIXES

DATASET = {"x": [1, 2, 3], "name": ["a", "b", "c"], ".": {"x": {".dims": ["i"]}, "name": {".dims": ["i"]}}}
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {protocol}": functools.partial(pickle.dumps, protocol=protocol) for protocol in range(6)},
}


def refused(one: Any, *, told: bool = True, shares: bool = False) -> None:
    """Check that nothing makes a copy of it, unless a copy of one level, which shares what is open."""
    message = "cannot be copied or pickled, for it holds a file that is open here: .* open the file again"
    for name, make in COPIES.items():
        if shares and make is copy.copy:
            continue
        with pytest.raises(TypeError, match=message if told else None):
            pytest.fail(f"{name}: {make(one)!r}")


@pytest.fixture(params=SUFFIXES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"a{request.param}"
    ds.write(path, DATASET)
    return path


def test_sources(path: Path) -> None:
    with contextlib.closing(drivers.open_source(path)) as source:
        refused(source)
        refused([source], shares=True)
    refused(source)
    with open_subset(path, Selection(sel={"i": [0, 1]})) as subset:
        refused(subset)


def test_files_and_variables(path: Path) -> None:
    with ds.open(path) as file:
        with pytest.raises(TypeError, match=f"File of '{path}' cannot be"):
            pickle.dumps(file)
        refused(file)
        refused(file["x"])
        refused({"x": file["x"]}, shares=True)
        assert pickle.loads(pickle.dumps(file["x"][...])).tolist() == [1, 2, 3]


def test_sinks(path: Path) -> None:
    meta = describe(*arrays_of(DATASET))
    before = content(path)
    sink = drivers.load(drivers.find(path)).create(path, meta)
    try:
        refused(sink)
        sink.write("x", [np.array([1, 2, 3])])
        refused(sink)
    finally:
        sink.abort()
    assert content(path) == before


def content(path: Path) -> dict[Path, bytes]:
    """Return the bytes of a file, or of all files in a folder."""
    return {one: one.read_bytes() for one in (path, *path.rglob("*")) if one.is_file()}


def test_map(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", DATASET)
    with ds.open(tmp_path / "a.ds", mmap=True) as file:
        refused(file)


def raw(path: Path) -> Iterator[Any]:
    file = OutputBody.open(path)
    yield from (file, file.section(1), Stream(file), Lock(f"{path}.lock", "the test"))
    yield from (BitStream(file, 0), Spool([], 0, str(path)))


def test_files_below(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(16))
    for one in raw(path):
        refused(one)
    fetcher = _short_cut(FileBody.open(path), bytes(16))
    if hasattr(fetcher, "__self__"):
        refused(fetcher, told=False, shares=True)
        refused(fetcher.__self__, told=False)


def test_writers_of_samples(tmp_path: Path) -> None:
    for kind in (FileWriter, RawWriter):
        with kind(tmp_path / f"{kind.__name__}.msgpack") as writer:
            refused(writer)


@pytest.mark.parametrize("direct", [False, True])
def test_binpickle_files(direct: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.bpk"
    binpickle.dump(np.arange(5), path)
    with binpickle.BinPickleFile(path, direct=direct) as file:
        refused(file)


@pytest.fixture
def store(tmp_path: Path) -> str:
    with ZDSStore.open(tmp_path / "store", mode="w") as store:
        store.put("a", {"n": 1})
    pack(tmp_path / "store", tmp_path / "store.zds")
    return str(tmp_path / "store")


def test_stores(store: str) -> None:
    with ZDSStore.open(store, mode="a") as one:
        for make in COPIES.values():
            with pytest.raises(TypeError, match="a store that is open for writing cannot be pickled"):
                make(one)
    data = "collections/default/meta/data.jsonl"
    workspace = WritableStore(store, None)  # type: ignore[arg-type]
    refused(workspace)
    workspace.release()
    with contextlib.closing(Folder(store)) as folder, contextlib.closing(Archive(f"{store}.zds")) as archive:
        refused(folder.open(data), shares=True)
        refused(archive, shares=True)
        refused(archive.open(data), shares=True)


def test_readers_of_containers_open_anew(store: str, tmp_path: Path) -> None:
    ds.write(tmp_path / "a.msgpack", DATASET)
    with MsgpackReader(tmp_path / "a.msgpack") as reader:
        for make in (copy.copy, lambda one: pickle.loads(pickle.dumps(one))):
            with make(reader) as other:
                assert other._open().file is not reader._open().file
                assert other[2]["x"] == 3
    for path in (store, f"{store}.zds"):
        with ZDSStore.open(path) as one, copy.copy(one) as other:
            assert other["a"] == one["a"] == {"_id": "a", "n": 1}


def first(one: Any) -> int:
    return int(one["x"][0])


def test_it_does_not_get_to_another_process(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.ds", DATASET)
    spawning = multiprocessing.get_context("spawn")
    with ds.open(tmp_path / "a.ds") as file, spawning.Pool(1) as pool:
        with pytest.raises(TypeError, match="open the file again there"):
            pool.apply(first, (file,))
        assert first(file) == 1
    assert os.path.exists(tmp_path / "a.ds")
