"""An output appears whole or not at all, and what stood under its name is not harmed before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds

from .conftest import small_disk
from .formats import SUFFIXES
from .listening import listen

EACH = pytest.mark.parametrize("suffix", SUFFIXES)
BINARY = 4_000_000
"""Values that are more than one block."""
TEXT = 200_000
"""Values that are more than a megabyte of text."""


def large(path: Path, n: int = BINARY) -> None:
    ds.write(
        path, {"a": np.arange(n) % 10, "b": np.arange(float(n)), ".": {"a": {".dims": ["i"]}, "b": {".dims": ["i"]}}}
    )


def size_for(suffix: str) -> int:
    return TEXT if suffix in (".json", ".csv", ".msgpack", ".zds") else BINARY


def run(*arguments: object, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    code = (
        "import resource, signal, sys\n"
        f"limit = {limit}\n"
        "if limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
        "from ds_format.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@EACH
def test_a_failing_conversion_leaves_the_old_output(suffix: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.ds", tmp_path / f"out{suffix}"
    large(source, 100)
    os.truncate(source, source.stat().st_size - 8)
    target.write_bytes(b"old")
    with pytest.raises(ds.TruncatedError, match=r'in.ds: variable "b"'):
        ds.convert(source, target)
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.ds", target.name]


@EACH
def test_no_space_leaves_the_old_output(suffix: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.ds", tmp_path / f"out{suffix}"
    large(source, size_for(suffix))
    target.write_bytes(b"old")
    options = ["compression:", "none"] if suffix == ".zarr" else []  # else no chunk is too large
    done = run("select", source, target, *options, limit=1_000_000)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("ds select: ")
    assert target.name in done.stderr
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.ds", target.name]


def test_a_full_file_system(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    large(tmp_path / "in.ds")
    with small_disk(folder):
        (folder / "out.ds").write_bytes(b"old")
        done = run("select", tmp_path / "in.ds", folder / "out.ds")
        assert done.returncode == 1
        assert "No space left on device" in done.stderr
        with pytest.raises(OSError, match="No space left"):
            ds.write(folder / "out.ds", {"b": np.arange(1e6)})
        assert (folder / "out.ds").read_bytes() == b"old"
        assert [path.name for path in folder.iterdir()] == ["out.ds"]


FILL = """
import sys
import numpy as np
import ds_format as ds
path, *options = sys.argv[1:]
try:
    ds.write(path, {"x": np.random.default_rng(0).random(300_000)}, **dict(option.split("=") for option in options))
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("suffix", "options"), [*((suffix, ()) for suffix in SUFFIXES), (".nc", ("format=NETCDF3_CLASSIC",))]
)
def test_a_full_disk_is_called_so_by_all_formats(suffix: str, options: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    with small_disk(folder):
        path = folder / f"out{suffix}"
        path.write_bytes(b"old")
        done = subprocess.run(
            [sys.executable, "-c", FILL, path, *options], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout) == (0, f"[Errno 28] No space left on device: '{path}'\n"), done.stderr
        assert path.read_bytes() == b"old"
        assert [path.name for path in folder.iterdir()] == [path.name]


SLOW = """
import sys, time
import numpy as np
from ds_format import drivers
meta = {"x": {".dims": ["i"], ".size": [100], ".type": "float64"}}
sink = drivers.load(drivers.find(sys.argv[1])).create(sys.argv[1], meta)
def blocks():
    yield np.zeros(50)
    print("writing", flush=True)
    for _ in range(1200):  # a signal just before a sleep does not end it
        time.sleep(0.05)
    yield np.zeros(50)
try:
    sink.write("x", blocks())
    sink.commit()
except BaseException:
    sink.abort()
    raise
"""


MERGE = """
import sys, time
from ds_format.many import merging
whole = merging.blocks
def blocks(files, plan):
    print("writing", flush=True)
    for _ in range(1200):  # a signal just before a sleep does not end it
        time.sleep(0.05)
    yield from whole(files, plan)
merging.blocks = blocks
merging._is_copy = lambda files, plan: False
merging.merge_files("i", sys.argv[2:], sys.argv[1])
"""


@EACH
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_write_leaves_the_old_output(suffix: str, number: int, tmp_path: Path) -> None:
    interrupt(SLOW, number, tmp_path, f"out{suffix}")


@EACH
def test_an_interrupted_merge_leaves_the_old_output(suffix: str, tmp_path: Path) -> None:
    large(tmp_path / "in.ds", 3)
    interrupt(MERGE, signal.SIGINT, tmp_path, f"out{suffix}", "in.ds")


def interrupt(code: str, number: int, folder: Path, name: str, *others: str) -> None:
    """Run code that is to write a file, and send it a signal while it does."""
    (folder / name).write_bytes(b"old")
    paths = [str(folder / each) for each in (name, *others)]
    command = [sys.executable, "-c", code, *paths]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=listen
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(number)
        process.wait()
    assert (folder / name).read_bytes() == b"old"
    if number == signal.SIGINT:
        assert {path.name for path in folder.iterdir()} == {name, *others}


@EACH
def test_a_failing_merge_leaves_the_old_output(suffix: str, tmp_path: Path) -> None:
    sources, target = [tmp_path / "0.ds", tmp_path / "1.ds"], tmp_path / f"out{suffix}"
    for source in sources:
        large(source, size_for(suffix) // 2)
    target.write_bytes(b"old")
    done = run("merge", "i", *sources, target, limit=1_000_000)
    assert done.returncode == 1
    assert done.stderr.startswith("ds merge: ")
    assert target.name in done.stderr
    os.truncate(sources[1], sources[1].stat().st_size - 8)
    with pytest.raises(ds.TruncatedError, match=r'1.ds: variable "b"'):
        ds.merge_files("i", sources, target)
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.ds", "1.ds", target.name]


@EACH
def test_the_output_may_be_the_input(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    ds.write(path, {"a": np.arange(6.0), ".": {"a": {".dims": ["i"]}}})
    with ds.open(path) as reader:
        ds.convert(path, path, sel={"i": [0, 2]})
        if suffix not in (".nc", ".zarr"):  # the files of a store are found by their names
            assert reader["a"][:].tolist() == [0, 1, 2, 3, 4, 5]
    assert ds.read(path)["a"].tolist() == [0, 2]
    ds.merge_files("i", [path, path], path)
    assert ds.read(path)["a"].tolist() == [0, 2, 0, 2]


def test_a_map_stays_valid_when_the_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    large(path, 1000)
    mapped = ds.read(path, mmap=True)["b"]
    ds.write(path, {"b": np.zeros(5)})
    assert mapped.tolist() == list(range(1000))
    mapped[0] = -1
    assert ds.read(path)["b"].tolist() == [0] * 5


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real.ds").write_bytes(b"old")
    (tmp_path / "link.ds").symlink_to("real.ds")
    for write in (lambda path: ds.write(path, {"x": 1}), lambda path: ds.convert(tmp_path / "real.ds", path)):
        write(tmp_path / "link.ds")
        assert (tmp_path / "link.ds").is_symlink()
        assert ds.read(tmp_path / "real.ds")["x"] == 1


def test_an_exclusive_write(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    ds.write(path, {"x": 1}, atomic=False)
    with pytest.raises(FileExistsError, match=r"x.ds"):
        ds.write(path, {"x": 2}, atomic=False)
    assert ds.read(path)["x"] == 1


def test_a_reader_sees_whole_files_only(tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    code = (
        "import sys, ds_format as ds, numpy as np\n"
        "while True:\n    for n in (10, 3000): ds.write(sys.argv[1], {'x': np.full(n, float(n))})\n"
    )
    ds.write(path, {"x": np.full(10, 10.0)})
    with subprocess.Popen([sys.executable, "-c", code, str(path)]) as writer:
        end = time.monotonic() + 0.5
        seen: set[Any] = set()
        while time.monotonic() < end:
            x = ds.read(path)["x"]
            assert (x == len(x)).all()
            seen.add(len(x))
        writer.kill()
    assert seen <= {10, 3000}


@pytest.mark.parametrize("data", [1j, np.timedelta64(3, "M"), [1, "a"], [[1], [1, 2]], object(), 1 << 64])
def test_what_cannot_be_held_leaves_the_old_output(data: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.ds"
    path.write_bytes(b"old")
    with pytest.raises(ds.UnsupportedError, match=r'x.ds: variable "v": '):
        ds.write(path, {"v": data})
    for value in (b"a", 1j, np.datetime64("2020-01-01"), np.ma.masked, {1, 2}, {1: 2}, np.longdouble(1), object()):
        with pytest.raises(ds.UnsupportedError, match=r'x.ds: variable "v": attribute "a": '):
            ds.write(path, {"v": 1, ".": {"v": {"a": value}}})
    assert path.read_bytes() == b"old"


@EACH
def test_replacing_keeps_permissions(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    dataset = {"x": np.arange(3), ".": {"x": {".dims": ["i"]}}}
    ds.write(path, dataset)
    path.chmod(0o640)
    ds.write(path, dataset)
    assert path.stat().st_mode & 0o777 == 0o640
    ds.convert(path, path)
    assert path.stat().st_mode & 0o777 == 0o640
    ds.merge_files("i", [path, path], path)
    assert path.stat().st_mode & 0o777 == 0o640
