"""One writer of a dataset at a time, and readers beside it that never wait for one."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import stat
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.datadings import dataset_files, format, messages
from ds_format.datadings.claim import Claim
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.sharded import ShardedReader
from ds_format.datadings.verify import verify
from ds_format.datadings.writer import FileWriter, RawWriter, reindex
from ds_format.errors import BusyError, FormatError, TruncatedError

from ..zds.writers import line_of, process

NAMES = {"a" + suffix for suffix in ("", *format.INDEX, format.MD5)}
WAITS = """
import sys
from ds_format.datadings.writer import FileWriter
out = FileWriter(sys.argv[1], append=True)
out.write({"key": "theirs"})
print("writing", flush=True)
sys.stdin.readline()
out.close()
print("done", flush=True)
"""
ADDS = """
import sys
from ds_format.datadings.writer import FileWriter
from ds_format.errors import BusyError
n = 0
while n < 40:
    try:
        with FileWriter(sys.argv[1], append=True) as out:
            out.write({"key": f"{sys.argv[2]}{n}", "x": bytes(n)})
    except BusyError:
        continue
    n += 1
print("done", flush=True)
"""


def write(path: Path, n: int, first: int = 0, **options: Any) -> Path:
    with FileWriter(path, **options) as out:
        for i in range(first, first + n):
            out.write({"key": f"k{i}", "v": i})
    return path


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


OTHERS: dict[str, Callable[[Path], Any]] = {
    "new": FileWriter,
    "overwrite": lambda path: FileWriter(path, overwrite=True),
    "append": lambda path: FileWriter(path, append=True),
    "raw": lambda path: RawWriter(path, overwrite=True),
    "reindex": reindex,
    "through a link": lambda path: FileWriter(path.parents[1] / "link" / path.name, append=True),
}


@pytest.mark.parametrize("is_new", [False, True])
def test_a_second_writer_is_refused(tmp_path: Path, is_new: bool) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "in")
    path = tmp_path / "in" / "a"
    if not is_new:
        write(path, 3)
    with process(WAITS, path) as theirs:
        line_of(theirs)
        for other, act in OTHERS.items():
            if other == "reindex" and is_new:
                continue
            with pytest.raises(BusyError, match=f"pid={theirs.pid}, hostname={socket.gethostname()}") as caught:
                act(path)
            assert caught.value.path is not None and caught.value.path.endswith("/a"), other
            if not is_new:
                assert [one["v"] for one in MsgpackReader(path)] == [0, 1, 2], other
        assert theirs.stdin is not None
        theirs.stdin.write("\n")
        theirs.stdin.flush()
        assert line_of(theirs) == "done"
    write(path, 1, 3, append=True)
    assert MsgpackReader(path).find("theirs") == {"key": "theirs"}
    assert names(path.parent) == NAMES and verify(path) == []


def test_a_second_writer_in_this_process(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with FileWriter(path) as first:
        for options in ({}, {"overwrite": True}, {"append": True}):
            with pytest.raises(BusyError, match=f"pid={os.getpid()}"):
                FileWriter(path, **options)  # type: ignore[arg-type]
        first.write({"key": "a"})
        write(tmp_path / "b", 1)
    with pytest.raises(FileExistsError):
        FileWriter(path)
    assert names(tmp_path) == NAMES | {name.replace("a", "b", 1) for name in NAMES}


def test_no_sample_is_lost_of_those_that_append(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with process(ADDS, path, "x") as one, process(ADDS, path, "y") as other:
        assert [line_of(one), line_of(other)] == ["done", "done"]
    assert sorted(SampleIndex(path).keys()) == sorted(f"{who}{i}" for who in "xy" for i in range(40))
    assert verify(path) == [] and names(tmp_path) == NAMES


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_of_a_writer_only_forgets_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 3)
    out = FileWriter(path, append=True)
    out.write({"key": "mine", "v": 3, "x": bytes(1 << 19)})  # which is written at once
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there may be threads, which the child does without
        child = os.fork()
    if not child:
        try:
            with suppress(BusyError):
                out.close()
                os._exit(1)
            out.abort()
            os._exit(0)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert {".a.lock", ".a.journal"} < names(tmp_path) and len(MsgpackReader(path)) == 3
    with pytest.raises(BusyError):
        FileWriter(path, append=True)
    out.close()
    assert [one["v"] for one in MsgpackReader(path)] == [0, 1, 2, 3]
    assert names(tmp_path) == NAMES


def test_what_a_writer_hides_is_no_dataset(tmp_path: Path) -> None:
    write(tmp_path / "a", 3)
    with FileWriter(tmp_path / "b"), FileWriter(tmp_path / "a", append=True) as out:
        out.write({"key": "x", "v": bytes(1 << 19)})
        assert {".a.lock", ".a.journal", ".b.lock", ".b.new"} < names(tmp_path)
        assert len(ShardedReader(str(tmp_path / "*")).shards) == 1


@pytest.mark.parametrize(
    ("options", "error"), [({"overwrite": True}, IsADirectoryError), ({"append": True}, FormatError)], ids=str
)
def test_nothing_stays_when_opening_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, bool], error: type[Exception]
) -> None:
    path = write(tmp_path / "a", 3)
    Path(f"{path}.offsets").write_bytes(b"x")
    monkeypatch.setattr(dataset_files, "PATIENCE", 0)
    monkeypatch.setattr(Claim, "create", lambda *_: os.open("/", os.O_RDWR))
    with pytest.raises(error):
        FileWriter(path, **options)  # type: ignore[arg-type]
    assert names(tmp_path) == NAMES


def test_readers_while_samples_are_appended(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 3)
    mapped = MsgpackReader(path, mmap=True)
    with FileWriter(path, append=True) as out:
        for i in range(3):
            out.write({"key": f"new{i}", "v": bytes(1 << 18)})
            for reader in (MsgpackReader(path), MsgpackReader(path, mmap=True), mapped):
                assert [one["v"] for one in reader] == [0, 1, 2] and "new0" not in reader
                assert reader.verify_data() and reader.verify_index()
        Path(f"{path}.keys").rename(tmp_path / "keys")
        assert SampleIndex(path).keys() == ["k0", "k1", "k2"]
        (tmp_path / "keys").rename(f"{path}.keys")
    assert len(MsgpackReader(path)) == 6 and verify(path) == []
    assert [one["v"] for one in mapped] == [0, 1, 2]


def test_readers_while_a_dataset_is_replaced_by_one_of_the_same_sizes(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 10, 10)
    stop = threading.Event()

    def replace() -> None:
        for n in itertools.cycle(range(20, 100, 10)):
            if stop.is_set():
                return
            write(path, 10, n, overwrite=True)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for i in range(400):
            reader = MsgpackReader(path, mmap=i % 2 == 0)
            pairs = list(reader.iter(yield_key=True))
            first = pairs[0][1]["v"]
            assert [(key, one["v"]) for key, one in pairs] == [(f"k{v}", v) for v in range(first, first + 10)]
            assert reader.find(f"k{first + 3}")["v"] == first + 3
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("calls", range(1, 5))
def test_a_dataset_that_is_replaced_between_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    path = write(tmp_path / "a", 5, 100)
    left = iter(range(calls))
    load = dataset_files.open_first

    def load_and_replace(*arguments: Any, **options: Any) -> Any:
        found = load(*arguments, **options)
        if next(left, None) == calls - 1:
            write(path, 5, 110, overwrite=True)
        return found

    monkeypatch.setattr(dataset_files, "open_first", load_and_replace)
    reader = MsgpackReader(path)
    assert [(key, one["v"]) for key, one in reader.iter(yield_key=True)] == [(f"k{i}", i) for i in range(110, 115)]
    assert [reader.find_index(f"k{i}") for i in range(110, 115)] == [0, 1, 2, 3, 4]


def test_files_of_another_program_that_come_late(tmp_path: Path) -> None:
    """It writes them in place, one after another: they do not fit one another for a while."""
    path = write(tmp_path / "a", 3)
    longer = write(tmp_path / "b", 5)
    shutil.copyfile(longer, path)

    def rest() -> None:
        for suffix in (*format.INDEX, format.MD5):
            shutil.copyfile(f"{longer}{suffix}", f"{path}{suffix}")

    timer = threading.Timer(0.1, rest)
    timer.start()
    assert len(SampleIndex(path)) == 5
    timer.join()


def test_files_that_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(dataset_files.time, "sleep", pauses.append)  # type: ignore[attr-defined]
    clock = itertools.count()
    monkeypatch.setattr(dataset_files.time, "monotonic", lambda: next(clock) / 5)  # type: ignore[attr-defined]
    path = write(tmp_path / "a", 3)
    shutil.copyfile(write(tmp_path / "b", 5), path)
    with pytest.raises(FormatError, match=r"behind the 3 samples of its index, .*`ds reindex` takes them in"):
        MsgpackReader(path)
    shutil.copyfile(write(tmp_path / "c", 2), path)
    with pytest.raises(TruncatedError, match="where the last of 3 samples ends; `ds reindex --cut` keeps"):
        MsgpackReader(path)
    shutil.copyfile(tmp_path / "b.keys", tmp_path / "c.keys")
    with pytest.raises(FormatError, match="found 5 keys, expected 2 as there are offsets; `ds reindex`"):
        MsgpackReader(tmp_path / "c")
    assert pauses == [dataset_files.PAUSE] * 15


def left(folder: Path, **options: bool) -> Path:
    """Return a dataset beside which a killed writer left its journal."""
    path = write(folder / "a", 3)
    out = FileWriter(path, **options)  # type: ignore[arg-type]
    out.write({"key": "x", "v": bytes(1 << 18)})
    shutil.copytree(folder, folder / "copy")
    out.abort()
    return folder / "copy" / "a"


def test_a_journal_that_is_not_of_these_data(tmp_path: Path) -> None:
    """Another program wrote the dataset anew since the writer was killed: what it wrote stays."""
    path = left(tmp_path, append=True)
    assert len(SampleIndex(path)) == 3 and (path.parent / ".a.journal").exists()
    longer = write(tmp_path / "longer" / "a", 20_000)
    for name in NAMES:
        shutil.copyfile(longer.parent / name, path.parent / name)
    assert len(SampleIndex(path)) == 20_000 and MsgpackReader(path).verify_data()
    write(path, 1, 20_000, append=True)
    assert len(SampleIndex(path)) == 20_001 and names(path.parent) == NAMES and verify(path) == []


@pytest.mark.parametrize(
    "told",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"size": -1, "has_tail": true, "files": [], "drops": []}',
        b'{"size": 0, "has_tail": true, "files": [], "drops": []}',
        b'{"size": 0, "has_tail": true, "files": ["/../../b"], "drops": []}',
        b'{"size": 0, "has_tail": true, "files": [], "drops": ["/../b"]}',
        b'{"size": 0, "has_tail": true, "files": 5, "drops": []}',
        b'{"size": 1, "has_tail": false, "files": [".keys"], "drops": []}',
        b"[" * 4000,
    ],
)
def test_journals_that_no_writer_made(tmp_path: Path, told: bytes) -> None:
    path = write(tmp_path / "in" / "a", 3)
    (tmp_path / "b").write_bytes(b"other")
    (tmp_path / "in" / ".a.journal").write_bytes(told)
    assert len(SampleIndex(path)) == 3
    write(path, 2, 3, append=True)
    assert len(SampleIndex(path)) == 5 and names(path.parent) == NAMES and verify(path) == []
    assert (tmp_path / "b").read_bytes() == b"other"


def test_names_that_are_as_long_as_names_can_be(tmp_path: Path) -> None:
    longest = "ä" * 122
    for name in (longest, longest[:-1] + "xx"):
        write(tmp_path / name, 3)
        write(tmp_path / name, 2, 3, append=True)
        write(tmp_path / name, 7, overwrite=True)
        assert len(SampleIndex(tmp_path / name)) == 7
    assert not any(name.startswith(".") for name in names(tmp_path))


def test_what_is_replaced_is_read_by_nobody_else_meanwhile(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 3)
    for suffix in ("", *format.INDEX, format.MD5):
        Path(f"{path}{suffix}").chmod(0o600)
    modes: set[int] = set()

    def look() -> None:
        modes.update(stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.glob(".a*.new"))

    with FileWriter(path, overwrite=True) as out:
        look()
        prepare = out._claim.prepare

        def prepare_and_look(suffix: str, data: bytes) -> None:
            prepare(suffix, data)
            look()

        out._claim.prepare = prepare_and_look  # type: ignore[method-assign]
    assert modes == {0o600}
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()} == {0o600}


def test_empty_messages_are_appended_too(tmp_path: Path) -> None:
    with RawWriter(tmp_path / "a") as out:
        out.write("a", b"x")
    for key in "bc":
        with RawWriter(tmp_path / "a", append=True) as out:
            out.write(key, b"")
    assert SampleIndex(tmp_path / "a").keys() == ["a", "b", "c"]


def test_links_to_files_in_several_folders(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "real").mkdir()
    path = write(tmp_path / "in" / "a", 3)
    for name in NAMES:
        (tmp_path / "in" / name).rename(tmp_path / "real" / name)
        (tmp_path / "in" / name).symlink_to(tmp_path / "real" / name)
    write(path, 2, 3, append=True, durable=True)
    write(path, 9, overwrite=True, durable=True)
    assert len(SampleIndex(path)) == len(SampleIndex(tmp_path / "real" / "a")) == 9
    assert all((tmp_path / "in" / name).is_symlink() for name in NAMES)
    assert names(tmp_path / "in") == names(tmp_path / "real") == NAMES


def test_messages_of_the_kind_are_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "a", 2)
    assert path.read_bytes() == b"".join(messages.pack({"key": f"k{i}", "v": i}) for i in range(2))
    assert np.frombuffer(Path(f"{path}.offsets").read_bytes(), ">u8")[-1] == path.stat().st_size
