"""Packs are whole at any moment: written, added to, by one or two processes, killed or on a full disk."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ds_format as ds
from ds_format.body import directory
from ds_format.body.body import FileBody, OutputBody
from ds_format.body.lock import Lock
from ds_format.body.target import Target
from ds_format.kernels.files.names import usual_temporary_name
from ds_format.many import pack_writing

from ..conftest import small_disk
from ..zds.writers import line_of, process
from .conftest import N, report

ADDS = """
import os, sys
import ds_format as ds
for i in range(int(sys.argv[1]), 100000):
    os.link(sys.argv[2], f"n{i}.ds")
    ds.pack(f"n{i}.ds", "grow.zip", append=True)
    os.unlink(f"n{i}.ds")
    print(i, flush=True)
"""


def contents(path: str) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_members_are_added_behind_the_others(folder: Path) -> None:
    before = contents("st.zip")
    ds.write("new.ds", report(9))
    assert ds.pack("new.ds", "st.zip", append=True) == N + 1
    assert contents("st.zip") == before | {"new.ds": (folder / "new.ds").read_bytes()}
    assert ds.read("st.zip/new.ds")["time"][0] == 36
    assert ds.pack([], "st.zip", append=True) == N + 1
    assert ds.pack("new.ds", "other.zip", append=True) == 1
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_adding_one_by_one_makes_the_same_pack(folder: Path) -> None:
    for name in sorted(os.listdir("st")):
        ds.pack(f"st/{name}", "one.zip", append=True)
    assert (folder / "one.zip").read_bytes() == (folder / "st.zip").read_bytes()


def test_names_of_members(folder: Path) -> None:
    os.makedirs("a/b")
    ds.write("a/b/x.ds", {"x": 1})
    ds.write("a/y.ds", {"x": 1})
    ds.pack("a", "a.zip")
    assert sorted(contents("a.zip")) == ["b/x.ds", "y.ds"]
    ds.pack("a/**/*.ds", "a.zip")
    assert sorted(contents("a.zip")) == ["b/x.ds", "y.ds"]
    ds.pack(["a/b/x.ds", Path("a/y.ds"), b"st/r0.ds"], "a.zip")
    assert sorted(contents("a.zip")) == ["r0.ds", "x.ds", "y.ds"]
    ds.pack(["a.zip", "st/r1.ds"], "b.zip")
    assert sorted(contents("b.zip")) == ["r0.ds", "r1.ds", "x.ds", "y.ds"]


def test_conflicts_are_refused(folder: Path) -> None:
    os.mkdir("a")
    ds.write("a/r0.ds", {"x": 1})
    before = (folder / "st.zip").read_bytes()
    with pytest.raises(ds.UnsupportedError, match=r"two files have the name 'r0\.ds': st/r0\.ds and a/r0\.ds"):
        ds.pack(["st/r0.ds", "a/r0.ds"], "st.zip")
    with pytest.raises(ds.UnsupportedError, match=r"has a member 'r0\.ds' already"):
        ds.pack("a/r0.ds", "st.zip", append=True)
    with pytest.raises(ds.UnsupportedError, match=r"expected \.zip"):
        ds.pack("a/r0.ds", "a/out.pack")
    with pytest.raises(FileNotFoundError) as found:
        ds.pack(["st/r0.ds", "a/none.ds"], "st.zip")
    assert found.value.filename == "a/none.ds"
    with pytest.raises(ds.MissingError):
        ds.pack("a/none*.ds", "st.zip")
    assert (folder / "st.zip").read_bytes() == before
    assert not [name for name in os.listdir() if name.startswith(".")]


def test_other_files_and_large_ones(folder: Path) -> None:
    (folder / "notes.txt").write_bytes(b"")
    (folder / "ä.bin").write_bytes(os.urandom(3 << 20))
    ds.pack(["notes.txt", "ä.bin", "st/r0.ds"], "p.zip")
    assert contents("p.zip") == {name: (folder / name).read_bytes() for name in ("notes.txt", "ä.bin")} | {
        "r0.ds": (folder / "st/r0.ds").read_bytes()
    }
    shown: list[tuple[int, int]] = []
    ds.pack(["ä.bin", "st/r0.ds"], "p.zip", progress=lambda done, total: shown.append((done, total)))
    assert shown[-1][0] == shown[-1][1] == os.path.getsize("ä.bin") + os.path.getsize("st/r0.ds")


@pytest.mark.slow
def test_more_members_than_a_number_of_16_bits_holds(folder: Path) -> None:
    data, n = (folder / "st/r0.ds").read_bytes(), 66_000
    with open("many.zip", "wb") as raw:
        file = OutputBody.of("many.zip", os.dup(raw.fileno()))
    writer = pack_writing._PackWriter(file, "many.zip")
    for i in range(n):
        writer.add(f"m{i}.ds", data if i % 1000 == 0 else b"ds-1.0\n{}\n")
    assert writer.finish() == n
    file.close()
    with zipfile.ZipFile("many.zip") as archive:
        assert len(archive.namelist()) == n and archive.read("m65000.ds") == data
    assert ds.read("many.zip/m65000.ds")["lat"] == 1
    assert ds.pack("st/r1.ds", "many.zip", append=True) == n + 1
    assert ds.read("many.zip/r1.ds")["lat"] == 1
    assert len(ds.read_many("many.zip/m*000.ds", "lat", dim="i")["lat"]) == 65


@pytest.mark.slow
def test_positions_and_sizes_beyond_32_bits(folder: Path) -> None:
    """The large member is sparse: it takes no space."""
    size = (1 << 32) + 5
    with open("huge.bin", "wb") as file:
        file.truncate(size)
    with open("huge.zip", "w+b") as raw:
        header = directory.local_header("huge.bin", size, 0, 0)
        raw.write(header)
        start = len(header) + size
        data = (folder / "st/r0.ds").read_bytes()
        crc = zlib.crc32(data)
        raw.seek(start)
        second = directory.local_header("r0.ds", len(data), crc, start)
        raw.write(second + data)
        assert raw.tell() - len(data) == start + len(second) and (start + len(second)) % 64 == 0
        at = raw.tell()
        entries = directory.entry("huge.bin", size, 0, 0) + directory.entry("r0.ds", len(data), crc, start)
        raw.write(entries + directory.end(2, len(entries), at))
    with zipfile.ZipFile("huge.zip") as archive:
        assert archive.read("r0.ds") == data and archive.getinfo("huge.bin").file_size == size
        with archive.open("huge.bin") as member:
            assert member.read(10) == bytes(10)
    assert ds.read("huge.zip/r0.ds")["lat"] == 1
    found = directory.read(FileBody.open("huge.zip"))
    assert found.find("huge.bin", "").size == size and found.find("r0.ds", "").offset == start
    place, forged = found.find("r0.ds", ""), second.replace(struct.pack("<L", crc), bytes(4))
    with pytest.raises(ds.FormatError, match="contradict"):
        found.data_start(place, forged, "")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_killed_writers_leave_the_old_or_the_new_pack(folder: Path) -> None:
    rng = np.random.default_rng(3)
    n = 0
    for _ in range(12):
        with process(ADDS, n, "st/r0.ds") as started:
            n = int(line_of(started)) + 1
            time.sleep(float(rng.uniform(0, 0.05)))
        found = contents("grow.zip")
        assert len(found) >= n and {*found.values()} == {(folder / "st/r0.ds").read_bytes()}
        assert len(ds.read_many("grow.zip/*.ds", "lat")) == len(found)
        n = len(found)
        for name in os.listdir():
            if name.startswith("n") and name.endswith(".ds"):
                os.unlink(name)
    assert ds.pack("st/r1.ds", "grow.zip", append=True) == n + 1


@pytest.mark.slow
def test_readers_see_a_whole_pack_while_members_are_added(folder: Path) -> None:
    with process(ADDS, 0, "st/r0.ds") as started:
        line_of(started)
        before = 0
        for _ in range(40):
            n = len(ds.read_many("grow.zip/*.ds", "lat"))
            assert n >= before and len(contents("grow.zip")) >= n
            before = n
    assert before > 1


def test_two_writers(folder: Path) -> None:
    lock = Lock(usual_temporary_name(str(folder / "st.zip"), "lock"), "st.zip")
    before = (folder / "st.zip").read_bytes()
    with pytest.raises(ds.BusyError, match="another process is writing to it"):
        ds.pack("st/r0.ds", folder / "st.zip", append=True)
    assert (folder / "st.zip").read_bytes() == before
    lock.release(remove=True)
    ds.write("new.ds", {"x": 1})
    assert ds.pack("new.ds", "st.zip", append=True) == N + 1


@pytest.mark.parametrize("append", [False, True])
def test_a_full_disk(folder: Path, append: bool) -> None:
    ds.write("new.ds", {"x": np.arange(300_000.0)})
    (folder / "disk").mkdir()
    with small_disk(folder / "disk"):
        ds.pack("st/*", "disk/st.zip")
        before = (folder / "disk/st.zip").read_bytes()
        with pytest.raises(OSError, match=r"disk/st\.zip"):
            ds.pack("new.ds", "disk/st.zip", append=append)
        assert os.listdir("disk") == ["st.zip"]
        assert (folder / "disk/st.zip").read_bytes() == before


def _error_of(call: Callable[[], object]) -> OSError | None:
    try:
        call()
    except OSError as error:
        return error
    return None


@pytest.mark.parametrize("append", [False, True])
def test_a_disk_that_is_full_after_any_number_of_bytes(folder: Path, append: bool) -> None:
    ds.write("large.ds", {"x": np.arange(30_000.0)})
    new = ["large.ds", *(f"st/r{i}.ds" for i in range(4))]
    (folder / "disk").mkdir()
    n_failed = 0
    with small_disk(folder / "disk"):
        ds.pack("st/*.nc", "disk/st.zip")
        before = (folder / "disk/st.zip").read_bytes()
        with contextlib.suppress(OSError), open("disk/filler", "wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass
        while (error := _error_of(lambda: ds.pack(new, "disk/st.zip", append=append))) is not None:
            assert error.errno == errno.ENOSPC and "disk/st.zip" in str(error)
            assert sorted(os.listdir("disk")) == ["filler", "st.zip"]
            assert (folder / "disk/st.zip").read_bytes() == before
            n_failed += 1
            os.truncate("disk/filler", os.path.getsize("disk/filler") - 4096)
        assert len(contents("disk/st.zip")) == (6 if append else 5)
    assert n_failed > 50


@pytest.mark.parametrize("append", [False, True])
def test_any_write_may_fail(folder: Path, append: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write, copy and rename, of small members together and of a large one by itself."""
    ds.write("large.ds", {"x": np.arange(300_000.0)})
    monkeypatch.setattr(pack_writing, "PENDING", 1000)
    before, calls = (folder / "st.zip").read_bytes(), []
    at = [0]

    def failing(owner: Any, name: str) -> None:
        call = getattr(owner, name)

        def run(*words: Any, **options: Any) -> Any:
            calls.append(name)
            if len(calls) == at[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "there")
            return call(*words, **options)

        monkeypatch.setattr(owner, name, run)

    for owner, name in ((OutputBody, "write"), (OutputBody, "copy"), (OutputBody, "close"), (Target, "commit")):
        failing(owner, name)
    names = ["large.ds", "notes.txt"]
    (folder / "notes.txt").write_bytes(b"x")
    new = [*names, "st/r1.ds"] if not append else names
    for at[0] in range(1, 100):
        calls.clear()
        error = _error_of(lambda: ds.pack(new, "st.zip", append=append))
        if error is None:
            break
        assert error.errno == errno.ENOSPC
        assert (folder / "st.zip").read_bytes() == before
        assert not [name for name in os.listdir() if name.startswith(".")]
    assert {*calls} == {"write", "close", "commit"} | ({"copy"} if append else set()) and at[0] == len(calls) + 1 > 6
    assert contents("st.zip")["large.ds"] == (folder / "large.ds").read_bytes()


def test_adding_keeps_an_archive_of_another_program(folder: Path) -> None:
    with zipfile.ZipFile("other.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("dir/", b"")
        archive.writestr("text.txt", b"text" * 100)
    ds.pack("st/r0.ds", "other.zip", append=True)
    found: Any = contents("other.zip")
    assert found["text.txt"] == b"text" * 100 and found["r0.ds"] == (folder / "st/r0.ds").read_bytes()
    assert ds.read("other.zip/r0.ds")["lat"] == 1
