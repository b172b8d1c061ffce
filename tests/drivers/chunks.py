"""Files of both libraries, and what is read of them with and without these."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ds_format.body.body import open_body
from ds_format.drivers import netcdf
from ds_format.drivers.hdf5.native import PlainValues
from ds_format.drivers.hdf5.source import HDF5Source
from ds_format.drivers.native import NativeSource
from ds_format.drivers.netcdf.hdf5.source import NetCDF4Values
from ds_format.drivers.netcdf.source import NetCDFSource


def both(driver: Any, path: Path, name: str, slices: tuple[slice, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a slab as this package reads it, and as the library does."""
    kind, library = (NetCDF4Values, NetCDFSource) if driver is netcdf else (PlainValues, HDF5Source)
    with contextlib.closing(driver.open(path)) as native, contextlib.closing(library(path)) as source:
        assert isinstance(native, NativeSource)
        return kind(open_body(path))._fetch_looked(native.variables[name], slices)[0], source.fetch(name, slices)


def assert_same(driver: Any, path: Path, name: str, slices: tuple[slice, ...]) -> None:
    """Hold a slab that is read without the library equal to that of the library, bit by bit."""
    found, expected = both(driver, path, name, slices)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


def whole(shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(0, n) for n in shape)


def change(path: Path, offset: int, data: bytes) -> None:
    """Change bytes of a file."""
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def numbers(shape: tuple[int, ...], dtype: Any = "f4", seed: int = 0) -> NDArray[Any]:
    """Return an array of numbers that are all different bytes, and can be compressed."""
    n = int(np.prod(shape)) * np.dtype(dtype).itemsize
    content = np.random.default_rng(seed).integers(0, 100, n, np.uint8)
    return content.view(dtype).reshape(shape)
