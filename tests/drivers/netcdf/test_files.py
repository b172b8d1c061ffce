"""Files: paths, damage, whole or absent."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.drivers import netcdf
from ds_format.drivers.base import Metadata, Sink, Source
from ds_format.errors import DsError, FormatError, TruncatedError, UnsupportedError

from .files import convert, leave_to_library, make, read_all, var, write_all

META: Metadata = {"x": var(["n"], [3], "int32", missing=False)}
DATA = {"x": np.arange(3, dtype="i4")}


def test_the_protocols_hold(tmp_path: Path) -> None:
    sink: Sink = netcdf.create(tmp_path / "a.nc", META)
    sink.write("x", [DATA["x"]])
    sink.commit()
    source: Source = netcdf.open(tmp_path / "a.nc")
    source.close()


@pytest.mark.parametrize(
    "name", ["a.nc", "žluť 😀.nc", "with space.nc", "a#b?c%20.nc", "http:a.nc", "-x", "l" * 250, "ž" * 120]
)
def test_any_name(name: str, tmp_path: Path) -> None:
    for path in (tmp_path / name, str(tmp_path / name), os.fsencode(tmp_path / name)):
        write_all(path, META, DATA)
        assert read_all(path)[1]["x"].tolist() == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux alone")
def test_names_that_are_not_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\xfe.nc"
    write_all(path, META, DATA)
    assert read_all(path)[1]["x"].tolist() == [0, 1, 2]
    assert os.listdir(os.fsencode(tmp_path)) == [b"\xff\xfe.nc"]


@pytest.mark.skipif(os.sep != "/", reason="a backslash is no character of a name")
def test_a_backslash_is_refused_in_words(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc"):
        pass
    leave_to_library(tmp_path / "a.nc")
    (tmp_path / "a.nc").rename(tmp_path / "a\\b.nc")
    with pytest.raises(UnsupportedError, match="backslash"):
        netcdf.open(tmp_path / "a\\b.nc")


def test_relative_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_all("a.nc", META, DATA)
    assert read_all("a.nc")[1]["x"].tolist() == [0, 1, 2]


def test_errors_of_the_system_stay(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        netcdf.open(tmp_path / "nowhere.nc")
    with pytest.raises(IsADirectoryError):
        netcdf.open(tmp_path)
    with pytest.raises(IsADirectoryError):
        netcdf.create(tmp_path, META)
    with pytest.raises(FileNotFoundError, match=r"nowhere.a\.nc"):
        netcdf.create(tmp_path / "nowhere" / "a.nc", META)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        netcdf.create(tmp_path / "file" / "a.nc", META)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_lack_of_permission(tmp_path: Path) -> None:
    write_all(tmp_path / "a.nc", META, DATA)
    (tmp_path / "a.nc").chmod(0)
    with pytest.raises(PermissionError):
        netcdf.open(tmp_path / "a.nc")


DAMAGED = {
    "nothing": (b"", "the file is empty"),
    "text": (b"hello\n" * 100, "no NetCDF file, but text: 'hello"),
    "page": (b"\n<!DOCTYPE HTML><head>", "no NetCDF file, but an HTML page"),
    "ds": (b"ds-1.0\n{}", "no NetCDF file, but a ds file"),
    "classic magic": (b"CDF\x01", "header: numrecs: found the end of the file at byte 4, expected 4 bytes"),
    "HDF5 magic": (b"\x89HDF\r\n\x1a\n" + b"\0" * 50, "superblock"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_no_netcdf_file(name: str, tmp_path: Path) -> None:
    content, told = DAMAGED[name]
    (tmp_path / "a.nc").write_bytes(content)
    with pytest.raises(FormatError, match=rf"a\.nc: {told}"):
        netcdf.open(tmp_path / "a.nc")


@pytest.mark.parametrize("records", [False, True], ids=["fixed", "records"])
@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_a_cut_classic_file(format: str, records: bool, tmp_path: Path) -> None:
    # the library reads zeros there
    path = tmp_path / "a.nc"
    with make(path, format, t=None if records else 10, n=3) as file:
        file.setncattr("title", "odd")
        file.createVariable("first", "i2", ("t", "n"))[0:10] = np.ones((10, 3))
        file.createVariable("last", "i2", ("t",))[0:10] = np.ones(10)
        file.createVariable("before", "f8", ("n",))[:] = 1
    whole = path.read_bytes()
    _, data = read_all(path)
    for cut in range(5, 60, 5):
        path.write_bytes(whole[:-cut])
        source = netcdf.open(path)
        found = {}
        message = f"found {len(whole) - cut} bytes in the file, expected at least"
        for name in data:
            try:
                found[name] = source.read(name)
            except TruncatedError:
                with pytest.raises(TruncatedError, match=rf'a\.nc: variable "{name}": {message}'):
                    next(source.blocks(name))
        source.close()
        assert len(found) < len(data)
        assert all(np.array_equal(found[name], data[name]) for name in found)


def test_one_record_variable_has_no_padding(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", "NETCDF3_CLASSIC", t=None) as file:
        file.createVariable("v", "i1", ("t",))[0:7] = np.arange(7)
    assert read_all(tmp_path / "a.nc")[1]["v"].tolist() == list(range(7))


@pytest.mark.parametrize(("format", "width"), [("NETCDF3_CLASSIC", 4), ("NETCDF3_64BIT_DATA", 8)])
def test_counts_beyond_the_file(format: str, width: int, tmp_path: Path) -> None:
    # the library allocates what they say
    with make(tmp_path / "a.nc", format, n=3) as file:
        file.setncattr("title", "x")
    whole = (tmp_path / "a.nc").read_bytes()
    dimensions = 4 + width + 4
    attributes = dimensions + width + width + 4 + width + 4
    for position in (dimensions, dimensions + width, attributes, attributes + width):
        damaged = bytearray(whole)
        damaged[position] = 0x40
        (tmp_path / "a.nc").write_bytes(damaged)
        with pytest.raises(TruncatedError, match=r"a\.nc: header: .*: found \d+, expected at most as many as fit"):
            netcdf.open(tmp_path / "a.nc")


def test_damaged_data_name_the_variable(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", n=10_000) as file:
        v = file.createVariable("v", "i4", ("n",), zlib=True, fletcher32=True, chunksizes=(10_000,))
        v[:] = np.random.default_rng(0).integers(0, 2**31 - 1, 10_000)
    raw = bytearray((tmp_path / "a.nc").read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 64] = bytes(64)
    (tmp_path / "a.nc").write_bytes(raw)
    source = netcdf.open(tmp_path / "a.nc")
    with pytest.raises(FormatError, match=r'a\.nc: variable "v": the chunk of \d+ bytes at \d+ of the file: filter'):
        source.read("v")
    with pytest.raises(FormatError, match=r'a\.nc: variable "v": the chunk of \d+ bytes at \d+ of the file: filter'):
        list(source.blocks("v"))
    source.close()


def test_a_file_replaces_another_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.nc"
    target.write_bytes(b"old")
    sink = netcdf.create(target, META)
    sink.write("x", [DATA["x"]])
    assert target.read_bytes() == b"old"
    sink.commit()
    sink.abort()
    assert read_all(target)[1]["x"].tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == [target]
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_nothing_is_left_of_what_failed(format: str, tmp_path: Path) -> None:
    target = tmp_path / "a.nc"
    target.write_bytes(b"old")
    sink = netcdf.create(target, META, format=format)
    sink.abort()
    sink.abort()

    def failing() -> Any:
        yield DATA["x"][:1]
        raise KeyboardInterrupt

    sink = netcdf.create(target, META, format=format)
    with pytest.raises(KeyboardInterrupt):
        sink.write("x", failing())
    sink.abort()
    sink = netcdf.create(target, {"s": var(["n"], [3], "str")}, format=format)
    with pytest.raises(KeyboardInterrupt):
        sink.write("s", (block.astype("S") for block in failing()))
    sink.abort()
    assert target.read_bytes() == b"old" and list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    link = tmp_path / "link.nc"
    link.symlink_to(Path("data") / "a.nc")
    write_all(link, META, DATA)
    write_all(link, META, DATA)
    assert link.is_symlink() and (tmp_path / "data" / "a.nc").is_file()
    assert read_all(link)[1]["x"].tolist() == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_may_be_written_over_itself(tmp_path: Path) -> None:
    write_all(tmp_path / "a.nc", META, DATA)
    convert(tmp_path / "a.nc", tmp_path / "a.nc")
    assert read_all(tmp_path / "a.nc")[1]["x"].tolist() == [0, 1, 2]


FULL_DISK = """
import resource, sys, numpy as np
from ds_format.drivers import netcdf
from ds_format.errors import DsError
meta = {"x": {".dims": ["n"], ".size": [2_000_000], ".type": "float64", ".missing": False}}
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
sink = None
try:
    sink = netcdf.create(sys.argv[1], meta, format=sys.argv[2])
    sink.write("x", (np.ones(500_000) for _ in range(4)))
    sink.commit()
except (DsError, OSError) as error:
    if sink is not None:
        sink.abort()
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_a_full_disk(format: str, tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(b"old")
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "a.nc"), format], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0 and "a.nc" in run.stdout, run
    assert (tmp_path / "a.nc").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


def test_threads_do_not_meet_in_the_library(tmp_path: Path) -> None:
    # without a lock this crashes the process
    for i in range(4):
        write_all(tmp_path / f"{i}.nc", META, DATA)
    failures: list[BaseException] = []

    def work(i: int) -> None:
        try:
            for _ in range(20):
                convert(tmp_path / f"{i}.nc", tmp_path / f"{i}.out.nc")
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_errors_are_of_the_package(tmp_path: Path) -> None:
    with pytest.raises(DsError, match='the type "complex" is not supported by NetCDF'):
        netcdf.create(tmp_path / "a.nc", {"x": var([], [], "complex")})


PEAK = """
import resource, sys
from ds_format.drivers import netcdf

source = netcdf.open(sys.argv[1])
sink = netcdf.create(sys.argv[2], source.meta)
peaks = []
for name in source.meta:
    if name != ".":
        sink.write(name, source.blocks(name, 1 << 22))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sink.commit()
print(peaks[-1] - peaks[2])
"""


def test_memory_does_not_grow_with_variables(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", t=8, y=500, x=500) as file:
        for i in range(12):
            file.createVariable(f"v{i}", "f8", ("t", "y", "x"), zlib=True, complevel=1, chunksizes=(1, 500, 500))[:] = i
    run = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path / "a.nc"), str(tmp_path / "b.nc")],
        capture_output=True,
        text=True,
        check=True,
    )
    unit = 1 if sys.platform == "darwin" else 1024
    # the library alone would keep 16 MB of each variable, twice
    assert int(run.stdout) * unit < 40e6


def test_a_variable_with_the_name_of_a_dimension_that_is_not_its_own(tmp_path: Path) -> None:
    storage = {".netcdf": {"chunks": [1, 1]}}
    meta: Metadata = {
        "lat": {**var(["a", "b"], [2, 3], "int32", missing=False), **storage},
        "x": {**var(["i", "lat"], [2, 2], "int32", missing=False), **storage},
    }
    data = {"lat": np.arange(6, dtype="i4").reshape(2, 3), "x": np.arange(4, dtype="i4").reshape(2, 2)}
    write_all(tmp_path / "a.nc", meta, data)
    source = netcdf.open(tmp_path / "a.nc")
    for name in ("lat", "x", "lat", "x"):
        assert source.read(name).tolist() == data[name].tolist()
        assert [block.tolist() for block in source.blocks(name)] == [data[name].tolist()]
    source.close()


def test_a_file_with_text_that_is_open_and_read_again_and_again(tmp_path: Path) -> None:
    """The library crashes then if it opens the file each time."""
    path = tmp_path / "a.nc"
    write_all(path, {"text": var(["n"], [2], "unicode", missing=False)}, {"text": np.array(["a", "bb"], object)})
    code = (
        "import sys\n"
        "from ds_format.drivers import netcdf\n"
        "held = netcdf.open(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    for name in ('text', None):\n"
        "        source = netcdf.open(sys.argv[1])\n"
        "        name and source.read(name)\n"
        "        source.close()\n"
        "        source.close()\n"
        "print(*held.read('text'))\n"
        "held.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=True)
    assert done.stdout == b"a bb\n"


def test_who_reads_a_file_along_sees_another_one_that_took_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    write_all(path, META, DATA)
    old = netcdf.open(path)
    write_all(path, META, {"x": DATA["x"] + 1})
    new = netcdf.open(path)
    assert (old.read("x").tolist(), new.read("x").tolist()) == ([0, 1, 2], [1, 2, 3])
    old.close()
    assert new.read("x").tolist() == [1, 2, 3]
    new.close()
