"""What is no file under the name of one: refused at once by every format, and never waited for."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ds_format as ds
from ds_format import binpickle
from ds_format.zds import ZDSStore

from .formats import SUFFIXES

pytestmark = pytest.mark.skipif(os.name != "posix", reason="has no named pipes")

DATASET: dict[str, Any] = {"x": [1, 2, 3], ".": {"x": {".dims": ["i"]}}}
SECONDS = 60
"""After which something is waited for that will never come."""


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            end.bind(f"/proc/self/fd/{folder}/{path.name}")  # a path of a socket must be short
        finally:
            os.close(folder)


def link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "link": link_to_pipe,
    "device": device,
    "socket": unix_socket,
    "folder": Path.mkdir,
}
NUMBERS = {
    "pipe": {errno.ESPIPE},
    "link": {errno.ESPIPE},
    "device": {errno.ESPIPE},
    "socket": {errno.ENXIO, errno.ESPIPE},
    "folder": {errno.EISDIR},
}
WAYS = (
    "ds.read({path!r})",
    "ds.open({path!r})",
    "drivers.meta({path!r})",
    "ds.read({path!r}, 'x', sel={{'i': 0}})",
    "ds.read_many([{path!r}])",
    "ds.read_many([{path!r}], dim='i')",
    "ds.convert({path!r}, {path!r} + '.ds')",
)
PROGRAM = """
import sys
import ds_format as ds
from ds_format import binpickle, drivers
from ds_format.datadings import directories, reader, writer
from ds_format.zds import ZDSStore
for statement in sys.argv[1:]:
    try:
        eval(statement)
    except Exception as error:
        print(type(error).__name__, getattr(error, "errno", None), getattr(error, "filename", None), error, sep="\\t")
    else:
        print("nothing", statement, "", "", sep="\\t")
"""


def run(*statements: str) -> list[tuple[str, str, str, str]]:
    """Return what becomes of each statement in a process of its own: type, number, file and text of the error."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, *statements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    lines = [tuple(line.split("\t", 3)) for line in done.stdout.splitlines()]
    assert len(lines) == len(statements)
    return lines  # type: ignore[return-value]


def made(folder: Path, name: str) -> dict[str, Path]:
    """Make all that is no file, each in a folder of its own."""
    out = {}
    for kind, make in KINDS.items():
        (folder / kind).mkdir(exist_ok=True)
        out[kind] = folder / kind / name
        make(out[kind])
    return out


def each(statements: Iterable[str], paths: dict[str, Path]) -> Iterator[tuple[str, Path, tuple[str, str, str, str]]]:
    """Run statements for each path, in one process; return kind and path with what became of each."""
    every = [(statement.format(path=str(path)), kind, path) for kind, path in paths.items() for statement in statements]
    results = run(*(statement for statement, _, _ in every))
    return ((kind, path, result) for (_, kind, path), result in zip(every, results, strict=True))


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".tsv"])
def test_it_is_not_read(suffix: str, tmp_path: Path) -> None:
    paths = made(tmp_path, f"a{suffix}")
    for kind, path, (found, number, file, text) in each(WAYS, paths):
        if (suffix, kind) == (".zds", "folder"):
            assert (found, "not a ZDS store" in text) == ("FormatError", True), text
            continue
        if suffix == ".zarr":
            assert (found, str(path) in text) == ("FormatError", True), text
            continue
        assert found in ("OSError", "IsADirectoryError"), text
        assert int(number) in NUMBERS[kind]
        assert file == str(path)
    for path in paths.values():
        problems = ds.verify(path)
        assert "error" in {problem.severity for problem in problems}
        assert not any("Error" in problem.message for problem in problems)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".tsv"])
def test_it_is_not_written_to(suffix: str, tmp_path: Path) -> None:
    paths = made(tmp_path, f"a{suffix}")
    before = {path: sorted(os.listdir(path.parent)) for path in paths.values()}
    writing = ["ds.write({path!r}, {{'x': [1, 2, 3], '.': {{'x': {{'.dims': ['i']}}}}}})"]
    for kind, path, (found, _, _, text) in each(writing, paths):
        if (suffix, kind) == (".zarr", "folder"):
            continue  # an empty folder becomes a store
        assert (found, str(path) in text) in {("OSError", True), ("IsADirectoryError", True)}, text
        assert sorted(os.listdir(path.parent)) == before[path]


READERS = (
    "reader.MsgpackReader({path!r})",
    "reader.MsgpackReader({path!r}, mmap=True)",
    "writer.FileWriter({path!r}, append=True)",
    "directories.ZipFileReader({path!r})",
    "binpickle.load({path!r})",
    "binpickle.load({path!r}, trusted=True)",
    "binpickle.BinPickleFile({path!r}, direct=True)",
    "binpickle.inspect({path!r})",
)


def test_containers_do_not_open_it(tmp_path: Path) -> None:
    paths = made(tmp_path, "a")
    for kind, path, (found, number, file, text) in each(READERS, paths):
        assert found in ("OSError", "IsADirectoryError", "FileNotFoundError"), text
        numbers = NUMBERS[kind] | {errno.EINVAL}  # as who writes is told
        assert found == "FileNotFoundError" or (int(number) in numbers and file == str(path)), text
    assert {binpickle.file_info(path).status.name for path in paths.values()} == {"INVALID"}


def test_a_store_is_no_such_thing(tmp_path: Path) -> None:
    paths = made(tmp_path, "a.zds")
    for kind, path, (found, _, file, text) in each([f"ZDSStore.open({{path!r}}, mode={m!r})" for m in "ra"], paths):
        if kind != "folder":
            assert (found, file) in {("OSError", str(path)), ("OSError", os.path.realpath(path))}, text


OF_A_STORE = ("ds.read({path!r})", "ZDSStore.open({path!r}).get('a')")
SIBLINGS = (".offsets", ".keys", ".key_hashes", ".filter", ".md5", ".meta")


def test_files_beside_samples(tmp_path: Path) -> None:
    ways = ("ds.read({path!r})", "reader.MsgpackReader({path!r}).find('1')", "ds.verify({path!r})")
    paths, siblings = {}, {}
    for suffix in SIBLINGS:
        for kind, make in KINDS.items():
            name = f"{kind}{suffix}"
            folder = tmp_path / name
            folder.mkdir()
            paths[name] = folder / "a.msgpack"
            ds.write(paths[name], DATASET)
            siblings[name] = folder / f"a.msgpack{suffix}"
            siblings[name].unlink()
            make(siblings[name])
    for i, (name, _, (found, _, _, text)) in enumerate(each(ways, paths)):
        if ways[i % len(ways)].startswith("ds.verify"):
            assert found == "nothing", text
        else:
            assert found in ("nothing", "OSError", "IsADirectoryError"), text
            assert found == "nothing" or str(siblings[name]) in text
            if name.endswith(".offsets"):
                assert found != "nothing"


def test_files_of_a_store(tmp_path: Path) -> None:
    paths = {}
    for member in ("data.jsonl", "index.bin", "dataset.ds", "manifest.json"):
        for kind, make in KINDS.items():
            root = paths[f"{kind} {member}"] = tmp_path / kind / member.partition(".")[0]
            root.parent.mkdir(exist_ok=True)
            with ZDSStore.open(root, mode="w") as store:
                store.put("a", {"n": 1})
            path = root / "collections" / "default" / "meta" / member
            path.unlink(missing_ok=True)
            make(path)
    for _, _, (found, _, _, text) in each(OF_A_STORE, paths):
        assert found in ("nothing", "FormatError", "UnsafeError", "MissingError", "ZdsWarning"), text
