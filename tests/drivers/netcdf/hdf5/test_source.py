"""A netCDF-4 file gives what it gives by the netCDF4 library."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format import hdf5
from ds_format.drivers import netcdf, open_source
from ds_format.drivers.netcdf.hdf5.source import NetCDF4Source, NetCDF4Values
from ds_format.drivers.netcdf.source import NetCDFSource
from ds_format.errors import ReplacedError

from ....fetch_ncarg import folder, netcdf_files
from ....hdf5.files import MAKERS
from ..both import differences

BY_LIBRARY = ("compound",)
"""Files of the library that it must read itself: a type that ds does not have."""


def made(name: str, path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # netCDF4 warns of byte orders that are wanted
        MAKERS[name].make(path)


@pytest.mark.parametrize("name", [name for name, maker in MAKERS.items() if maker.is_netcdf])
def test_a_file_gives_what_it_gives_by_the_library(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.nc"
    made(name, path)
    expected = ["read by the library"] if MAKERS[name].reason is not None or name in BY_LIBRARY else []
    assert differences(path) == expected
    if not expected:
        short, through = ds.read(path), ds.from_netcdf(path)
        assert {key: repr(value) for key, value in short.items()} == {
            key: repr(value) for key, value in through.items()
        }


GOLDEN = sorted((Path(__file__).parents[3] / "golden" / "netcdf").glob("*.nc"))
REAL = netcdf_files(folder()) if folder().is_dir() else []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [path for path in (*GOLDEN, *REAL) if path.read_bytes()[:4] == b"\x89HDF"], ids=str)
def test_files_of_other_programs(path: Path) -> None:
    expected = ["read by the library"] if path.name == "compound.nc" or path.suffix == ".he5" else []
    assert differences(path) == expected


def make(path: Path, n: int) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", n)
        file.createVariable("v", "f4", ("time", "x"), zlib=True, shuffle=True, chunksizes=(1, n))[:3] = np.arange(n)
        file.createVariable("w", "f8", ("x",), fill_value=-1.0)[:] = np.arange(n) - 2.0
        file.createVariable("short", "i2", ("x", "time"))[:, :2] = 7
        file.createVariable("name", str, ("x",))[:2] = np.array(["a", "é"], object)


@pytest.fixture(params=[5, 40_000])
def path(request: Any, tmp_path: Path) -> Path:
    """A file in memory, and a larger one."""
    make(tmp_path / "x.nc", request.param)
    return tmp_path / "x.nc"


READ = """
import sys
import ds_format as ds
ds.read(sys.argv[1])
with ds.open(sys.argv[1]) as file:
    handle = file["v"].handle()
handle.read((0, range(2)))
ds.convert(sys.argv[1], sys.argv[1] + ".ds")
print(sys.modules.keys() & {"netCDF4", "h5py"})
"""


def test_no_library_is_loaded(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_larger_file(path: Path) -> None:
    assert differences(path) == []


def test_a_handle_travels(path: Path) -> None:
    source = open_source(path)
    assert isinstance(source, NetCDF4Source)
    for key in ("v", "short", "name"):
        handle = pickle.loads(pickle.dumps(source.handle(key)))
        assert handle.values is NetCDF4Values and handle.path == str(path)
        assert repr(handle.read((range(2), range(1)) if key != "name" else (range(2),))) == repr(
            source.read(key, (range(2), range(1)) if key != "name" else (range(2),))
        )
        assert len(pickle.dumps(handle)) < 4000
    source.close()


def test_a_handle_of_another_file(path: Path) -> None:
    source = open_source(path)
    handle = source.handle("w")
    source.close()
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(ReplacedError, match=r"found \d+ bytes, expected"):
        handle.read()
    path.unlink()
    with pytest.raises(ReplacedError, match="is not there any more"):
        handle.read()


def test_threads_read_at_once(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        source = open_source(path)
        expected = source.read("v")
        handle = source.handle("v")
        for found in threads.map(lambda i: source.read("v") if i % 2 else handle.read(), range(40)):
            assert found.tolist() == expected.tolist()
        source.close()


def test_a_closed_source(path: Path) -> None:
    source: Any = open_source(path)
    expected = source.read("w")
    handle = source.handle("w")
    source.close()
    source.close()
    if source.held:
        assert source.read("w").tolist() == expected.tolist()
    else:
        with pytest.raises(OSError, match="descriptor"):
            source.read("w")
    assert handle.read().tolist() == expected.tolist()
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        pickle.dumps(source)


def test_the_reason_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "x.nc"
    made("compound", path)
    with caplog.at_level(logging.DEBUG, "ds_format"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the type
        source = netcdf.open(path, skip_unsupported=True)
    source.close()
    assert isinstance(source, NetCDFSource)
    assert f"{path}: read by netCDF4: the type" in caplog.text


@pytest.fixture
def unusual_values(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a variable whose values turn out to be unusual when they are read."""
    real = hdf5.values

    def values(body: Any, place: Any, *arguments: Any, **options: Any) -> Any:
        if place.layout.chunk is not None:
            raise hdf5.Unusual("a test")
        return real(body, place, *arguments, **options)

    monkeypatch.setattr(hdf5, "values", values)
    return path


def test_the_library_reads_values_that_are_unusual(unusual_values: Path) -> None:
    assert differences(unusual_values) == []
    assert ds.read(unusual_values)["short"].tolist() == ds.from_netcdf(unusual_values)["short"].tolist()


def test_an_array_that_is_far_larger_than_the_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 2_500_000)
        file.createVariable("v", "f8", ("time", "x"), chunksizes=(1, 1000))
        file.createVariable("time", "i4", ("time",))[:] = [0, 1]
    with ds.open(path) as file, caplog.at_level(logging.DEBUG, "ds_format"):
        assert file["v"][0, :3].mask.all() and "array" not in caplog.text
        assert file["v"][...].mask.all() and os.path.getsize(path) < 2e4
    assert "array of 40000000 bytes" in caplog.text


def test_verify_names_what_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 1000)
        variable = file.createVariable("v", "i4", ("x",), fletcher32=True, chunksizes=(500,))
        variable.units = "a unit"
        variable[:] = np.arange(1000) + 7_000_000
    assert ds.verify(path) == []
    content = path.read_bytes()
    value = content.index(np.int32(7_000_600).tobytes())
    path.write_bytes(content[:value] + b"\0" + content[value + 1 :])
    [problem] = ds.verify(path)
    assert (problem.variable, problem.severity) == ("v", "error") and "checksum" in problem.message
    text = content.index(b"a unit")
    path.write_bytes(content[:text] + b"A" + content[text + 1 :])
    [problem] = ds.verify(path)
    assert (problem.variable, problem.severity) == (None, "error") and "checksum" in problem.message


def test_values_with_missing_ones_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, n_reads, read = tmp_path / "a.nc", [0], hdf5.values

    def counting(*args: Any, **options: Any) -> Any:
        n_reads[0] += 1
        return read(*args, **options)

    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 20)
        variable = file.createVariable("v", "i4", ("x",), zlib=True, fletcher32=True, chunksizes=(7,), fill_value=-9)
        variable[:] = np.ma.masked_equal(np.arange(20), 3)
    monkeypatch.setattr(hdf5, "values", counting)
    assert ds.read(path)["v"].mask.tolist() == [i == 3 for i in range(20)]
    assert n_reads == [1]
