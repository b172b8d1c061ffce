"""Classic files as Sources: what they need, handles, threads, what is left to the library."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import ds_format as ds
from ds_format.body.body import FIRST_SIZE
from ds_format.drivers import of_suffix, open_source
from ds_format.drivers.netcdf.classic.source import ClassicSource, ClassicValues
from ds_format.drivers.netcdf.source import NetCDFSource
from ds_format.errors import ReplacedError, TruncatedError
from ds_format.kernels.classic import slabs
from tests.descriptors import n_open, needs_proc

from ....classic.files import File, Variable, encode
from ....fetch_ncarg import VARIABLE, folder, netcdf_files
from ....numpy_versions import NUMPY_2
from ..both import differences
from ..files import make

LARGE = FIRST_SIZE // 4


@pytest.fixture(params=[10, LARGE], ids=["small", "large"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with make(tmp_path / "a.nc", "NETCDF3_CLASSIC", t=None, n=request.param) as file:
        variable = file.createVariable("x", "f4", ("t", "n"), fill_value=-9)
        variable[0:3] = np.arange(3 * request.param).reshape(3, -1)
        variable[1, 2] = -9
        file.createVariable("n", "i2", ("n",))[:] = 7
    return tmp_path / "a.nc"


READ = """
import sys
import ds_format as ds
path = sys.argv[1]
ds.read(path), ds.read(path, "x", sel={"t": 0}), ds.verify(path)
with ds.open(path) as file:
    file["x"][1]
ds.read_many([path, path], dim="t")
ds.convert(path, path + ".ds")
print("netCDF4" in sys.modules)
"""


def test_nothing_of_the_library_is_loaded(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_short_cut_gives_what_a_source_gives(path: Path) -> None:
    short, through = ds.read(path), ds.from_netcdf(path)
    assert list(short) == list(through) == ["x", "n", "."]
    for key in ("x", "n"):
        assert type(short[key]) is type(through[key]) is np.ma.MaskedArray
        assert short[key].tolist() == through[key].tolist()
        assert short[key].fill_value == through[key].fill_value
    assert repr(short["."]) == repr(through["."])
    assert list(ds.read(path, ["n"])["."]) == ["n", "."]
    assert list(ds.read(path, ["n"], full=True)["."]) == ["x", "n", "."]
    with ds.with_mode("strict"), pytest.raises(ds.MissingError, match='variable "y" not found'):
        ds.read(path, ["y"])


def test_packed_values_are_unpacked(tmp_path: Path) -> None:
    with make(tmp_path / "a.nc", "NETCDF3_CLASSIC", n=3) as file:
        packed = file.createVariable("p", "i2", ("n",))
        packed.set_auto_maskandscale(False)
        packed.setncatts({"scale_factor": 0.5, "units": "m"})
        packed[:] = [1, 2, -32767]
    for unpack in (None, True, False):
        short, through = ds.read(tmp_path / "a.nc", unpack=unpack), ds.from_netcdf(tmp_path / "a.nc", unpack=unpack)
        assert repr(short["p"]) == repr(through["p"]) and repr(short["."]) == repr(through["."])
    assert ds.read(tmp_path / "a.nc")["p"].tolist() == [0.5, 1.0, None]


def test_an_option_that_the_format_does_not_have(path: Path) -> None:
    with pytest.raises(ds.DriverError, match="strings is not possible" if NUMPY_2 else "needs NumPy 2"):
        ds.read(path, strings="numpy")


def test_a_handle_travels(path: Path) -> None:
    source = open_source(path)
    handle = pickle.loads(pickle.dumps(source.handle("x")))
    expected = source.read("x")
    source.close()
    assert handle.values is ClassicValues and handle.path == str(path) and handle.dtype == np.float32
    assert handle.read().tolist() == expected.tolist()
    assert handle[1, 2].mask.all() and handle[:, 3:1:-1].tolist() == expected[:, 3:1:-1].tolist()
    assert len(pickle.dumps(handle)) < 2000


def test_a_handle_of_another_file(path: Path) -> None:
    source = open_source(path)
    handle = source.handle("n")
    source.close()
    content = path.read_bytes()
    path.write_bytes(content + b"more")
    with pytest.raises(ReplacedError, match=r"found \d+ bytes, expected"):
        handle.read()
    status = os.stat(path)
    path.write_bytes(content.replace(b"\1x\0", b"\1y\0"))
    os.utime(path, ns=(status.st_atime_ns, handle.stamp.mtime))
    with pytest.raises(ReplacedError):
        handle.read()
    path.unlink()
    with pytest.raises(ReplacedError, match="is not there any more"):
        handle.read()


def test_threads_read_at_once(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        source = open_source(path, of_suffix(".nc"))
        expected = source.read("x")
        handle = source.handle("x")
        for found in threads.map(lambda i: source.read("x") if i % 2 else handle.read(), range(200)):
            assert found.tolist() == expected.tolist()
        source.close()


def test_a_source_that_is_closed_twice(path: Path) -> None:
    source = open_source(path, of_suffix(".nc"))
    source.close()
    source.close()
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        pickle.dumps(source)


def test_values_and_handles_of_a_closed_source(path: Path) -> None:
    """A small file is in memory; a larger one must be opened again, for which a handle is enough."""
    source: Any = open_source(path, of_suffix(".nc"))
    expected = source.read("x")
    source.close()
    if source.held:
        assert source.read("x").tolist() == expected.tolist()
        assert sum(block.shape[0] for block in source.blocks("x")) == 3
    else:
        for read in (lambda: source.read("x"), lambda: source.read("x", (0,)), lambda: list(source.blocks("x"))):
            with pytest.raises(OSError, match="descriptor") as caught:
                read()
            assert caught.value.errno == errno.EBADF and caught.value.filename == str(path)
    assert source.handle("x").read().tolist() == expected.tolist()


@pytest.fixture
def closed_during_a_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClassicSource]:
    """A source of ones that another thread closes during its first read, while a file of twos is opened."""
    for value in (1, 2):
        with make(tmp_path / f"{value}.nc", "NETCDF3_CLASSIC", n=1_000_000) as file:
            file.createVariable("x", "f4", ("n",))[:] = value
    source: Any = open_source(tmp_path / "1.nc", of_suffix(".nc"))
    read = slabs.read
    others: list[int] = []

    def close_and_read(*arguments: Any) -> Any:
        if not others:
            closing = threading.Thread(target=source.close)
            closing.start()
            closing.join()
            others.append(os.open(tmp_path / "2.nc", os.O_RDONLY))
        return read(*arguments)

    monkeypatch.setattr(slabs, "read", close_and_read)
    yield source
    for fd in others:
        os.close(fd)


def test_a_source_that_is_closed_during_a_read_gives_no_values_of_another_file(
    closed_during_a_read: ClassicSource,
) -> None:
    """The descriptor must stay open as long as a thread reads: its number may be that of another file by then."""
    assert set(closed_during_a_read.read("x").tolist()) == {1.0}
    with pytest.raises(OSError, match="descriptor"):
        closed_during_a_read.read("x")


def test_blocks_of_a_source_that_is_closed_meanwhile(closed_during_a_read: ClassicSource) -> None:
    """They are all of one file, and watched to the end."""
    blocks = closed_during_a_read.blocks("x")
    first = next(blocks)
    assert set(first.tolist()) == {1.0} and first.size < 1_000_000
    assert set(next(blocks).tolist()) == {1.0}
    os.utime(closed_during_a_read.path, (0, 0))
    with pytest.raises(ReplacedError, match="it was written since"):
        list(blocks)


@needs_proc
def test_a_file_is_closed_with_its_source(path: Path) -> None:
    source: Any = open_source(path, of_suffix(".nc"))
    assert n_open(path) == (not source.held)
    source.close()
    assert not n_open(path)
    source = open_source(path, of_suffix(".nc"))
    del source
    ds.read(path)
    assert not n_open(path)


def test_a_file_that_is_cut_while_it_is_open(path: Path) -> None:
    source: Any = open_source(path, of_suffix(".nc"))
    os.truncate(path, 200)
    if source.size > FIRST_SIZE:
        with pytest.raises(ReplacedError, match=r"a\.nc: .* found 200 bytes, expected"):
            source.read("x")
    else:
        assert source.read("x").shape == (3, 10)  # it was read when it was opened
    source.close()


UNUSUAL = {
    "a name with accents apart": File(1, [(b"n", 2)], [], [Variable("e\u0301".encode(), [0], 3, [b"\0\1\0\2"])]),
    "a long name": File(1, [(b"n", 2)], [], [Variable(b"x" * 256, [0], 3, [b"\0\1\0\2"])]),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_files_are_left_to_the_library(name: str, tmp_path: Path) -> None:
    content = encode(UNUSUAL[name])
    (tmp_path / "a.nc").write_bytes(content)
    source = open_source(tmp_path / "a.nc", of_suffix(".nc"))
    assert isinstance(source, NetCDFSource)
    [key] = [key for key in source.meta if key != "."]
    assert source.read(key).tolist() == [1, 2]
    source.close()
    (tmp_path / "a.nc").write_bytes(content[:-2])
    source = open_source(tmp_path / "a.nc", of_suffix(".nc"))
    with pytest.raises(TruncatedError, match="bytes in the file, expected at least"):
        source.read(key)
    source.close()


def test_a_netcdf4_file_is_not_taken_for_a_classic_one(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createVariable("x", "i4", ())[...] = 3
    source = open_source(tmp_path / "a.nc", of_suffix(".nc"))
    assert not isinstance(source, ClassicSource)
    source.close()
    assert ds.read(tmp_path / "a.nc")["x"] == 3


X = (b"x", 3)
NAMELESS = (b"", 1)
A = Variable(b"a", [0], 4, [b"\0\0\0\7" * 3])


@pytest.mark.parametrize("last", [Variable(b"many", [1] * 65, 1, [b"\1"]), Variable(b"b", [0], 4, [b"\0\0\0\7" * 3])])
def test_the_end_of_an_unusual_file_is_missed(last: Variable, tmp_path: Path) -> None:
    """The library reads what is not there as zeros."""
    data = encode(File(1, [X, NAMELESS], [], [last, A]))
    (tmp_path / "a.nc").write_bytes(data)
    assert ds.read(tmp_path / "a.nc", "a")["a"].tolist() == [7, 7, 7]
    (tmp_path / "a.nc").write_bytes(data[:-4])
    with pytest.raises(TruncatedError, match='variable "a"'):
        ds.read(tmp_path / "a.nc", "a")


RECORDS = Variable(b"r", [0], 3, [b"\0\1", b"\0\2"])
OTHER = Variable(b"q", [0, 1], 1, [b"abc", b"def"])
FIXED = Variable(b"x", [1], 5, [bytes(12)])
FILE = File(1, [(b"t", 0), (b"n", 3)], [], [FIXED, RECORDS, OTHER])
ODD: dict[str, tuple[File, bytes, list[tuple[str | None, str]]]] = {
    "nothing": (FILE, b"", []),
    "one record variable": (FILE._replace(variables=[FIXED, RECORDS]), b"", []),
    "no variables": (FILE._replace(variables=[]), b"", []),
    "streaming": (
        FILE._replace(n_records=2**32 - 1),
        b"",
        [(None, "header: numrecs: the number of records was never written; found 2 by the size of the file")],
    ),
    "vsize": (
        FILE._replace(variables=[FIXED._replace(vsize=13), RECORDS, OTHER]),
        b"",
        [("x", "header: vsize: found 13, expected 12")],
    ),
    "more": (FILE, b"more", [(None, "found 4 bytes after the last variable")]),
    "more behind fixed": (FILE._replace(variables=[FIXED]), b"\0", [(None, "found 1 bytes after the last variable")]),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd(name: str, tmp_path: Path) -> None:
    file, more, expected = ODD[name]
    (tmp_path / "a.nc").write_bytes(encode(file) + more)
    found = ds.verify(tmp_path / "a.nc")
    assert [(problem.variable, problem.message, problem.severity) for problem in found] == [
        (*each, "warning") for each in expected
    ]


def test_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(encode(FILE)[:-8])
    assert [(problem.variable, problem.severity) for problem in ds.verify(tmp_path / "a.nc")] == [
        ("r", "error"),
        ("q", "error"),
    ]
    (tmp_path / "a.nc").write_bytes(encode(FILE)[:50])
    [problem] = ds.verify(tmp_path / "a.nc")
    assert problem.severity == "error" and "header" in problem.message


GOLDEN = Path(__file__).parents[3] / "golden" / "netcdf"


def classic(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.read_bytes()[:3] == b"CDF"]


@pytest.mark.parametrize("path", classic(sorted(GOLDEN.glob("*.nc"))), ids=lambda path: path.name)
def test_a_golden_file(path: Path) -> None:
    assert differences(path) == []


FILES = classic(netcdf_files(folder())) if folder().is_dir() else []


@pytest.mark.skipif(not FILES, reason=f"no files in {folder()}: run tests/fetch_ncarg.py, or set {VARIABLE}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(folder()).as_posix())
def test_a_real_file(path: Path) -> None:
    assert differences(path) == []
