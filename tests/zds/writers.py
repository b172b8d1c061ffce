"""Writers in processes of their own, which are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]


@contextmanager
def process(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run code in a new process, whose lines can be read while it runs; it is killed at the end of the block."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    started = subprocess.Popen(
        [sys.executable, "-u", "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        yield started
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
        for stream in (started.stdout, started.stdin):
            close(stream)


def close(stream: IO[str] | None) -> None:
    if stream is not None:
        stream.close()


def line_of(started: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints."""
    assert started.stdout is not None
    line = started.stdout.readline()
    assert line, "the process ended"
    return line.strip()
