"""Writers that are killed: at any moment, the dataset is the one before or the one after, and writing goes on."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ds_format.datadings import dataset_files, format, writer
from ds_format.datadings.reader import MsgpackReader
from ds_format.datadings.sample_index import SampleIndex
from ds_format.datadings.verify import verify
from ds_format.datadings.writer import FileWriter, reindex
from ds_format.errors import TruncatedError

from ..zds.writers import line_of, process
from .dying import dies

OLD, NEW = range(5), range(5, 14)
NAMES = {"a" + suffix for suffix in ("", *format.INDEX, format.MD5)}


def sample(i: int) -> dict[str, Any]:
    return {"key": f"k{i}", "v": i, "x": np.arange(i % 7 * 20)}


def write(path: Path, numbers: Any, **options: Any) -> None:
    with FileWriter(path, **options) as out:
        for i in numbers:
            out.write(sample(i))


def found(path: Path) -> list[int] | None:
    """Read a dataset in every way; None: there is none."""
    try:
        reader = MsgpackReader(path)
    except FileNotFoundError:
        assert not path.exists()
        return None
    values = [one["v"] for one in reader]
    for place, value in enumerate(values):
        assert reader.find(f"k{value}")["x"].tolist() == list(range(value % 7 * 20))
        assert (f"k{value}" in reader, reader.find_key(place)) == (True, f"k{value}")
    assert reader.verify_data() and reader.verify_index()
    return values


ACTS: dict[str, tuple[Callable[[Path], Any], list[int] | None, list[int]]] = {
    "new": (lambda path: write(path, NEW), None, list(NEW)),
    "append to nothing": (lambda path: write(path, NEW, append=True), None, list(NEW)),
    "overwrite": (lambda path: write(path, NEW, overwrite=True), list(OLD), list(NEW)),
    "overwrite with less": (lambda path: write(path, range(2), overwrite=True), list(OLD), [0, 1]),
    "overwrite with the same sizes": (lambda path: write(path, [7, 8, 9], overwrite=True), [0, 1, 2], [7, 8, 9]),
    "overwrite, durable": (lambda path: write(path, NEW, overwrite=True, durable=True), list(OLD), list(NEW)),
    "append": (lambda path: write(path, NEW, append=True), list(OLD), [*OLD, *NEW]),
    "append, durable": (lambda path: write(path, NEW, append=True, durable=True), list(OLD), [*OLD, *NEW]),
    "reindex": (reindex, list(OLD), list(OLD)),
    "reindex, durable": (lambda path: reindex(path, durable=True), list(OLD), list(OLD)),
}


@pytest.fixture(autouse=True)
def _never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed writer left is read at once, not after a second."""

    monkeypatch.setattr(dataset_files, "PAUSE", "none: there is nothing to wait for")
    monkeypatch.setattr(writer, "BLOCK", 1000)


SLOW = {name for name in ACTS if "durable" in name or "with" in name}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ACTS]
)
def test_at_every_step(tmp_path: Path, name: str) -> None:
    act, before, after = ACTS[name]
    seen = set()
    for steps in range(200):
        folder = tmp_path / str(steps)
        path = folder / "a"
        folder.mkdir()
        if before is not None:
            write(path, before)
        died = dies(partial(act, path), steps)
        values = found(path)
        assert values in (before, after), steps
        seen.add(str(values))
        if not died:
            break
        for goes_on in (overwrites, appends, reindexes):
            shutil.copytree(folder, folder / "copy")
            goes_on(folder / "copy" / "a", values)
            assert {left.name for left in (folder / "copy").iterdir()} == NAMES, steps
            assert verify(folder / "copy" / "a") == []
            shutil.rmtree(folder / "copy")
    assert not died
    assert steps > 20
    assert values == after and {left.name for left in folder.iterdir()} == NAMES
    assert seen == {str(before), str(after)}


def overwrites(path: Path, before: list[int] | None) -> None:
    write(path, range(30, 40), overwrite=True)
    assert found(path) == list(range(30, 40))


def appends(path: Path, before: list[int] | None) -> None:
    write(path, [40], append=True)
    assert found(path) == [*(before or ()), 40]


def reindexes(path: Path, before: list[int] | None) -> None:
    if before is None:
        with pytest.raises(FileNotFoundError):
            reindex(path)
        write(path, [1])
        return
    reindex(path, cut=True)
    values = found(path)
    assert values is not None
    assert values[: len(before)] == before, "what counted counts"
    assert values == [*OLD, *NEW][: len(values)] or values == before


def test_reindexing_what_was_appended(tmp_path: Path) -> None:
    """Killed twice: what was appended and not committed counts only with its new index."""
    torn = tmp_path / "torn" / "a"
    write(torn, OLD)
    assert dies(lambda: write(torn, range(5, 60), append=True), 20)
    assert found(torn) == list(OLD)
    with pytest.raises(TruncatedError, match="cut off"):
        reindex(torn)
    assert found(torn) == list(OLD)
    results = []
    for steps in range(200):
        path = tmp_path / str(steps) / "a"
        shutil.copytree(torn.parent, path.parent)
        died = dies(partial(reindex, path, cut=True), steps)
        results.append(found(path))
        if not died:
            break
        write(path, [70], append=True)
        assert found(path) == [*(results[-1] or ()), 70]
        assert verify(path) == [] and {left.name for left in path.parent.iterdir()} == NAMES
    whole = results[-1]
    assert whole is not None
    assert len(OLD) < len(whole) < 60 and whole == list(range(len(whole)))
    assert [list(OLD)] * results.count(list(OLD)) + [whole] * results.count(whole) == results


def test_verify_tells_of_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, OLD)
    size = path.stat().st_size
    assert dies(lambda: write(path, range(5, 60), append=True), 20)
    told = f"a writer is appending, or was killed: {path.stat().st_size - size} bytes do not count"
    assert path.stat().st_size > size == SampleIndex(path).size
    assert [str(one) for one in verify(path)] == [
        f"{tmp_path}/.a.journal: {told}; `ds reindex --cut` keeps complete samples"
    ]
    path = tmp_path / "b"
    for steps in range(99):
        write(path, OLD, overwrite=True)
        if dies(lambda: write(path, NEW, overwrite=True), steps) and found(path) == list(NEW):
            break
    assert [one.file for one in verify(path)] == [f"{tmp_path}/.b.journal"]


@pytest.mark.parametrize("options", [{"overwrite": True}, {"append": True}], ids=str)
def test_names_that_cannot_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, bool]) -> None:
    """Before the first one nothing is kept, and after it all is."""
    seen = []
    for n in range(9):
        path = tmp_path / str(n) / "a"
        write(path, range(3))
        left = iter(range(n))

        def replace(source: Any, target: Any, left: Any = left, real: Any = os.replace) -> None:
            if next(left, None) is None:
                raise OSError(errno.EIO, os.strerror(errno.EIO), source)
            real(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace)
            with suppress(OSError):
                write(path, [3, 4], **options)
        seen.append(found(path) or [])
        if len(seen[-1]) == 3:
            assert {left.name for left in path.parent.iterdir()} == NAMES
        write(path, [9], append=True)
        assert found(path) == [*seen[-1], 9]
        assert {left.name for left in path.parent.iterdir()} == NAMES and verify(path) == []
    after = [3, 4] if "overwrite" in options else [0, 1, 2, 3, 4]
    assert seen == [[0, 1, 2]] * seen.count([0, 1, 2]) + [after] * seen.count(after)
    assert 2 <= seen.count([0, 1, 2]) <= 3


OVERWRITES = """
import itertools, sys
from ds_format.datadings.writer import FileWriter
for n in itertools.count(1):
    with FileWriter(sys.argv[1], overwrite=True) as out:
        for i in range(20):
            out.write({"key": f"k{i}", "v": n})
    print(n, flush=True)
"""
APPENDS = """
import itertools, sys
from ds_format.datadings.writer import FileWriter
while True:
    with FileWriter(sys.argv[1], append=True) as out:
        for i in range(len(out), len(out) + 20):
            out.write({"key": f"k{i}", "v": i, "x": bytes(i % 3000)})
    print(len(out), flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.004, 0.01, 0.02])
def test_overwriting(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "a"
    with process(OVERWRITES, path) as writing:
        told = int(line_of(writing))
        time.sleep(delay)
    reader = MsgpackReader(path)
    values = {one["v"] for one in reader}
    assert len(reader) == 20 and len(values) == 1 and min(values) >= told
    overwrites(path, None)
    assert {left.name for left in tmp_path.iterdir()} == NAMES


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.004, 0.01, 0.02])
def test_appending(tmp_path: Path, delay: float) -> None:
    path = tmp_path / "a"
    for _ in range(3):
        with process(APPENDS, path) as writing:
            told = int(line_of(writing))
            time.sleep(delay)
        reader = MsgpackReader(path)
        assert [one["v"] for one in reader] == list(range(len(reader)))
        assert len(reader) >= told and len(reader) % 20 == 0
    with FileWriter(path, append=True) as out:
        out.write({"key": "last"})
    assert {left.name for left in tmp_path.iterdir()} == NAMES and verify(path) == []
