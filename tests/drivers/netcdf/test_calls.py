"""Calls of the netCDF4 library: slabs, and files that are open once."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import open_source
from ds_format.drivers.netcdf.calls import read_slab
from ds_format.drivers.netcdf.source import NetCDFSource

CODES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")


def make(path: Path, format: Any) -> None:
    with netCDF4.Dataset(path, "w", format=format) as file:
        file.createDimension("t", None)
        file.createDimension("x", 3)
        codes = CODES if format in ("NETCDF4", "NETCDF3_64BIT_DATA") else ("i1", "i2", "i4", "f4", "f8")
        for code in codes:
            file.createVariable(code, code, ("t", "x"))[:4] = np.arange(12).reshape(4, 3)
            file.createVariable(f"{code}_0d", code, ())[...] = 5
        # some positions of these were never written
        file.createVariable("short", "i4", ("t",))[:2] = [1, 2]
        file.createVariable("char", "S1", ("x",))[:] = np.array([b"a", b"b", b"c"])
        if format == "NETCDF4":
            file.createVariable("string", str, ("x",))[:] = np.array(["a", "ž", ""], object)
            orders: list[Any] = [("big", ">i4"), ("little", "<i4")]
            for endian, code in orders:
                file.createVariable(endian, code, ("t", "x"), endian=endian)[:4] = np.arange(12).reshape(4, 3)
            file.createVariable("zipped", "f4", ("t", "x"), zlib=True)[:4] = np.arange(12).reshape(4, 3)
            enum = file.createEnumType("i1", "letters", {"a": 0, "b": 1})
            file.createVariable("enum", enum, ("x",))[:] = [0, 1, 0]


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_all_slabs(tmp_path: Path, format: str) -> None:
    make(tmp_path / "x.nc", format)
    with netCDF4.Dataset(tmp_path / "x.nc") as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        for name, variable in file.variables.items():
            spans = [[slice(0, n), slice(1, 2), slice(1, n), slice(n - 1, n), slice(1, 1)] for n in variable.shape]
            for slices in itertools.product(*spans):
                found, expected = read_slab(variable, slices), variable[slices if slices else ...]
                assert np.shape(found) == np.shape(expected), (name, slices)
                assert np.array_equal(found, expected), (name, slices)
                assert np.asarray(found).dtype == np.asarray(expected).dtype, name


def test_a_library_without_that_function() -> None:
    class Other(SimpleNamespace):
        def __getitem__(self, index: Any) -> Any:
            return np.arange(5)[index]

    assert read_slab(Other(), (slice(1, 3),)).tolist() == [1, 2]


DATASET = {"x": np.arange(4.0), "text": np.array(["a", "bb", "", "ä"], object)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ds.write(tmp_path / "a.nc", DATASET)
    return tmp_path / "a.nc"


def test_it_is_closed_with_the_last_source(path: Path) -> None:
    one, two = NetCDFSource(path), NetCDFSource(path)
    file = one._lease.file
    assert two._lease.file is file
    one.close()
    one.close()
    assert file.isopen() and two.read("text").tolist() == ["a", "bb", "", "ä"]
    two.close()
    assert not file.isopen()
    three = NetCDFSource(path)
    assert three._lease.file is not file and three.read("x").tolist() == [0, 1, 2, 3]
    three.close()


def test_a_forgotten_source_does_not_close_it_for_others(path: Path) -> None:
    one, two = NetCDFSource(path), NetCDFSource(path)
    del one
    assert two.read("x").tolist() == [0, 1, 2, 3]
    file = two._lease.file
    del two
    assert not file.isopen()


def test_a_file_that_took_its_name_is_another_one(path: Path) -> None:
    with ds.open(path) as file:
        ds.write(path, {"x": np.arange(5.0)})
        assert len(ds.read(path)["x"]) == 5
        assert len(file["x"][:]) == 4


def test_classic_files_are_opened_each_time(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("i", 2)
        file.createVariable("x", "f8", ("i",))[:] = [1, 2]
    one, two = NetCDFSource(tmp_path / "a.nc"), NetCDFSource(tmp_path / "a.nc")
    assert one._lease.file is not two._lease.file
    one.close()
    two.close()


def test_threads_that_read_text_of_one_file(path: Path) -> None:
    # with a file that is open several times this crashes the process
    source = open_source(path)
    handle = source.handle("text")
    source.close()
    with ThreadPoolExecutor(8) as threads:
        for text in threads.map(lambda _: handle.read(), range(400)):
            assert text.tolist() == ["a", "bb", "", "ä"]
