"""Calls of the netCDF4 library: files that are open once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import open_source
from ds_format.drivers.netcdf.source import NetCDFSource

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
