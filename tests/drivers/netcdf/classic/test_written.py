"""Classic files that we write: the bytes of the netCDF4 library, and files that other programs read and change."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ds_format as ds
from ds_format.base import threads
from ds_format.body.body import OutputBody
from ds_format.classic.format import read_items
from ds_format.drivers.netcdf.classic import sink
from ds_format.drivers.netcdf.creating import create
from ds_format.drivers.netcdf.format import NetCDFWarning

from ....classic.written import DATASETS, FIXED, FORMATS, SHORTS, TIME, dataset, dims
from ....strategies import datasets, usual_datasets
from ..both import differences
from .copying import copied


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("format", FORMATS)
def test_bytes_of_the_library(
    format: str, name: str, small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr(sink, "SMALL_SIZE", 0)
        monkeypatch.setattr(sink, "PIECE", 2)
        monkeypatch.setattr(sink, "FEW", 0)
    ds.write(tmp_path / "a.nc", DATASETS[name], format=format)
    assert (tmp_path / "a.nc").read_bytes() == copied(tmp_path / "a.nc", tmp_path / "b.nc")
    back = ds.read(tmp_path / "a.nc", unpack=False)
    for key, value in DATASETS[name].items():
        if key != ".":
            assert np.ma.allequal(back[key], value), key
            assert np.array_equal(np.ma.getmaskarray(back[key]), np.ma.getmaskarray(value)), key


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(usual_datasets(), datasets()), st.sampled_from(FORMATS))
def test_random_datasets(tmp_path: Path, data: dict[str, Any], format: str) -> None:
    path = tmp_path / "a.nc"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NetCDFWarning)
        try:
            ds.write(path, data, format=format)
        except ds.UnsupportedError:
            return
    found = path.read_bytes()
    expected = copied(path, tmp_path / "b.nc")
    assert found == expected[: len(found)]
    assert not any(expected[len(found) :])  # the library leaves zeros behind a file without dimensions
    assert differences(path) == []


def test_an_error_of_the_thread_that_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is raised, with names, whether or not other pieces follow; no file stays, and nothing is written later."""
    monkeypatch.setattr(threads, "processors", lambda: 2)
    monkeypatch.setattr(sink, "PIECE", 1000)
    write, positions = OutputBody.write, []

    def full(self: OutputBody, offset: int, data: Any) -> int:
        positions.append(offset)
        if len(positions) == fails:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, offset, data)

    monkeypatch.setattr(OutputBody, "write", full)
    values = np.arange(200_000.0)
    for fails in (2, 100, 201):
        positions.clear()
        with pytest.raises(OSError, match="No space left") as caught:
            ds.write(tmp_path / "a.nc", {"v": values, ".": {"v": dims("n")}}, format="NETCDF3_CLASSIC")
        assert caught.value.filename == str(tmp_path / "a.nc")
        assert [*tmp_path.iterdir()] == []
        assert len(positions) <= fails + 2


def test_values_that_change_while_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks may share one buffer: what the thread has not written yet is a copy."""
    monkeypatch.setattr(threads, "processors", lambda: 2)
    monkeypatch.setattr(sink, "PIECE", 1000)
    write = OutputBody.write

    def slow(self: OutputBody, offset: int, data: Any) -> int:
        time.sleep(0.002)
        return write(self, offset, data)

    monkeypatch.setattr(OutputBody, "write", slow)

    def blocks(dtype: str) -> Iterator[Any]:
        buffer = np.empty(1000, dtype)
        for i in range(100):
            buffer[:] = i
            yield buffer

    types = {"i1": "int8", "i2": "int16", "f8": "float64", "b": "float64"}
    meta = {name: dims("n", **{".type": type_, ".size": [100_000], ".missing": False}) for name, type_ in types.items()}
    made = create(tmp_path / "a.nc", meta, format="NETCDF3_CLASSIC")
    for name in meta:
        made.write(name, blocks(">f8" if name == "b" else name))
    made.commit()
    expected = np.repeat(np.arange(100), 1000)
    back = ds.read(tmp_path / "a.nc")
    for name in meta:
        assert np.array_equal(back[name], expected), name


@pytest.mark.parametrize("format", FORMATS)
def test_blocks_before_all_variables_are_defined(format: str, tmp_path: Path) -> None:
    """The last variable is known by its values alone: the first ones wait for it."""
    given = DATASETS["fixed and records"]
    ds.write(tmp_path / "a.nc", given, format=format)
    ds.write(tmp_path / "a.ds", given)
    ds.convert(tmp_path / "a.ds", tmp_path / "b.nc", format=format)
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_a_variable_without_values_is_filled(tmp_path: Path) -> None:
    ds.write(tmp_path / "a.nc", {"x": None, "y": np.arange(3.0), ".": {"x": {".type": "int16"}}}, format=FORMATS[0])
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        file.set_auto_mask(False)
        assert file["x"][...] == netCDF4.default_fillvals["i2"]
    assert ds.read(tmp_path / "a.nc")["y"].tolist() == [0, 1, 2]


def test_vsize_of_a_large_variable() -> None:
    """In CDF-2 it has 32 bits: the library writes the largest number."""
    from ds_format.classic.composing import lay_out  # noqa: PLC0415
    from ds_format.drivers.netcdf.classic.composing import fills  # noqa: PLC0415

    made = lay_out(2, [("x", 2**31, False)], {}, [("v", np.dtype("f8"), ("x",), {})], fills())
    assert read_items(memoryview(made.header), made.size).variables[0].vsize == 2**32 - 1
    assert made.size == len(made.header) + 2**34


def test_a_dimension_that_is_too_long() -> None:
    from ds_format.classic.composing import lay_out  # noqa: PLC0415
    from ds_format.drivers.netcdf.classic.composing import fills  # noqa: PLC0415

    with pytest.raises(ds.UnsupportedError, match=r'NETCDF3_CLASSIC cannot hold the length 2147483648 of "x"'):
        lay_out(1, [("x", 2**31, False)], {}, [], fills())


@pytest.mark.parametrize("n", [2**31, 2**60, 2**62])
@pytest.mark.parametrize("is_record", [False, True])
def test_sizes_that_no_file_has(n: int, is_record: bool) -> None:
    from ds_format.classic.composing import lay_out  # noqa: PLC0415
    from ds_format.drivers.netcdf.classic.composing import fills  # noqa: PLC0415

    dims = ("t", "x", "y")
    with pytest.raises(ds.UnsupportedError, match="NETCDF3_64BIT_DATA cannot hold a place beyond"):
        lay_out(
            5, [(name, n, is_record and name == "t") for name in dims], {}, [("v", np.dtype("i1"), dims, {})], fills()
        )


def test_netcdf4_is_not_needed(tmp_path: Path) -> None:
    code = f"""
import sys
import ds_format as ds
ds.write({str(tmp_path / "a.nc")!r}, {{"x": [1.5, 2.5], "t": ["a", "b"]}}, format="NETCDF3_CLASSIC")
assert "netCDF4" not in sys.modules, "loaded"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_in_memory() -> None:
    file = io.BytesIO()
    ds.write(file, DATASETS["fixed"], format="NETCDF3_CLASSIC")
    assert file.getvalue()[:4] == b"CDF\x01"
    assert ds.loads(file.getvalue())["b"].tolist() == [0, None, 2, 3, None]


@pytest.mark.parametrize("format", FORMATS)
def test_changed_by_the_library(format: str, tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    ds.write(path, DATASETS["fixed and records"], format=format)
    with netCDF4.Dataset(path, "a") as file:
        file["d"][3:5] = [7.0, 8.0]
        file.createVariable("new", "f8", ("x",))[:] = 2.5
        file["d"].units = "hours since 1999-01-01 and more text than before"
        file.renameVariable("b", "renamed")
        file.renameDimension("x", "longer_name")
    back = ds.read(path)
    assert back["d"].tolist() == [0, 1, 2, 7, 8]
    assert back["new"].tolist() == [2.5] * 5
    assert back["renamed"].tolist() == FIXED[0].tolist()
    assert np.ma.getmaskarray(back["c"])[3:].all()
    assert back["f"][:3].tolist() == ["a", "", "søren"]
    assert ds.read(path)["."]["d"]["units"].startswith("hours since 1999")


PROGRAMS = {
    "ncdump": ["ncdump"],
    "ncks": ["ncks", "-m"],
    "cdo": ["cdo", "-s", "showname"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_read_by_other_programs(name: str, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    values = np.arange(12.0).reshape(3, 2, 2)
    lat, lon = (np.array([50.0, 51.0]), dims("lat", units="degrees_north")), (np.array([5.0, 6.0]), dims("lon"))
    given = dataset(("time",), lat=lat, lon=lon, time=TIME, temp=(values, dims("time", "lat", "lon")))
    for format in FORMATS:
        ds.write(tmp_path / "a.nc", given, format=format)
        done = subprocess.run([*PROGRAMS[name], str(tmp_path / "a.nc")], capture_output=True, text=True, check=True)
        assert "temp" in done.stdout


def test_read_by_scipy_and_xarray(tmp_path: Path) -> None:
    netcdf_file = pytest.importorskip("scipy.io").netcdf_file
    xarray = pytest.importorskip("xarray")
    for format in FORMATS[:2]:
        ds.write(tmp_path / "a.nc", DATASETS["fixed and records"], format=format)
        with netcdf_file(tmp_path / "a.nc", mmap=False) as file:
            assert file.variables["d"][:].tolist() == [0, 1, 2]
            assert file.variables["c"][:].tolist() == SHORTS[0].tolist()
        with xarray.open_dataset(tmp_path / "a.nc", engine="scipy", decode_times=False) as data:
            assert data["d"].values.tolist() == [0, 1, 2]
