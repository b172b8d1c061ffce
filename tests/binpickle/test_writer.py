"""Writing: the bytes of the reference, and a file that is whole or absent."""

from __future__ import annotations

import errno
import inspect
import mmap
import os
import pickle
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format import binpickle
from ds_format.binpickle import buffers
from ds_format.errors import VersionError

from . import golden

STORED = [name for name in golden.FILES if golden.is_stored(name) and not name.startswith(("v2_head", "v1_"))]
SAME = re.compile(r"v./(array|none|several|nested|sixteen|fifteen)(?!_(broadcast|strided|negstride|be_M8s|be_strided))")
"""Names of files whose pickle is the same again after loading; some arrays become contiguous, or native."""


def as_param(name: str) -> Any:
    """Return a name as a parameter of a test that is skipped where pickles, or pages, are others."""
    told = golden.expected(name)["writer"]
    ours = (
        platform.python_version_tuple()[:2] == tuple(told["python"].split(".")[:2]) and np.__version__ == told["numpy"]
    )
    reason = f"pickles of Python {told['python']} with NumPy {told['numpy']}, and pages of 4096 bytes"
    return pytest.param(name, marks=pytest.mark.skipif(not ours or mmap.PAGESIZE != 4096, reason=reason))


@pytest.mark.parametrize("name", [as_param(name) for name in STORED if SAME.match(name)])
def test_golden_files_come_out_again(name: str, tmp_path: Path) -> None:
    expected = golden.expected(name)
    path = golden.FOLDER / name
    obj = binpickle.load(path, trusted=True)
    version = expected["format_version"]
    binpickle.dump(obj, tmp_path / "x", mappable=".mappable." in name, version=version)
    assert (tmp_path / "x").read_bytes() == path.read_bytes()


def test_null_codecs_are_told_in_version_1_alone(tmp_path: Path) -> None:
    for version, codecs in ((1, ["null", {}]), (2, [])):
        binpickle.dump([np.empty(0), np.ones(2)], tmp_path / "x", codec=lambda buffer: None, version=version)
        with binpickle.BinPickleFile(tmp_path / "x") as file:
            assert [entry.codec for entry in file.entries] == [codecs] * 3


@pytest.mark.parametrize("version", [1, 2])
def test_alignment(version: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    binpickle.dump([np.arange(3), np.empty(0), np.arange(5000)], path, mappable=True, codec="gz", version=version)
    with binpickle.BinPickleFile(path) as file:
        assert [entry.offset % mmap.PAGESIZE for entry in file.entries] == [0] * 4
        assert file.entries[1].offset == file.entries[2].offset == 2 * mmap.PAGESIZE
        assert file.is_mappable
        assert file.header.flags == 2 * (version == 2) + (version == 2 and sys.byteorder == "big")
    with binpickle.BinPickler(path, align=True, codec="gz", version=version) as one:
        one.dump(np.zeros(5000))
    with binpickle.BinPickleFile(path) as file:
        assert (file.entries[0].offset, file.is_mappable) == (mmap.PAGESIZE, False)
        assert not file.header.flags & 2


def test_what_version_2_tells_of_arrays(tmp_path: Path) -> None:
    arrays = [np.ones((2, 3), ">i4"), np.ones((2, 3), order="F"), np.array(5, "S3"), pickle.PickleBuffer(b"x")]
    binpickle.dump(arrays, tmp_path / "x", version=2)
    with binpickle.BinPickleFile(tmp_path / "x") as file:
        infos = [entry.info for entry in file.entries]
    assert infos == [["ndarray", ">i4", [2, 3]], ["ndarray", "float64", [3, 2]], ["ndarray", "|S3", []], None, None]


def test_names_and_arguments_of_the_reference() -> None:
    signatures: dict[Any, list[str]] = {
        binpickle.dump: ["obj", "file", "mappable", "codec", "version", "durable"],
        binpickle.load: ["file", "trusted", "max_size"],
        binpickle.BinPickler: ["filename", "align", "codec", "version", "durable"],
        binpickle.BinPickler.mappable: ["filename", "version", "durable"],
        binpickle.BinPickler.compressed: ["filename", "codec", "version", "durable"],
        binpickle.BinPickleFile: ["filename", "direct", "verify", "trusted", "max_size"],
        binpickle.file_info: ["file"],
    }
    for function, names in signatures.items():
        assert list(inspect.signature(function).parameters) == names
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        binpickle.nonsense  # noqa: B018 - the access is the test
    assert {"dump", "load", "BinPickler", "BinPickleFile"} <= {*dir(binpickle)}


def test_importing_loads_nothing() -> None:
    code = "import sys, ds_format.binpickle; sys.exit(any(name in sys.modules for name in ('numpy', 'msgpack')))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_large_and_small_buffers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sizes = [0, 1, buffers.GATHERED - 1, buffers.GATHERED, 5, buffers.GATHERED + 1, 3 * buffers.GATHERED, 7]
    arrays = [rng.integers(0, 256, size, np.uint8) for size in sizes]
    monkeypatch.setattr(buffers, "BLOCK", 1000)
    for version in (1, 2):
        binpickle.dump(arrays, tmp_path / "x", version=version)
        for trusted in (True, False):
            found = binpickle.load(tmp_path / "x", trusted=trusted)
            assert all(map(np.array_equal, found, arrays))


class Fails:
    """An object that cannot be pickled, when much has been written."""

    def __reduce__(self) -> Any:
        raise RuntimeError("not this one")


class Interrupts(Fails):
    """One that is stopped by hand."""

    def __reduce__(self) -> Any:
        raise KeyboardInterrupt


class Missing(Fails):
    """One whose error is about another file."""

    def __reduce__(self) -> Any:
        raise FileNotFoundError(errno.ENOENT, "no such thing", "another file")


@pytest.mark.parametrize(
    ("last", "error"), [(Fails(), RuntimeError), (Interrupts(), KeyboardInterrupt), (Missing(), FileNotFoundError)]
)
def test_a_failed_dump_leaves_the_old_file(last: Any, error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(error) as caught:
        binpickle.dump([np.ones(1_000_000), last], path)
    assert "another file" in str(caught.value) or error is not FileNotFoundError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_no_space_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    code = (
        "import resource, signal, sys\n"
        "import numpy as np\n"
        "from ds_format import binpickle\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        "try:\n"
        "    binpickle.dump({'a': np.ones(10), 'b': np.ones(1_000_000)}, sys.argv[1])\n"
        "except OSError as error:\n"
        "    sys.exit(error.filename != sys.argv[1])\n"
        "sys.exit(2)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_no_file() -> None:
    with pytest.raises(OSError, match="not a regular file"):
        binpickle.dump(None, os.devnull)


def test_a_second_dump_is_refused(tmp_path: Path) -> None:
    with binpickle.BinPickler(tmp_path / "x") as one:
        one.dump([1])
        with pytest.raises(ValueError, match="has saved its one object"):
            one.dump([2])
    assert binpickle.load(tmp_path / "x") == [1]


def test_a_writer_without_an_object_makes_no_file(tmp_path: Path) -> None:
    binpickle.BinPickler.mappable(tmp_path / "x").close()
    one = binpickle.BinPickler.compressed(tmp_path / "x")
    one.close()
    with pytest.raises(ValueError, match="closed"):
        one.dump([1])
    with pytest.raises(ZeroDivisionError), binpickle.BinPickler(tmp_path / "x"):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_a_failed_writer_may_try_again(tmp_path: Path) -> None:
    one = binpickle.BinPickler.compressed(tmp_path / "x", "gz")
    with pytest.raises(RuntimeError):
        one.dump(Fails())
    one.dump(np.zeros(1000))
    assert (tmp_path / "x").stat().st_size < 1000


def test_permissions_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"")
    path.chmod(0o640)
    link.symlink_to(path)
    binpickle.dump(1, link, durable=True)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert binpickle.load(path) == 1


def test_versions(tmp_path: Path) -> None:
    with pytest.raises(VersionError, match="version: found 3, expected 1 or 2"):
        binpickle.dump(1, tmp_path / "x", version=3)


def test_buffers_in_any_order(tmp_path: Path) -> None:
    fortran: Any = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    binpickle.dump([pickle.PickleBuffer(fortran), pickle.PickleBuffer(bytearray(b"text"))], tmp_path / "x")
    first, second = binpickle.load(tmp_path / "x")
    assert bytes(first) == fortran.tobytes("F")
    assert second == b"text"


def test_one_buffer_that_changes_while_others_are_pickled(tmp_path: Path) -> None:
    scratch: Any = np.zeros(10)

    class Reuses:
        def __init__(self, value: float):
            self.value = value

        def __reduce__(self) -> Any:
            scratch[:] = self.value
            return bytes, (pickle.PickleBuffer(scratch),)

    binpickle.dump([Reuses(1), Reuses(2)], tmp_path / "x")
    found = binpickle.load(tmp_path / "x", trusted=True)
    assert [np.frombuffer(one)[0] for one in found] == [1, 2]
