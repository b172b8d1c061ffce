"""What `durable` promises: data are on the disk before a name leads to them, and names before the writer is done."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .durable_writers import WRITERS
from .formats import SUFFIXES
from .system_calls import Call, Disk, record

VOLATILE = (".lock", "/lock")
"""Ends of names that mean nothing after a power cut."""
WORK = (".tmp/", ".work/")
"""Ends of folders of which nothing stays."""
INDEXES = (".keys", ".key_hashes", ".filter", ".offsets", ".md5", ".meta", "/index.bin", "/manifest.json")
"""Ends of names of what tells of data beside it."""
MARKS = ("/.begin", "/.end")


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    """The calls of all writers: one process is faster than two for each of them."""
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("durable")))
    return record("tests.durable_writers", folder, folder / "w")


def of_writer(calls: list[Call], name: str, how: str) -> list[Call]:
    """Return the calls on files of one writer that count."""
    folder = f"/w/{name}/{how}"
    own = [call for call in calls if f"{call.path}/".partition("/w/")[2].startswith(f"{name}/{how}/")]
    begin, end = (next(i for i, call in enumerate(own) if call.path.endswith(folder + mark)) for mark in MARKS)
    assert begin < end
    return [call for call in own[begin + 1 : end] if is_kept(call.to or call.path)]


def is_kept(path: str) -> bool:
    """Whether something is not gone with its process."""
    return not path.endswith((*VOLATILE, " (deleted)")) and not any(work in path for work in WORK)


@pytest.mark.parametrize("name", WRITERS)
def test_all_is_on_the_disk_before_a_name_leads_to_it(calls: list[Call], name: str) -> None:
    disk = Disk()
    own = of_writer(calls, name, "durable")
    assert any(call.name == "fsync" for call in own)
    for call in own:
        disk.see(call)
    assert not disk.early
    assert not disk.data
    assert not [name for name in disk.names if is_kept(name)]


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_waits_for_the_disk_that_need_not(calls: list[Call], name: str) -> None:
    own = of_writer(calls, name, "fast")
    assert any(call.name in ("write", "unlink", "rename") for call in own)
    assert not [call for call in own if call.name == "fsync"]


@pytest.mark.parametrize("name", [name for name in WRITERS if name.startswith(("samples", "documents", "flush"))])
def test_an_index_comes_when_its_data_are_on_the_disk(calls: list[Call], name: str) -> None:
    own = of_writer(calls, name, "durable")
    touched = {call.to or call.path: i for i, call in enumerate(own)}
    for i, call in enumerate(own):
        if call.name == "rename" and call.to.endswith(INDEXES):
            folder = os.path.dirname(call.to)
            assert all(touched.get(f"{folder}/{data}", -1) < i for data in ("out.msgpack", "data.jsonl"))


ONE_FILE = (*(suffix for suffix in SUFFIXES if suffix not in (".msgpack", ".zarr")), ".tsv")
WHOLE = [name for name in WRITERS if name.endswith(ONE_FILE) or name.startswith(("pickle", "elsewhere"))]
"""Writers of one file."""


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[str, list[str]]]]:
    """What each of `WHOLE` says, and changes, while a call fails."""
    told = {}
    for call in ("write", "fsync", "close", "rename"):
        folder = Path(os.path.realpath(tmp_path_factory.mktemp(call)))
        record("tests.durable_writers", folder, folder / "w", call, *WHOLE)
        told[call] = json.loads((folder / "w" / "told").read_text())
    return told


@pytest.mark.parametrize("call", ["write", "fsync", "close", "rename"])
@pytest.mark.parametrize("name", WHOLE)
def test_no_error_of_the_system_is_missed(
    failed: dict[str, dict[str, tuple[str, list[str]]]], call: str, name: str
) -> None:
    error, changed = failed[call][name]
    if call == "rename" and "straight" in name:
        assert error == "none"
        return
    assert not changed
    if call == "write" and name.endswith(".nc") and error.startswith("EACCES out"):
        return  # what the netCDF library says of a file that it cannot begin
    assert error.startswith("EIO out")
