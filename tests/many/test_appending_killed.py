"""Processes that append are killed at any moment, and others read and append meanwhile: all see whole states."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ds_format as ds

ROOT = Path(__file__).parents[2]
APPENDING = """
import sys
import ds_format as ds
from ds_format.many import segments
path, series, start, end, step = sys.argv[1], sys.argv[2] == "series", *map(int, sys.argv[3:])
segments.FANOUT = 2
segments.SMALL_SIZE = 3000
for i in range(start, end, step):
    d = {"i": [i], "x": [[i] * 50], ".": {"i": {".dims": ["i"]}, "x": {".dims": ["i", "j"]}}}
    ds.append(path, d, "i", series=series)
    if i % 11 == 10:
        ds.compact(path)
    print(i, flush=True)
"""


def start(path: Path, kind: str, *numbers: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", APPENDING, str(path), kind, *map(str, numbers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def read(path: Path) -> list[int]:
    """Return the records of a dataset, each of which is whole."""
    found = ds.read(path)
    numbers: list[int] = found["i"].tolist()
    assert found["x"].tolist() == [[i] * 50 for i in numbers]
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "series"])
def test_a_killed_appender_leaves_the_old_or_the_new(kind: str, tmp_path: Path) -> None:
    path, chance, n = tmp_path / "all.ds", random.Random(kind), 0
    for _ in range(12):
        with start(path, kind, n, 10**9, 1) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            end, seen = time.monotonic() + chance.uniform(0, 0.4), n
            while time.monotonic() < end:
                records = read(path)
                assert records == [*range(len(records))]
                assert len(records) > seen
                seen = len(records) - 1
            process.kill()
            told = [n, *map(int, process.stdout.read().split())][-1]
        records = read(path)
        assert records == [*range(len(records))]
        assert told + 1 <= len(records) <= told + 2
        assert [one for one in ds.verify(path) if one.severity == "error"] == []
        n = len(records)
    ds.append(path, {"i": [n], "x": [[n] * 50], ".": {"i": {".dims": ["i"]}, "x": {".dims": ["i", "j"]}}}, "i")
    ds.compact(path)
    assert read(path) == [*range(n + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "series"])
def test_two_appenders_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    with start(path, kind, 0, 60, 2) as one, start(path, kind, 1, 60, 2) as other:
        found: set[int] = set()
        while one.poll() is None or other.poll() is None:
            if path.exists():
                now = read(path)
                assert len(set(now)) == len(now)
                assert found <= set(now)
                found = set(now)
        assert one.wait() == other.wait() == 0
    assert sorted(read(path)) == [*range(60)]
    assert os.listdir(tmp_path) == ["all.ds"]
