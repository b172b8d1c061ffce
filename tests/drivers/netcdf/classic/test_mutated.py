"""Damaged classic files that are read without the library are read as by it, if it reads them.

On some of them the library never comes back, or crashes. So each is compared in a process of its own, with an alarm.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from ds_format.drivers import netcdf
from ds_format.drivers.netcdf.classic.source import ClassicSource
from ds_format.errors import DsError

from ....classic.written import drawn_or_written
from ..both import differences

ROOT = Path(__file__).parents[4]
N = 100
SECONDS = 10
"""Until a process of which nothing is heard is ended."""


def mutated(random: Random) -> bytes:
    """Return a classic file of which a few bytes are others."""
    data = bytearray(drawn_or_written(random))
    for _ in range(random.randint(1, 3)):
        data[random.randrange(4, len(data))] = random.choice([0, 1, 2, 10, 11, 12, 127, 128, 255])
    return bytes(data)


def is_read(path: Path) -> bool:
    """Whether a file is read without the library, whole."""
    try:
        with contextlib.closing(netcdf.open(path)) as source:
            if not isinstance(source, ClassicSource):
                return False
            for key in source.meta:
                if key != ".":
                    source.read(key)
    except DsError:
        return False
    return True


def main(seed: int, path: Path) -> None:
    """Print what differs of some files, and how many were compared."""
    n = 0
    for i in range(N):
        path.write_bytes(mutated(Random(seed * N + i)))
        if not is_read(path):
            continue
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            found = differences(path)
            if found and not found[0].startswith("open: "):  # it refuses variables that share bytes, but have none
                print(f"{seed * N + i}: {found}", flush=True)
            os._exit(0)
        n += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    print(n)


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_that_are_read(seed: int, tmp_path: Path) -> None:
    words = [sys.executable, "-W", "ignore", "-m", __name__, str(seed), str(tmp_path / "a.nc")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, env=environment)
    *found, n = done.stdout.splitlines()
    assert found == []
    assert int(n) > N // 10


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
