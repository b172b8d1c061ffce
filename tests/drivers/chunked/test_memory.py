"""What reading chunks takes of memory."""

from __future__ import annotations

import contextlib
import importlib
import threading
from pathlib import Path
from typing import Any

import pytest

from ds_format.codec import slab_reading
from ds_format.drivers import chunked
from ds_format.kernels.hdf5 import chunks

from .files import numbers, whole

h5py = pytest.importorskip("h5py")
hdf5 = importlib.import_module("ds_format.drivers.hdf5")
HDF5Source = importlib.import_module("ds_format.drivers.hdf5.source").HDF5Source


def test_large_chunks_are_in_memory_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data, threads = tmp_path / "a.h5", numbers((8, 100)), set()

    def put_chunks(*args: Any) -> tuple[int, bool]:
        threads.add(threading.get_ident())
        return chunks.put_chunks(*args)

    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=data, chunks=(1, 100), compression="gzip")
    monkeypatch.setattr("ds_format.base.threads.processors", lambda: 4)
    monkeypatch.setattr(slab_reading, "PIECE_SIZE", 1)
    monkeypatch.setattr(slab_reading, "MAX_MEMORY", 1000)
    monkeypatch.setattr(slab_reading, "put_chunks", put_chunks)
    with contextlib.closing(HDF5Source(path)) as source:
        found = source._prepare(source._variable("x"), whole(data.shape))()
    assert found.tobytes() == data.tobytes()
    assert threads == {threading.get_ident()}


def test_a_large_chunk_is_not_in_memory_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=numbers((8, 100)), chunks=(4, 100), compression="gzip")
    for size, is_left in ((2000, False), (1000, True)):
        monkeypatch.setattr(chunked, "LARGE_SIZE", size)
        with contextlib.closing(HDF5Source(path)) as source:
            variable = source._variable("x")
            assert (source._prepare(variable, (slice(0, 1), slice(0, 100))) is None) == is_left
            assert source._prepare(variable, whole((8, 100))) is not None
