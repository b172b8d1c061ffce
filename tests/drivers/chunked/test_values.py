"""Slabs that are read without the library, held equal to what it reads: of generated files, and of netCDF-4."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import ds_format as ds
from ds_format.codec import filters, slab_reading
from ds_format.drivers import netcdf

from .files import assert_same, both, numbers, whole

h5py = pytest.importorskip("h5py")
hdf5 = importlib.import_module("ds_format.drivers.hdf5")
HDF5Source = importlib.import_module("ds_format.drivers.hdf5.source").HDF5Source

CODES = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2")
PIPELINES: list[dict[str, Any]] = [
    {},
    {"compression": "gzip"},
    {"compression": "gzip", "shuffle": True},
    {"shuffle": True},
    {"fletcher32": True},
    {"compression": "gzip", "shuffle": True, "fletcher32": True},
]


@st.composite
def datasets(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[slice, ...], Any]:
    """Draw a dataset, a slab of it, and what of it is written."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=9))
    chunks = tuple(draw(st.integers(1, n + 2)) for n in shape)
    is_chunked = draw(st.sampled_from([True, True, True, False]))
    options: dict[str, Any] = {"shape": shape, "dtype": draw(st.sampled_from("<>")) + draw(st.sampled_from(CODES))}
    if is_chunked:
        options |= {"chunks": chunks, "maxshape": tuple(max(n, c) for n, c in zip(shape, chunks, strict=True))}
        options |= draw(st.sampled_from(PIPELINES))
    if draw(st.booleans()):
        options["fillvalue"] = 7
    slices = []
    for n in shape:
        start = draw(st.sampled_from([0, draw(st.integers(0, n - 1))]))
        slices.append(slice(start, draw(st.sampled_from([n, draw(st.integers(start + 1, n))]))))
    written = [slice(0, draw(st.sampled_from([n, n, draw(st.integers(0, n))]))) for n in shape]
    return options, tuple(slices), tuple(written)


@pytest.mark.filterwarnings("ignore:.*which holds the same values")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    drawn=datasets(),
    is_deflate=st.booleans(),
    piece=st.sampled_from([8, 200, slab_reading.PIECE_SIZE]),
)
def test_datasets(tmp_path: Path, drawn: Any, is_deflate: bool, piece: int) -> None:
    options, slices, written = drawn
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", **options)
        part = tuple(slice(s.start, s.stop) for s in written)
        dataset[part] = numbers(tuple(s.stop for s in written), options["dtype"][1:])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slab_reading, "PIECE_SIZE", piece)
        if not is_deflate:
            patch.setattr(filters, "libdeflate", lambda: None)
        found, expected = both(hdf5, path, "x", slices)
    if found is None:
        # a slab that is not one piece of values in one piece; or a chunk at the edge, as large as without filters
        is_even = all(n % step == 0 for n, step in zip(options["shape"], options.get("chunks", ()), strict=False))
        assert "chunks" not in options or not is_even
        return
    assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


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


ROOT = Path(__file__).parents[3]
FILES = sorted(
    path
    for folder in ("tests/golden", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".nc", ".nc4", ".h5") and path.read_bytes()[:4] == b"\x89HDF"
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_of_other_programs(path: Path) -> None:
    try:
        source = HDF5Source(path, skip_unsupported=True)
    except ds.DsError:
        pytest.skip("not read at all")
    with contextlib.closing(source):
        for variable in source._variables.values():
            if variable.shape is None:
                continue
            slices = whole(variable.shape)
            prepared = None if variable.length is not None else source._prepare(variable, slices)
            if prepared is not None:
                found, expected = prepared(), source._fetch(variable, slices)
                assert (found.dtype, found.shape, found.tobytes()) == (
                    expected.dtype,
                    expected.shape,
                    expected.tobytes(),
                )
