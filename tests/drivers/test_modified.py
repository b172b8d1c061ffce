"""Files that are rewritten in place while they are read: old and new values never come together."""

import multiprocessing
import os
import threading
import time
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.body.body import FileBody
from ds_format.drivers.handle import PositionedHandle
from ds_format.drivers.hdf5.native import PlainValues
from ds_format.drivers.netcdf.classic.source import ClassicValues
from ds_format.drivers.netcdf.hdf5.source import NetCDF4Values
from ds_format.drivers.netcdf.source import NetCDFSource
from ds_format.kernels.files import batch, files, portable

from .. import formats
from .netcdf.files import leave_to_library

N = 1 << 18
SUFFIXES = [*(suffix[1:] for suffix in formats.SUFFIXES), "nc4", "store"]
AFTER_OPENING = [suffix for suffix in SUFFIXES if suffix != "json"]
"""All but JSON, of which nothing is read after it was opened."""


def written(path, value, n=N):
    """Write a dataset of one value; return the path."""
    if path.suffix == ".h5":
        pytest.importorskip("h5py")
    dataset = {"x": np.full(n, value, "f8"), ".": {"x": {".dims": ["i"]}}}
    if path.suffix == ".nc4":
        ds.write(path, dataset, format="NETCDF4")
    elif path.suffix == ".nc":
        ds.write(path, dataset, format="NETCDF3_64BIT_OFFSET")
    elif path.suffix == ".store":
        ds.write(path.with_suffix(".zds"), dataset)
        ds.zds.unpack(path.with_suffix(".zds"), path)
        os.unlink(path.with_suffix(".zds"))
    else:
        ds.write(path, dataset)
    return path


def size_for(suffix):
    return 1000 if suffix in ("json", "csv", "msgpack", "zds", "store") else N


def touch(path):
    """Rewrite a file in place: of a store each file in it."""
    time.sleep(0.01)  # the clock of file systems has steps
    every = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    for file in every:
        data = file.read_bytes()
        with file.open("r+b") as stream:
            stream.write(data)


@pytest.mark.parametrize("suffix", AFTER_OPENING)
def test_an_open_file_that_is_modified(tmp_path, suffix):
    path = written(tmp_path / f"a.{suffix}", 1.0, size_for(suffix))
    with ds.open(path) as file:
        touch(path)
        with pytest.raises(ds.ReplacedError, match=r"modified|changed"):
            file["x"][:]
        with pytest.raises(ds.ReplacedError):
            list(file["x"].blocks(1 << 16))
    assert ds.read(path)["x"].max() == 1.0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_gets_another_name_is_not_modified(tmp_path, suffix):
    path = written(tmp_path / f"a.{suffix}", 1.0, size_for(suffix))
    with ds.open(path) as file:
        os.rename(path, tmp_path / "other")
        if suffix == "zarr":  # its files are found by their names
            with pytest.raises(ds.ReplacedError):
                file["x"][:10]
            return
        if suffix != "store":
            written(path, 2.0, size_for(suffix))
        assert file["x"][:10].max() == 1.0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_handle_compares_after_reading(tmp_path, suffix, monkeypatch):
    path = written(tmp_path / f"a.{suffix}", 1.0, size_for(suffix))
    source = drivers.open_source(path)
    handle: Any = source.handle("x")
    source.close()
    read = type(handle)._read

    def read_and_touch(self, *arguments):
        values = read(self, *arguments)
        touch(path)
        return values

    monkeypatch.setattr(type(handle), "_read", read_and_touch)
    with pytest.raises(ds.ReplacedError, match=r"a\."):
        handle.read()


@pytest.mark.parametrize("n", [10, N], ids=["small", "large"])
def test_a_file_that_is_modified_while_its_library_opens_it(tmp_path, n, monkeypatch):
    path = written(tmp_path / "a.nc4", 1.0, n)
    leave_to_library(path)
    opened = NetCDFSource.__init__

    def open_and_touch(self, *arguments, **options):
        opened(self, *arguments, **options)
        touch(path)

    monkeypatch.setattr(NetCDFSource, "__init__", open_and_touch)
    for call in (lambda: ds.read(path), lambda: ds.open(path)):
        with pytest.raises(ds.ReplacedError):
            call()


def test_an_error_that_a_change_led_to_is_not_told(tmp_path, monkeypatch):
    path = written(tmp_path / "a.ds", 1.0)
    source = drivers.open_source(path)
    handle: Any = source.handle("x")
    os.truncate(path, 1 << 17)
    with pytest.raises(ds.ReplacedError):
        source.read("x")
    source.close()
    assert isinstance(handle, PositionedHandle)
    with pytest.raises(ds.ReplacedError):
        handle.read()


@pytest.mark.parametrize("suffix", ["ds", "nc", "nc4", "h5", "bpk"])
def test_converting_merging_and_comparing(tmp_path, suffix):
    path, out, touched = written(tmp_path / f"a.{suffix}", 1.0, 12 * N), tmp_path / "out.ds", []  # type: ignore[var-annotated]

    def progress(done, total):
        if not touched:
            touched.append(done)
            touch(path)

    for call in (
        lambda: ds.merge_files("i", [path, path], out, progress=progress),
        lambda: ds.convert(path, out, progress=progress),
        lambda: ds.diff(path, path.with_name("b" + path.suffix), progress=progress),
    ):
        if "diff" in call.__code__.co_names:
            written(path.with_name("b" + path.suffix), 1.0, 12 * N)
        with pytest.raises(ds.ReplacedError):
            call()
        assert touched and not out.exists()
        touched.clear()


def rewrite(path, offset, n, dtype, start):
    """Rewrite the values of a file in place, piece by piece."""
    piece = n // 64
    fd = os.open(path, os.O_WRONLY)
    start.wait(60)
    data = np.full(piece, 2, dtype).tobytes()
    for i in range(64):
        os.pwrite(fd, data, offset + i * len(data))
        time.sleep(0.001)


@pytest.mark.parametrize("suffix", ["ds", "nc", "nc4", "h5"])
def test_another_program_that_rewrites_an_open_file(tmp_path, suffix):
    path = written(tmp_path / f"a.{suffix}", 1.0, 8 * N)
    dtype = ">f8" if suffix == "nc" else "<f8"
    offset = path.read_bytes().find(np.full(8 * N, 1, dtype).tobytes())
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    process = context.Process(target=rewrite, args=(str(path), offset, 8 * N, dtype, start))
    process.start()
    try:
        with ds.open(path) as file:
            variable = file["x"]
            handle = variable.handle()
            readers = [lambda: variable[:], handle.read]
            refused = [False, False]
            start.set()
            while not all(refused):
                for i, read in enumerate(readers):
                    try:
                        values = read()
                    except ds.ReplacedError:
                        refused[i] = True
                    else:
                        assert not refused[i] and values.min() == values.max() == 1.0
    finally:
        process.kill()
        process.join()


@pytest.mark.parametrize(
    ("suffix", "cls", "methods"),
    [
        ("ds", FileBody, ["read_into", "ranges"]),
        ("nc", ClassicValues, ["_whole", "_fetch_looked"]),
        ("nc4", NetCDF4Values, ["_whole", "_fetch_looked"]),
        ("h5", PlainValues, ["_whole", "_fetch_looked"]),
    ],
)
def test_a_program_that_rewrites_a_file_while_it_is_read(tmp_path, suffix, cls, methods, monkeypatch):
    path = written(tmp_path / f"a.{suffix}", 1.0)
    calls: list[int] = []

    def touching(read: Any) -> Any:
        def read_and_touch(self, *arguments):
            values = read(self, *arguments)
            if not calls:
                calls.append(1)
                touch(path)
            return values

        return read_and_touch

    for method in methods:
        monkeypatch.setattr(cls, method, touching(getattr(cls, method)))
    for call in (
        lambda: ds.read(path),
        lambda: ds.read(path, "x", sel={"i": slice(2, N)}),
        lambda: ds.read_many([path, path]),
        lambda: ds.read_many([path, path], dim="i"),
    ):
        with pytest.raises(ds.ReplacedError):
            call()
        assert calls
        calls.clear()


@pytest.mark.parametrize("module", [files, portable])
def test_small_files_are_read_while_they_change(tmp_path, module):
    path = tmp_path / "a"
    path.write_bytes(bytes(1 << 12))
    stop = threading.Event()

    def write():
        with path.open("r+b", 0) as stream:
            while not stop.is_set():
                stream.seek(0)
                stream.write(bytes(1 << 12))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(100):
            try:
                found = [data for data in batch.read_files([str(path)], 1 << 16) if isinstance(data, bytearray)]
                found += [module.open_first(path, 1 << 16)[2], module.read_file(path, 1 << 16)]
            except ds.ReplacedError as error:
                found = [bytearray(1 << 12) if error.path == str(path) else bytearray()]
            assert {len(data) for data in found} <= {1 << 12}
    finally:
        stop.set()
        thread.join()


def test_a_small_file_is_read_again_if_it_changed(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    times: list[int] = []
    read_at = portable.read_at

    def read_and_write(fd, offset, buffer):
        n = read_at(fd, offset, buffer)
        if len(times) < most:
            times.append(1)
            time.sleep(0.01)
            path.write_bytes(b"newer")
        return n

    monkeypatch.setattr(portable, "read_at", read_and_write)
    most = 1
    assert bytes(portable.read_file(path, 99) or b"") == b"newer"
    most = 99
    with pytest.raises(ds.ReplacedError, match="16 times"):
        portable.read_file(path, 99)
