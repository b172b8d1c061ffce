"""The calls of the system that a program makes, in their order, and what a power cut would leave of its files.

The calls are written down by `system_calls.c`, which the loader puts before the C library: so those of compiled code
are seen, too.
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
    """One call that did what it should."""

    name: str
    """create, write (also of the size alone), fsync, rename, link, unlink, mkdir or rmdir."""
    path: str
    to: str
    """The second path of rename and link."""


def record(module: str, folder: Path, *arguments: object) -> list[Call]:
    """Run a module as a program, and return its calls. Where they cannot be seen, the test is skipped.

    What the program has in SYSTEM_CALLS_FAIL, the name of a call or close, fails with EIO for files with names like
    `out`, `out.ds` and `.out.ds.tmp`.
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
    """What of the files in a folder is on the disk for sure.

    Data are there after an fsync of their file, and names after an fsync of their folder; a new folder is there with
    what is in it, as on all file systems with a journal. What stood there before the first call is on the disk.

    Attributes
    ----------
    data : set of str
        Files of which that is not known.
    names : set of str
        Names of which it is not known whether they are there, or gone.
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
