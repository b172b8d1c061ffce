"""Kernels, oracle and libraries say the same of HDF5 files: of all writers, in all layouts, random and real ones."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.body.body import FileBody, MemoryBody
from ds_format.drivers.netcdf import opening
from ds_format.errors import UnsupportedError, Unusual
from ds_format.hdf5 import arrays, header
from ds_format.hdf5.records import HDF5Dataset

from ..drivers.netcdf import both
from ..fetch_ncarg import VARIABLE, folder, netcdf_files
from . import drawn, reference
from .files import MAKERS, PROGRAMS, each
from .reading import as_read, different, exact

GOLDEN = Path(__file__).parents[1] / "golden"


def is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8) == reference.SIGNATURE


STORED = [path for kind in ("netcdf", "hdf5") for path in sorted((GOLDEN / kind).iterdir()) if is_hdf5(path)]
REAL = [path for path in netcdf_files(folder()) if is_hdf5(path)] if folder().is_dir() else []

LARGE = 1 << 20
"""Bytes of values that are compared with the oracle; it takes long for more."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that makes a file once."""
    target = tmp_path_factory.mktemp("files")

    def path(name: str) -> Path:
        maker, file = MAKERS[name], target / f"{name}.nc"
        if not file.exists():
            maker.make(file)
        return file

    return path


def differences(path: Path) -> list[str]:
    """Return what kernels, oracle and h5py do not agree about; an empty list if they do."""
    data = path.read_bytes()
    found = []
    for as_netcdf in (False, True):
        try:
            expected: Any = reference.parse(data, as_netcdf)
        except reference.UnknownError:
            expected = None
        for name, body in (("memory", MemoryBody("x", data)), ("file", FileBody.open(path))):
            try:
                read: Any = header.read_file(body, netcdf=as_netcdf)
            except Unusual as error:
                if expected is not None:
                    found.append(f"{name}: {error}")
                continue
            found += [] if expected is None else different(f"{name}, {as_netcdf}", read, expected)
            found += [f"{name}: read what is unusual"] if expected is None else []
    if expected is not None:
        with h5py.File(path) as file:
            for dataset in expected.datasets:
                found += _values(path, data, dataset, file)
    return found


def _values(path: Path, data: bytes, dataset: HDF5Dataset, file: Any) -> list[str]:
    name = dataset.name
    try:
        expected = reference.values(data, dataset) if _size(dataset) < LARGE else _of_library(file[name])
    except reference.UnknownError:
        expected = None
    found = []
    if expected is not None:
        library = _of_library(file[name])
        found += [] if exact(library) == exact(expected) else [f"{name}: oracle {expected!r}, library {library!r}"]
    random = Random(name)
    for where, body in (("memory", MemoryBody("x", data)), ("file", FileBody.open(path))):
        try:
            place = arrays.place_of(dataset)
            read, _ = arrays.values(body, place, as_text=True)
        except Unusual as error:
            found += [] if expected is None else [f"{name}, {where}: {error}"]
            continue
        if expected is None:
            # a filter that the oracle does not have
            expected = _of_library(file[name])
        found += [] if exact(read) == exact(expected) else [f"{name}, {where}: {read!r} ≠ {expected!r}"]
        for _ in range(3):
            part = tuple(_slice(n, random) for n in expected.shape)
            read, _ = arrays.values(body, place, part, as_text=True)
            is_same = exact(read) == exact(expected[part] if part else expected)
            found += [] if is_same else [f"{name}, {where}, {part}: {read!r} ≠ {expected[part]!r}"]
    return found


def _size(dataset: HDF5Dataset) -> int:
    return dataset.type.size * int(np.prod(dataset.shape or ()))


def _slice(n: int, random: Random) -> slice:
    start = random.randint(0, n)
    return slice(start, random.randint(start, n))


def _of_library(dataset: Any) -> Any:
    """Return values as h5py reads them: text of a fixed length as bytes, other text as `str`."""
    if h5py.check_string_dtype(dataset.dtype) is not None and dataset.dtype.kind == "O":
        read = np.asarray(dataset.asstr(errors="replace")[()], object)
    else:
        read = np.asarray(dataset[()], dataset.dtype)
    kind = read.dtype if read.dtype.kind != "b" else np.dtype("i1")
    return read.astype(np.dtype(kind.str).newbyteorder("="))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_makers(program: str) -> None:
    """One test is skipped for each program that is not installed, and not one for each of its files in each module."""
    if not PROGRAMS[program]:
        pytest.skip(f"not installed: {program}")
    assert any(maker.needs == program for maker in MAKERS.values())


@pytest.mark.filterwarnings("ignore:endian-ness")
@pytest.mark.parametrize("name", each())
def test_a_made_file(name: str, made: Callable[[str], Path]) -> None:
    assert differences(made(name)) == []


@pytest.mark.parametrize("name", [name for name, maker in MAKERS.items() if maker.reason is not None])
def test_a_file_that_is_left_to_the_library(name: str, made: Callable[[str], Path]) -> None:
    with pytest.raises(Unusual, match=MAKERS[name].reason):
        header.read_file(FileBody.open(made(name)))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
def test_a_stored_file(path: Path) -> None:
    assert differences(path) == []


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason=f"no files in {folder()}: run tests/fetch_ncarg.py, or set {VARIABLE}")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_a_real_file(path: Path) -> None:
    assert differences(path) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:endian-ness")
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.integers(0, 2**32))
def test_a_random_hdf5_file(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        drawn.hdf5(Path(folder, "x.h5"), Random(seed))
        assert differences(Path(folder, "x.h5")) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:endian-ness")
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.integers(0, 2**32))
def test_a_random_netcdf4_file(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.nc")
        drawn.netcdf4(path, Random(seed))
        assert differences(path) == []
        assert both.differences(path, seed) == []
        assert as_read(ds.read(path)) == as_read(read_by_library(path))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, maker in MAKERS.items() if maker.is_netcdf])
def test_a_made_netcdf4_file_is_read_as_by_the_library(name: str, made: Callable[[str], Path]) -> None:
    try:
        expected: Any = as_read(read_by_library(made(name)))
    except UnsupportedError as error:
        expected = str(error)
    try:
        read: Any = as_read(ds.read(made(name)))
    except UnsupportedError as error:
        read = str(error)
    assert read == expected


def read_by_library(path: Path) -> Any:
    """Read a file by the netCDF4 library alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "KINDS", {})  # of files that are read in one call
        patch.setattr(opening, "open_native", lambda *_: None)
        return ds.read(path)
