"""HDF5 files with and without the marks of netCDF-4: the same answer as the library's, without asking it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

from ds_format import drivers
from ds_format.body.body import open_body
from ds_format.drivers.netcdf.by_library import is_netcdf4 as by_library
from ds_format.drivers.netcdf.hdf5 import recognition
from ds_format.errors import FormatError

GOLDEN = Path(__file__).parents[3] / "golden"
STORED = [path for path in sorted(GOLDEN.glob("*/*")) if path.is_file() and path.read_bytes()[:4] == b"\x89HDF"]


def expected(path: Path) -> bool:
    try:
        return by_library(str(path))
    except FormatError:
        return False


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
def test_a_stored_file(path: Path) -> None:
    assert recognition.is_netcdf4(open_body(path)) is expected(path)


def _scale(file: h5py.File) -> None:
    file.create_dataset("x", data=np.arange(3)).make_scale("x")


def _one_mark(file: h5py.File) -> None:
    file.create_dataset("x", data=np.arange(3)).attrs["CLASS"] = "ARRAY"


def _two_marks(file: h5py.File) -> None:
    _one_mark(file)
    file.create_dataset("g/y", data=np.arange(3)).attrs["NAME"] = "y"


@pytest.mark.parametrize("make", [_scale, _one_mark, _two_marks, lambda file: file.create_group("g")])
@pytest.mark.parametrize("block", [0, 512])
def test_a_file_of_h5py(make: Callable[[h5py.File], None], block: int, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x", "w", userblock_size=block) as file:
        make(file)
    assert recognition.is_netcdf4(open_body(tmp_path / "x")) is expected(tmp_path / "x")


def test_neither_library_is_imported(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "netcdf" / "groups.nc", tmp_path / "netcdf")
    with h5py.File(tmp_path / "hdf5", "w") as file:
        file["x"] = 1
    code = (
        "import sys\nfrom ds_format import drivers\n"
        f"names = [drivers.recognise({str(tmp_path)!r} + '/' + name).name for name in ('netcdf', 'hdf5')]\n"
        "assert names == ['netcdf', 'hdf5'], names\n"
        "sys.exit(bool({'h5py', 'netCDF4'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unusual_file_is_asked_about(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "x", "w") as file:
        file.createCompoundType(np.dtype([("a", "i4")]), "pair")
    found = drivers.recognise(tmp_path / "x")
    assert found is not None
    assert found.name == "netcdf"


def test_a_damaged_file_is_not_netcdf4(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(40))
    assert not recognition.is_netcdf4(open_body(tmp_path / "x"))
