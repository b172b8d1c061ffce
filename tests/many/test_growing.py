"""Data that grow while processes are killed, disks are full, and others read and write: all see whole states."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..system_calls import ROOT, record
from .growing import WAYS, records

WITH_ROOT = {**os.environ, "PYTHONPATH": str(ROOT)}


def command(how: str, way: str, folder: Path, *numbers: int) -> list[str]:
    return [sys.executable, "-m", "tests.many.growing", how, way, str(folder), *map(str, numbers)]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("way", WAYS)
def test_what_is_killed_leaves_the_old_or_the_new(way: str, tmp_path: Path) -> None:
    done = subprocess.run(command("kill", way, tmp_path, 100), env=WITH_ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_disk_that_becomes_full_at_any_call(way: str, tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "full"
    folder.mkdir()
    record("tests.many.growing", tmp_path, "full", way, folder)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "series", "compact", "rename"])
def test_two_appenders_at_once(way: str, tmp_path: Path) -> None:
    path = tmp_path / "all.ds"
    both = [
        subprocess.Popen(command("run", way, tmp_path, start, 60, 2), env=WITH_ROOT, stdout=subprocess.DEVNULL)
        for start in (0, 1)
    ]
    found: set[int] = set()
    while any(one.poll() is None for one in both):
        with contextlib.suppress(FileNotFoundError):
            now = records(path)
            assert len(set(now)) == len(now)
            assert found <= set(now)
            found = set(now)
    assert [one.wait() for one in both] == [0, 0]
    assert sorted(records(path)) == [*range(60)]
    assert os.listdir(tmp_path) == ["all.ds"]
