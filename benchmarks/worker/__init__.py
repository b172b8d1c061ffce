"""Other processes: one that runs ds-format in another environment, or whose memory is to be measured."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

SCRIPT = Path(__file__).with_name("serve.py")
PROC = Path("/proc")


class WorkerError(Exception):
    """What was asked of another process failed there."""


class Worker:
    """A Python that runs `serve.py`: it is asked one thing after another, and does nothing meanwhile.

    Parameters
    ----------
    python : str
        The interpreter of its environment.
    path : str, optional
        A folder to import `ds_format` from, if the environment has not installed it.
    """

    def __init__(self, python: str, path: str | None = None):
        self.python = python
        self.path = path
        self.environment = environment(path)
        self.process = subprocess.Popen(
            [python, str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        try:
            self.version: str = self.ask("version")
        except WorkerError:
            self.close()
            raise

    def ask(self, verb: str, **options: Any) -> Any:
        """Have the process call one of the functions in `serve.py`, and return what it returns.

        Raises
        ------
        WorkerError
            If the function, or the process, failed.
        """
        if self.process.stdin is None or self.process.stdout is None:
            raise WorkerError("the process has no pipes")
        line = ""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps([verb, options]) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        if not line:
            raise WorkerError(f"{self.python}: the process ended during {verb!r}")
        answer, error = json.loads(line)
        if error:
            raise WorkerError(f"{self.python}: {verb}: {error}")
        return answer

    def memory(self, peak: bool = True) -> float:
        """Return the resident memory of the process, now or at most so far, in units of 1e6 bytes."""
        field = "VmHWM:" if peak else "VmRSS:"
        for line in (PROC / str(self.process.pid) / "status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024 / 1e6
        raise WorkerError(f"the system does not tell {field}")

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def environment(path: str | None = None) -> Mapping[str, str]:
    """Return the environment variables of a process that imports its own packages, and those in one folder."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if path is not None:
        variables["PYTHONPATH"] = path
    return variables


def can_measure_memory() -> bool:
    """Whether the system tells the memory of a process."""
    return (PROC / "self" / "status").exists()
