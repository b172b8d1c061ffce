"""Ways in which data grow, step by step, as a program in which they are killed, or their disk is full.

``python -m tests.many.growing HOW WAY FOLDER [NUMBER...]`` runs one of `WAYS` in FOLDER. HOW is `run START END STEP`,
`kill COUNT`, or `full`: see the functions. After each step the data are those of the step before, or its own.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import random
import shutil
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import ds_format as ds
from ds_format.many import segments

META: dict[str, Any] = {"i": {".dims": ["i"]}, "x": {".dims": ["i", "j"]}}
WIDTH = 50


def record(i: int) -> dict[str, Any]:
    """Return the dataset of one step."""
    return {"i": [i], "x": [[i] * WIDTH], ".": META}


def records(path: Path) -> list[int]:
    """Return the numbers of the records of a dataset, each of which is whole."""
    found = ds.read(path)
    numbers: list[int] = found["i"].tolist()
    assert found["x"].tolist() == [[i] * WIDTH for i in numbers]
    return numbers


class Way(NamedTuple):
    """One way to grow."""

    output: str
    """Name of what is written."""
    step: Callable[[Path, int], None]
    """Called with the output and the number of the step."""
    count: Callable[[Path], int]
    """Return how many steps the output has."""


def append(*, series: bool) -> Callable[[Path, int], None]:
    return lambda path, i: ds.append(path, record(i), "i", series=series)


def compact(path: Path, i: int) -> None:
    ds.append(path, record(i), "i", series=True)
    ds.compact(path)


def rename(path: Path, i: int) -> None:
    """Compact as on an operating system that cannot exchange two names: the name is free for a moment."""
    with mock.patch("ds_format.body.target._exchanged", return_value=False):
        compact(path, i)


def merge(path: Path, i: int) -> None:
    stations = [path.with_name(f"st{k}.ds") for k in range(3)]
    for station in stations:
        ds.write(station, record(i))
    ds.merge_ragged(stations, path)


def pack(path: Path, i: int) -> None:
    member = path.with_name(f"{i:06}.ds")
    ds.write(member, record(i))
    ds.pack(member, path, append=True)


def n_records(path: Path) -> int:
    found = records(path)
    assert found == [*range(len(found))]
    return len(found)


def n_merged(path: Path) -> int:
    found = records(path)
    assert found == [found[0]] * 3
    assert ds.read(path, "row_size")["row_size"].tolist() == [1, 1, 1]
    return found[0] + 1


def n_members(path: Path) -> int:
    found = ds.read_many(f"{path}/*.ds")
    assert [one["i"].tolist() for one in found] == [[i] for i in range(len(found))]
    assert [one["x"].tolist() for one in found] == [[[i] * WIDTH] for i in range(len(found))]
    return len(found)


def check(path: Path) -> None:
    """Look for damage that reading does not find."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as file:
            assert file.testzip() is None
    else:
        assert [one for one in ds.verify(path) if one.severity == "error"] == []


WAYS = {
    "file": Way("all.ds", append(series=False), n_records),
    "series": Way("all.ds", append(series=True), n_records),
    "compact": Way("all.ds", compact, n_records),
    "ragged": Way("all.ds", merge, n_merged),
    "pack": Way("all.zip", pack, n_members),
}


def run(way: Way, path: Path, start: int, end: int, step: int) -> None:
    """Make some steps, and print the number of each."""
    for i in range(start, end, step):
        way.step(path, i)
        print(i, flush=True)


def kill(way: Way, path: Path, n: int) -> None:
    """Kill a process that makes steps at `n` random moments, and read meanwhile.

    What was told to be done is there, and each state that is read follows the one before.
    """
    chance, told = random.Random(path.parent.name), mmap.mmap(-1, 8)
    way.step(path, 0)
    for _ in range(n):
        seen = start = way.count(path)
        told[:] = start.to_bytes(8, "little")
        if not (child := os.fork()):
            for i in range(start, start + 10**6):
                way.step(path, i)
                told[:] = (i + 1).to_bytes(8, "little")
        end = time.monotonic() + chance.uniform(0, 0.02)
        while time.monotonic() < end:
            before, seen = seen, way.count(path)
            assert seen >= before
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        done = int.from_bytes(told[:], "little")
        assert done <= way.count(path) <= done + 1
        check(path)


def full(way: Way, path: Path) -> None:
    """Make the disk full at each call that needs space: the step fails, and changes nothing; or it is done."""
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    left = ctypes.c_int.in_dll(library, "calls_until_full")
    kept = path.parent.with_name("kept")
    for i in range(3):  # the last one compacts segments
        way.step(path, i)
    shutil.copytree(path.parent, kept)
    failed = 0
    for n in range(1, 1000):
        shutil.rmtree(path.parent)
        shutil.copytree(kept, path.parent)
        left.value = n
        try:
            way.step(path, 3)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            failed += 1
        was_full, left.value = left.value < 0, 0
        count = way.count(path)
        assert count in (3, 4)
        check(path)
        assert {one.name for one in path.parent.rglob(".*")} <= {".lock"}
        if count == 3:
            way.step(path, 3)
            assert way.count(path) == 4
        if not was_full:
            assert count == 4
            assert 2 < failed < n
            return


if __name__ == "__main__":
    segments.FANOUT, segments.SMALL_SIZE = 2, 3000
    how, name, folder, *numbers = sys.argv[1:]
    chosen = WAYS[name] if name in WAYS else Way("all.ds", rename, n_records)
    hows: dict[str, Callable[..., None]] = {"run": run, "kill": kill, "full": full}
    hows[how](chosen, Path(folder, chosen.output), *map(int, numbers))
