"""A library that reads files in a process of its own: the same values, and a crash is an error that names the file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format import drivers
from ds_format.base import isolation
from ds_format.drivers.base import LossWarning
from ds_format.drivers.library import isolated
from ds_format.drivers.library.isolated import IsolatedSource
from ds_format.drivers.netcdf import by_library
from ds_format.errors import DsError, FormatError


def crash(path: str) -> Any:
    """End the process as a library does."""
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(path: str) -> Any:
    """End the process without a signal."""
    os._exit(3)


def wait(path: str) -> Any:
    """Take longer than one waits."""
    time.sleep(60)


def fail(path: str) -> Any:
    """Raise an error that no function of this package catches."""
    raise RuntimeError("a test")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a dimension that only a library makes up, and everything that passes through the pipe."""
    path = tmp_path / "x.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("gaps", "i2", ("x",), fill_value=-1)[:] = [1, -1, 3]
        file.createVariable("text", str, ("x",))[:] = np.array(["a", "", "Ždár"], object)
        file.createVariable("letters", "S1", ("x",))[:] = np.array([b"a", b"b", b"c"])
        file.createVariable("both", file.createCompoundType(np.dtype([("a", "i4")]), "pair"), ("x",))
        file.createVariable("ragged", file.createVLType("i4", "list"), ("x",))
        file.setncatts({"number": np.float32(1.5), "list": np.arange(3), "name": "Brno"})
    with h5py.File(path, "a") as file:
        type_ = h5py.h5t.STD_I32LE.copy()
        type_.set_precision(20)  # a type that only libraries read
        h5py.h5d.create(file.id, b"odd", type_, h5py.h5s.create_simple((3,)))
    return path


def read(path: Path) -> tuple[ds.Dataset, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return ds.read(path, skip_unsupported=True), [str(each.message) for each in caught]


@pytest.mark.filterwarnings("ignore")  # about types
@pytest.mark.parametrize("suffix", ["nc", "h5"])
def test_the_same_dataset_from_another_process(path: Path, suffix: str) -> None:
    path = path.rename(path.with_suffix(f".{suffix}"))
    expected, told = read(path)
    with ds.set(isolate=True):
        found, told_too = read(path)
        assert told and told_too == told
        names = [name for name in found if name != "."]
        if suffix == "nc":  # diff has no structured arrays
            assert found["both"].dtype.names == ("a",) and found.pop("both").tobytes() == expected.pop("both").tobytes()
        assert not ds.diff(found, expected) and str(found["."]) == str(expected["."])
        with ds.open(path, skip_unsupported=True) as source:
            assert source["odd"][1:].tolist() == [0, 0]
            assert [*source] == names


def test_neither_library_is_loaded(path: Path) -> None:
    program = (
        "import sys, warnings, ds_format as ds\n"
        "warnings.simplefilter('ignore')\n"
        "ds.read(sys.argv[1], 'odd')\n"
        "assert [each for each in ds.verify(sys.argv[1])]\n"
        "ds.convert_many([sys.argv[1]], sys.argv[2], skip_unsupported=True)\n"
        "print(*sorted({'netCDF4', 'h5py'} & sys.modules.keys()))\n"
    )
    words = [sys.executable, "-c", program, str(path), str(path.parent / "out")]
    environment = {**os.environ, isolation.VARIABLE: "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("opener", "message"),
    [
        (crash, "netCDF4 crashed when it read it: its process was ended by SIGSEGV"),
        (leave, "netCDF4 crashed when it read it: its process ended with status 3"),
        (wait, "netCDF4 reads it without an end: no answer after 2 s"),
    ],
)
def test_a_crash_names_the_file(opener: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolated.call("netCDF4", "x.nc", os.getpid)
    monkeypatch.setattr(isolated, "PATIENCE", 2.0 if opener is wait else 60.0)
    with pytest.raises(FormatError, match=message) as caught:
        IsolatedSource(tmp_path / "x.nc", "netCDF4", LossWarning, opener)
    assert caught.value.path == str(tmp_path / "x.nc")
    assert isolated.call("netCDF4", "x.nc", os.getpid) != os.getpid()


def test_an_error_that_is_not_expected() -> None:
    with pytest.raises(RuntimeError, match="a test"):
        isolated.call("netCDF4", "x.nc", fail, "x.nc")


def test_verify_and_convert_report_a_crash(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_library, "open_here", crash_with_options)
    [problem] = ds.verify(path)
    assert problem.path == str(path) and problem.severity == "error" and "crashed when it read it" in problem.message
    assert not isolation.is_on()
    [one] = ds.convert_many([path], tmp_path / "out")
    assert one.status == "failed" and "crashed when it read it" in str(one.cause)
    with ds.set(isolate=True), pytest.raises(FormatError, match=r"x\.nc: netCDF4 crashed"):
        ds.read(path)


def crash_with_options(path: str, **options: Any) -> Any:
    """End the process as a library does."""
    crash(path)


def test_a_process_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "_idle", [])
    monkeypatch.setattr(isolated, "_BEGIN", "raise SystemExit({} and 5)")
    with pytest.raises(DsError, match="ended at its start, with status 5"):
        isolated.call("netCDF4", "x.nc", os.getpid)


def test_processes_are_used_again_and_end(path: Path) -> None:
    with ds.set(isolate=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ds.open(path, skip_unsupported=True), ds.open(path, skip_unsupported=True):
            pass
        [process] = isolated._idle
        number = isolated.call("netCDF4", "x.nc", os.getpid)
        ds.read(path, skip_unsupported=True)
        assert isolated._idle == [process] and isolated.call("netCDF4", "x.nc", os.getpid) == number
    process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    assert not process.is_usable


def test_a_source_that_is_closed(path: Path) -> None:
    with ds.set(isolate=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = drivers.open_source(path, skip_unsupported=True)
        handle = source.handle("odd")
        source.close()
        source.close()
        with pytest.raises(DsError, match="the file is closed"):
            source.read("odd")
        assert handle.read().tolist() == [0, 0, 0]


def test_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_process", [])
    for value, expected in {"": False, "0": False, "1": True}.items():
        monkeypatch.setenv(isolation.VARIABLE, value)
        assert isolation.is_on() is expected
    with ds.set(isolate=False):
        assert not isolation.is_on()
        with isolation.isolating():
            assert isolation.is_on()
        ds.set(isolate=True)
        assert isolation.is_on()
    assert isolation.is_on() and isolation._process == []
