"""The system calls of a program, in order, and the files that a power cut would leave.

`system_calls.c` records the calls. The loader puts it before the C library, so calls of compiled code are recorded,
too.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]


class Call(NamedTuple):
    """A successful call."""

    name: str
    """create, write (or a change of size), fsync, rename, link, unlink, mkdir or rmdir."""
    path: str
    to: str
    """The second path of rename and link."""


def record(module: str, folder: Path, *arguments: object) -> list[Call]:
    """Run a module as a program, and return its calls. Skip the test if they cannot be recorded.

    The program may set SYSTEM_CALLS_FAIL to the name of a call or to close. Then this fails with EIO for files with
    names like `out`, `out.ds` and `.out.ds.tmp`.
    """
    library, log = _library(folder), folder / "calls"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SYSTEM_CALLS": str(log), "LD_PRELOAD": str(library)}
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Call(*line.split("\t")) for line in log.read_text().splitlines()]


def _library(folder: Path) -> Path:
    if sys.platform != "linux":
        pytest.skip("calls are recorded on Linux only")
    if "LD_PRELOAD" in os.environ:
        pytest.skip("LD_PRELOAD is in use for something else")
    known = [shlex.split(sysconfig.get_config_var("CC") or "cc"), ["cc"], ["gcc"], ["clang"]]
    compiler = next((words for words in known if shutil.which(words[0])), None)
    if compiler is None:
        pytest.skip("there is no C compiler to make the recorder with")
    library = folder / "system_calls.so"
    source = Path(__file__).with_suffix(".c")
    subprocess.run([*compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


class Disk:
    """The parts of the files in a folder that are on the disk for certain.

    Data are on the disk after an fsync of their file, and names after an fsync of their folder. A new folder is there
    if its contents are, as on all file systems with a journal. Files from before the first call are on the disk.

    Attributes
    ----------
    data : set of str
        Files whose data may not be on the disk.
    names : set of str
        Names that may or may not exist on the disk.
    early : list of Call
        Renames of files that were not on the disk.
    """

    def __init__(self) -> None:
        self.data: set[str] = set()
        self.names: set[str] = set()
        self.early: list[Call] = []
        self._new: set[str] = set()

    def see(self, call: Call) -> None:
        """Go on by one call."""
        if call.name == "fsync":
            self.data.discard(call.path)
            self.names -= {name for name in self.names if os.path.dirname(name) == call.path}
        elif call.name == "write":
            self.data.add(call.path)
        elif call.name == "create":
            self._add(call.path)
        elif call.name in ("rename", "link"):
            if call.path in self.data:
                self.early.append(call)
                self.data.add(call.to)
            self._add(call.to)
        if call.name in ("rename", "unlink"):
            self._remove(call.path)

    def _add(self, path: str) -> None:
        self.names.add(path)
        self._new.add(path)

    def _remove(self, path: str) -> None:
        """Forget a name; that it is gone need not be on the disk if it was made since the beginning."""
        self.data.discard(path)
        self.names.discard(path)
        if path not in self._new:
            self.names.add(path)
        self._new.discard(path)
