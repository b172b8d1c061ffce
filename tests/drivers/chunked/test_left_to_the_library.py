"""What is not read without the library, and is right for all that."""

from __future__ import annotations

import contextlib
import importlib
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from ds_format.codec import pipeline
from ds_format.drivers import chunked
from ds_format.drivers.netcdf.source import NetCDFSource

from .files import assert_same, both, is_left_to_the_library, numbers, whole

h5py = pytest.importorskip("h5py")
hdf5 = importlib.import_module("ds_format.drivers.hdf5")
HDF5Source = importlib.import_module("ds_format.drivers.hdf5.source").HDF5Source

N = 40


def made(**options: Any) -> Callable[[Any], None]:
    def make(file: Any) -> None:
        if "data" not in options and "dtype" not in options:
            options["data"] = numbers((N,))
        file.create_dataset("x", **options)

    return make


def compact(file: Any) -> None:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((N,))
    h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, space, properties)
    file["x"][:] = numbers((N,))


def external(file: Any) -> None:
    beside = Path(file.filename).with_suffix(".raw")
    beside.write_bytes(numbers((N,)).tobytes())
    file.create_dataset("x", (N,), "f4", external=[(os.fspath(beside), 0, 4 * N)])


def virtual(file: Any) -> None:
    layout = h5py.VirtualLayout((N,), "f4")
    file.create_dataset("y", data=numbers((N,)), chunks=(8,))
    layout[:] = h5py.VirtualSource(file["y"])
    file.create_virtual_dataset("x", layout)


def precise(file: Any) -> None:
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(24)
    h5py.h5d.create(file.id, b"x", kind, h5py.h5s.create_simple((N,)))
    file["x"][:] = np.arange(N)


def unfilled(file: Any) -> None:
    dataset = file.create_dataset("x", (N,), "f4", chunks=(8,), fill_time="never")
    dataset[:8] = 1


@pytest.mark.parametrize(
    "make",
    [
        compact,
        external,
        virtual,
        precise,
        unfilled,
        made(chunks=(8,), scaleoffset=3),
        made(data=np.arange(N) % 2 == 1, chunks=(8,)),
        made(data=np.arange(N), dtype=h5py.enum_dtype({"a": 1}, "i4"), chunks=(8,)),
        made(data=np.array([b"abc"] * N), chunks=(8,), compression="gzip"),
    ],
    ids=lambda make: make.__name__,
)
def test_datasets(tmp_path: Path, make: Callable[[Any], None]) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        make(file)
    assert is_left_to_the_library(hdf5, path, "x")
    with h5py.File(path) as file, contextlib.closing(HDF5Source(path)) as source:
        assert np.array_equal(source.read("x"), file["x"][:]) or make.__name__ == "unfilled"


def test_user_block(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        made(chunks=(8,), compression="gzip")(file)
        file.create_dataset("y", data=numbers((N,)))
    assert is_left_to_the_library(hdf5, path, "x")
    assert is_left_to_the_library(hdf5, path, "y")


def test_classic_files(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", N)
        file.createVariable("x", "f4", ("x",))[:] = 1
    with contextlib.closing(NetCDFSource(path)) as source:
        assert source.read("x").tolist() == [1] * N


def test_a_system_without_a_call_to_read_at_a_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows has none: what takes its place is found when the package is imported."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        made(chunks=(8,), compression="gzip")(file)
    monkeypatch.delattr(os, "pread")
    with contextlib.closing(HDF5Source(path)) as source:
        assert np.array_equal(source.read("x"), numbers((N,)))


def test_chunks_at_the_edge_that_went_through_no_filter(tmp_path: Path) -> None:
    """H5Pset_chunk_opts: the mask does not tell, since all chunks at the edge are so."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", (N,), "u1", chunks=(32,), compression="gzip")
        dataset.id.write_direct_chunk((0,), zlib.compress(numbers((32,), "u1").tobytes()))
        dataset.id.write_direct_chunk((32,), numbers((32,), "u1").tobytes(), filter_mask=0)
    with contextlib.closing(HDF5Source(path)) as source:
        variable = source._variable("x")
        assert source._prepare(variable, (slice(0, N),)) is None
        assert source._prepare(variable, (slice(0, 32),)) is not None


def test_a_file_that_this_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        made(chunks=(8,))(file)
        file.flush()
        assert is_left_to_the_library(hdf5, path, "x")
    assert not is_left_to_the_library(hdf5, path, "x")


def test_a_file_that_was_written_to_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        made(chunks=(8,))(file)
    with contextlib.closing(HDF5Source(path)) as source:
        variable = source._variable("x")
        assert source._prepare(variable, whole((N,))) is not None
        os.utime(path, ns=(0, 0))
        assert source._prepare(variable, whole((N,))) is None


def test_chunks_that_the_slab_before_has_crossed(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=numbers((N, N)), chunks=(8, N), compression="gzip")
    with contextlib.closing(HDF5Source(path)) as source:
        variable = source._variable("x")
        for i, is_left in ((0, False), (1, True), (2, True), (9, False), (10, True)):
            assert (source._prepare(variable, (slice(i, i + 1), slice(0, N))) is None) == is_left
        for i in (0, 8):
            assert source._prepare(variable, (slice(i, i + 8), slice(0, N))) is not None


def test_chunks_too_large_to_have_several(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (N,), "u1", chunks=(65 * 1024 * 1024,), maxshape=(None,), compression="gzip")
    assert is_left_to_the_library(hdf5, path, "x")


def test_more_chunks_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        made(chunks=(4,))(file)
        file.create_dataset("y", (1000,), "f4", chunks=(4,))
    assert not is_left_to_the_library(hdf5, path, "x")
    monkeypatch.setattr(chunked, "MAX_CHUNKS", 9)
    assert is_left_to_the_library(hdf5, path, "x")
    assert is_left_to_the_library(hdf5, path, "y")


def test_small_slabs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked, "MIN_SIZE", 4 * N)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        made(chunks=(8,))(file)
    found, _ = both(hdf5, path, "x", (slice(1, N),))
    assert found is None
    assert_same(hdf5, path, "x", whole((N,)))


def test_filters_that_are_not_supported() -> None:
    assert pipeline.find_filter(5, (1,)) is None
    assert pipeline.find_filter(4, (1,)) is None


@pytest.mark.parametrize("maxshape", [(4, None), (None, 6), (4, 6), (None, None), (9, None), (2, None)])
@pytest.mark.parametrize("format", ["earliest", "latest"])
def test_chunks_that_the_library_confuses(tmp_path: Path, maxshape: Any, format: Any) -> None:
    """HDF5 2.0.0 takes the second chunk along the single unlimited axis for that along the last one."""
    path, data = tmp_path / "a.h5", numbers((4, 6), "i4")
    if maxshape[0] == 2:
        data = data[:2]
    with h5py.File(path, "w", libver=format) as file:
        file.create_dataset("x", data=data, chunks=(2, 2), maxshape=maxshape)
    with contextlib.closing(HDF5Source(path)) as source:
        assert source.read("x").tolist() == data.tolist()
    assert is_left_to_the_library(hdf5, path, "x") == (maxshape in [(4, None), (9, None)])
