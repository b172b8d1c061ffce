"""Files: paths, damage, whole or absent, threads, and the libraries beside each other."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import ds_format as ds
from ds_format.drivers import hdf5
from ds_format.drivers.base import Metadata, Sink, Source
from ds_format.drivers.hdf5 import HDF5Warning
from ds_format.errors import DsError, FormatError, TruncatedError, UnsupportedError

from .files import GOLDEN, read_all, var, write_all

ROOT = Path(ds.__file__).parents[1]
META: Metadata = {"x": var(["n"], [3], "int32", missing=False), ".": {}}
DATA = {"x": [np.arange(3, dtype="i4")]}


def test_the_protocols_hold(tmp_path: Path) -> None:
    sink: Sink = hdf5.create(tmp_path / "a.h5", META)
    sink.write("x", DATA["x"])
    sink.commit()
    source: Source = hdf5.open(tmp_path / "a.h5")
    source.close()
    source.close()


def test_suffixes(tmp_path: Path) -> None:
    for name in ("a.h5", "a.hdf5", "a.hdf", "a.he5", "a.H5"):
        ds.write(tmp_path / name, {"x": 1})
        assert ds.read(tmp_path / name)["x"] == 1


@pytest.mark.parametrize("name", ["a.h5", "žluť 😀.h5", "a#b?c%20.h5", "a\\b.h5", "-x", "l" * 250])
def test_any_name(name: str, tmp_path: Path) -> None:
    for path in (tmp_path / name, str(tmp_path / name), os.fsencode(tmp_path / name)):
        write_all(path, META, DATA)
        assert read_all(path)[1]["x"].tolist() == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux alone")
def test_names_that_are_not_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\xfe.h5"
    write_all(path, META, DATA)
    assert read_all(path)[1]["x"].tolist() == [0, 1, 2]
    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff\xfe.h5"]


def test_errors_of_the_system_stay(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hdf5.open(tmp_path / "nowhere.h5")
    with pytest.raises(IsADirectoryError):
        hdf5.open(tmp_path)
    with pytest.raises(IsADirectoryError):
        hdf5.create(tmp_path, META)
    with pytest.raises(FileNotFoundError, match=r"nowhere.a\.h5'"):
        hdf5.create(tmp_path / "nowhere" / "a.h5", META)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"hello\n" * 100, "no HDF5 file, but text: 'hello"),
        (b"CDF\x01", "no HDF5 file, but a classic NetCDF file"),
        (b"\x89HDF\r\n\x1a\n" + bytes(50), "superblock: found 58 bytes"),
    ],
)
def test_what_is_no_hdf5_file(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "a.h5").write_bytes(content)
    with pytest.raises(FormatError, match=rf"a\.h5: {told}"):
        hdf5.open(tmp_path / "a.h5")


def test_a_cut_file(tmp_path: Path) -> None:
    whole = (GOLDEN / "storage.h5").read_bytes()
    for n in (len(whole) - 1, len(whole) // 2, 100):
        (tmp_path / "a.h5").write_bytes(whole[:n])
        with pytest.raises(TruncatedError, match=rf"a\.h5: superblock: found {n} bytes .*, expected {len(whole)}"):
            hdf5.open(tmp_path / "a.h5")


def test_damaged_data_name_the_variable(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        numbers = np.random.default_rng(0).integers(0, 2**31 - 1, 10_000)
        file.create_dataset("v", data=numbers, chunks=(10_000,), compression="gzip", fletcher32=True)
    raw = bytearray((tmp_path / "a.h5").read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 64] = bytes(64)
    (tmp_path / "a.h5").write_bytes(raw)
    source = hdf5.open(tmp_path / "a.h5")
    with pytest.raises(FormatError, match=r'a\.h5: variable "v": '):
        source.read("v")
    with pytest.raises(FormatError, match=r'a\.h5: variable "v": '):
        list(source.blocks("v"))
    source.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["groups", "scales", "netcdf", "attributes", "strings"])
def test_damage_anywhere_is_a_value_an_error_or_a_warning(name: str, tmp_path: Path) -> None:
    whole = (GOLDEN / f"{name}.h5").read_bytes()
    chance = random.Random(name)
    code = "import sys\nfrom tests.drivers.hdf5.test_files import try_all\ntry_all(sys.argv[1:])"
    paths = []
    for i in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(whole))] = chance.randrange(256)
        paths.append(tmp_path / f"{i}.h5")
        paths[-1].write_bytes(damaged)
    # in another process, since the library itself may crash or never return, which would be no failure of ours
    command = [sys.executable, "-c", code, *map(str, paths)]
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=60)
        assert done.returncode <= 0, done.stderr


def try_all(paths: list[str]) -> None:
    for path in paths:
        with attempt(path), ds.open(path) as file:
            for variable in file.values():
                with attempt(path):
                    variable[...]


@contextlib.contextmanager
def attempt(path: str) -> Iterator[None]:
    """Let nothing pass but errors of this package that name the file, and the want of memory."""
    try:
        yield
    except (DsError, MemoryError) as error:
        if getattr(error, "path", path) != path:
            raise ValueError("an error without its file") from error


def test_a_file_replaces_another_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.h5"
    target.write_bytes(b"old")
    target.chmod(0o600)
    sink = hdf5.create(target, META)
    sink.write("x", DATA["x"])
    assert target.read_bytes() == b"old"
    sink.commit()
    sink.abort()
    assert read_all(target)[1]["x"].tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == [target]
    assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(DsError, match="finished"):
        sink.write("x", DATA["x"])


def test_nothing_is_left_of_what_failed(tmp_path: Path) -> None:
    target = tmp_path / "a.h5"
    target.write_bytes(b"old")
    sink = hdf5.create(target, META)
    sink.abort()
    sink.abort()

    def failing() -> Any:
        yield DATA["x"][0][:1]
        raise KeyboardInterrupt

    sink = hdf5.create(target, META)
    with pytest.raises(KeyboardInterrupt):
        sink.write("x", failing())
    sink.abort()
    with pytest.raises(UnsupportedError, match=r'a\.h5: variable "x": found .*float64 that do not fit int32'):
        write_all(target, META, {"x": [np.array((1.5, 2, 3))]})
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_one_source_in_many_threads(tmp_path: Path) -> None:
    data = np.arange(60_000).reshape(300, 200)
    ds.write(tmp_path / "a.h5", {"x": data, "y": data[::-1]}, compression="gzip")
    with ds.open(tmp_path / "a.h5") as file, concurrent.futures.ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda i: (file["x"][i % 300], file["y"][i % 300]), range(900)))
    for i, (x, y) in enumerate(rows):
        assert np.array_equal(x, data[i % 300]) and np.array_equal(y, data[299 - i % 300])


def test_many_files_in_many_threads(tmp_path: Path) -> None:
    def there_and_back(i: int) -> bool:
        data = {"x": np.full(1000, i), "s": np.array([str(i)] * 5, object), ".": {".": {"i": i}}}
        path = tmp_path / f"{i}.{'h5' if i % 2 else 'nc'}"
        ds.write(path, data)
        found = ds.read(path)
        return bool((found["x"] == i).all()) and found["s"].tolist() == [str(i)] * 5 and found["."]["."]["i"] == i

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(there_and_back, range(60)))


@pytest.mark.parametrize("libraries", [["netCDF4", "h5py"], ["h5py", "netCDF4"]])
def test_both_libraries_in_one_process(libraries: list[str], tmp_path: Path) -> None:
    code = f"""
import {libraries[0]}, {libraries[1]}
import ds_format as ds
for i in range(3):
    ds.write("a.nc", {{"x": [1, 2], ".": {{"x": {{".dims": ["x"]}}}}}})
    ds.convert("a.nc", "a.h5")
    ds.convert("a.h5", "a.nc")
    assert ds.read("a.nc")["x"].tolist() == ds.read("a.h5")["x"].tolist() == [1, 2]
with netCDF4.Dataset("a.h5") as a, h5py.File("a.nc") as b:
    assert a["x"][:].tolist() == b["x"][:].tolist() == [1, 2]
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_dimension_scales_do_not_need_the_high_level_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that loads h5py 3.15 after netCDF4 1.7.4 calls the wrong one, which cannot make a scale."""

    def fail(*arguments: object) -> None:
        raise RuntimeError("Unspecified error in H5DSset_scale (return value <0)")

    for name in ("set_scale", "attach_scale"):
        monkeypatch.setattr(h5py.h5ds, name, fail)
    variables = {"t": np.arange(2), "x": np.ones((2, 2, 3)), "y": np.ones((3, 2))}
    meta = {"t": {".dims": ["t"]}, "x": {".dims": ["t", "t", "space"]}, "y": {".dims": ["space", "t"]}}
    ds.write(tmp_path / "a.h5", {**variables, ".": meta})
    monkeypatch.undo()
    with h5py.File(tmp_path / "a.h5") as file:
        assert h5py.h5ds.get_num_scales(file["x"].id, 2) == 1
        assert [h5py.h5ds.is_scale(file[name].id) for name in ("t", "space", "x")] == [True, True, False]
        assert [dim[0].name for dim in file["x"].dims] == ["/t", "/t", "/space"]
        users = [(file[user].name, int(axis)) for user, axis in file["t"].attrs["REFERENCE_LIST"]]
        assert users == [("/x", 0), ("/x", 1), ("/y", 1)]
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["x"].dims[1].detach_scale(file["t"])  # the library understands both lists
        assert len(file["t"].attrs["REFERENCE_LIST"]) == 2


def test_only_hdf5_files_load_the_library(tmp_path: Path) -> None:
    code = (
        "import sys, ds_format as ds\nfor n in ('a.nc', 'a.ds'): ds.write(n, {'x': 1})\nsys.exit('h5py' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})


def test_warnings_are_those_of_the_package() -> None:
    assert issubclass(HDF5Warning, UserWarning)
    with pytest.warns(HDF5Warning, match=r"groups\.h5: "):
        ds.read(GOLDEN / "groups.h5")
