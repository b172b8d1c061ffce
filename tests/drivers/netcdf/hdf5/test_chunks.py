"""Chunks of netCDF-4 files that are read without the library, held equal to what it reads."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.body.body import open_body
from ds_format.drivers import netcdf
from ds_format.drivers.netcdf.hdf5.source import NetCDF4Source
from ds_format.errors import DsError, Unusual

from ...chunks import assert_same, numbers, whole

h5py = pytest.importorskip("h5py")


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("fill", [None, False, 5])
@pytest.mark.parametrize("code", ["f4", "i2", "u8"])
@pytest.mark.parametrize("options", [{}, {"zlib": True}, {"zlib": True, "fletcher32": True, "shuffle": False}])
def test_netcdf(tmp_path: Path, options: dict[str, Any], code: str, fill: Any, order: str) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 11)
        endian: Any = "big" if order == ">" else "little"
        kind = order + code
        v = file.createVariable("v", kind, ("t", "x"), chunksizes=(3, 4), fill_value=fill, endian=endian, **options)
        v.set_auto_maskandscale(False)
        v[:7] = numbers((7, 11), code)
        v[10:12] = numbers((2, 11), code)
    # the chunks between were never written, which with NOFILL may be anything
    assert_same(netcdf, path, "v", (slice(0, 6), slice(0, 11)))
    if fill is not False:
        assert_same(netcdf, path, "v", (slice(0, 12), slice(1, 10)))
        assert_same(netcdf, path, "v", (slice(6, 10), slice(3, 9)))


def test_variables_that_are_shorter_than_their_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("s", None)
        for name, dims, fill in (("a", ("t", "s"), None), ("b", ("t", "s"), 3), ("c", ("t",), None)):
            file.createVariable(name, "i4", dims, zlib=True, fill_value=fill)
        file["a"][:] = numbers((9, 8), "i4")
        file["b"][:4, :3] = numbers((4, 3), "i4")
        file["c"][:5] = numbers((5,), "i4")
    for slices in [whole((9, 8)), (slice(2, 9), slice(1, 3)), (slice(0, 4), slice(0, 3)), (slice(3, 5), slice(2, 4))]:
        assert_same(netcdf, path, "a", slices)
        assert_same(netcdf, path, "b", slices)
    assert_same(netcdf, path, "c", whole((9,)))


def test_a_variable_that_is_not_the_coordinate_of_the_dimension_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        group = file.createGroup("g/h")
        for owner in (file, group):
            owner.createDimension("x", 6)
            owner.createDimension("y", 5)
            owner.createVariable("x", "f4", ("y", "x"), zlib=True)[:] = numbers((5, 6), seed=owner is file)
    assert_same(netcdf, path, "x", whole((5, 6)))
    assert_same(netcdf, path, "g/h/x", whole((5, 6)))


def test_masks_times_and_booleans_are_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 1000)
        v = file.createVariable("v", "f4", ("x",), zlib=True, chunksizes=(64,), fill_value=-1)
        v[:] = np.where(np.arange(1000) % 3, numbers((1000,)), -1)
        v = file.createVariable("b", "i1", ("x",), zlib=True, chunksizes=(64,))
        v.setncattr("dtype", "bool")
        v[:] = np.arange(1000) % 2
    data = ds.read(path)
    assert data["b"].dtype == bool and data["b"].tolist() == [bool(i % 2) for i in range(1000)]
    assert data["v"].mask.tolist() == [not i % 3 for i in range(1000)]
    with contextlib.closing(netcdf.open(path)) as source:
        blocks = list(source.blocks("v", 300))
        assert len(blocks) > 3
        assert np.ma.concatenate(blocks).tolist() == data["v"].tolist()
        assert source.read("v", (np.array([3, 700, 701, 2]),)).tolist() == data["v"][[3, 700, 701, 2]].tolist()


@pytest.mark.parametrize("compression", ["zstd", "blosc_lz4", "blosc_zstd", "blosc_zlib"])
def test_compression_of_numcodecs(tmp_path: Path, compression: Any) -> None:
    pytest.importorskip("numcodecs")
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        if not (file.has_zstd_filter() if compression == "zstd" else file.has_blosc_filter()):
            pytest.skip(f"the netCDF library has no {compression}")
        file.createDimension("x", 5000)
        v = file.createVariable("v", "f8", ("x",), compression=compression, shuffle=True, chunksizes=(999,))
        v[:] = np.arange(5000)
    assert_same(netcdf, path, "v", whole((5000,)))
    assert_same(netcdf, path, "v", (slice(998, 1001),))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=3), st.data())
def test_mutated_files_are_read_or_refused(tmp_path: Path, bytes_: list[tuple[int, int]], data: st.DataObject) -> None:
    good = tmp_path / "good.nc"
    if not good.exists():
        with netCDF4.Dataset(good, "w") as file:
            file.createDimension("t", None)
            file.createDimension("x", 50)
            file.createVariable("v", "f4", ("t", "x"), zlib=True, fletcher32=True)[:] = numbers((30, 50))
    content = bytearray(good.read_bytes())
    with h5py.File(good) as file:
        place = file["v"].id.get_chunk_info_by_coord((0, 0))
    where = data.draw(st.sampled_from([(place.byte_offset, place.size), (0, len(content))]))
    for i, byte in bytes_:
        content[where[0] + i % where[1]] = byte
    bad = tmp_path / "bad.nc"
    bad.write_bytes(content)
    with contextlib.suppress(DsError, Unusual):
        source = NetCDF4Source(open_body(bad))  # the library may end the process
        if np.prod(source.meta["v"][".size"]) < 10**6:
            source.read("v")
