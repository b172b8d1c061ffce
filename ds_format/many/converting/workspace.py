"""The hidden files of a run in the folder of its outputs: lock, journal, and what is not whole yet.

Outputs are made in a folder of the run, on the file system where they belong, and moved from there to their names. So
there is one place where something may be left by a run that was killed, and whoever has the lock removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterable

from ...body import Opened
from ...body.lock import Lock
from ...body.target import naming
from ...body.temporary import WorkFolder
from ...errors import UnsupportedError, explained, is_address
from ...kernels.files.portable import usual_temporary_name
from .journal import Journal

LOCK = ".ds-convert.lock"
JOURNAL = ".ds-convert.jsonl"
WORK = ".ds-convert.tmp"


class Workspace(Opened):
    """The folder of the outputs while a run writes there.

    Parameters
    ----------
    outdir : str
        It is made if it does not exist.

    Attributes
    ----------
    journal : Journal
    work : str
        The folder of what is not whole yet, as an absolute path; see `begin`.

    Raises
    ------
    BusyError
        If another run writes there.
    OSError
        If that is not possible.
    """

    def __init__(self, outdir: str):
        if is_address(outdir) and not os.path.isdir(outdir):
            raise explained(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), outdir), is_output=True)
        self.outdir = os.path.abspath(outdir)
        self._made = _absent(self.outdir)
        os.makedirs(self.outdir, exist_ok=True)
        self._lock = Lock(os.path.join(self.outdir, LOCK), outdir)
        self.work = ""
        try:
            self.journal = Journal(os.path.join(self.outdir, JOURNAL))
        except BaseException:
            self._lock.release(remove=True)
            raise

    def begin(self) -> None:
        """Remove what killed runs have left, and make the folder of this one.

        What outlived its run, and still writes there, finds its folder gone.
        """
        top = os.path.join(self.outdir, WORK)
        if os.path.lexists(top) and (os.path.islink(top) or not os.path.isdir(top)):
            os.unlink(top)  # not ours: what is behind a link stays, and a pipe is not opened
        shutil.rmtree(top, ignore_errors=True)
        self.work = os.path.join(top, f"{os.getpid():x}-{time.monotonic_ns():x}")
        os.makedirs(self.work, 0o700)

    def close(self) -> None:
        """Leave only the journal, and no folder that this run has made for nothing."""
        try:
            self.journal.close()
            shutil.rmtree(os.path.join(self.outdir, WORK), ignore_errors=True)
        finally:
            self._lock.release(remove=True)
        with contextlib.suppress(OSError):  # there is something in it
            for folder in self._made:
                os.rmdir(folder)

    def folds_case(self) -> bool:
        """Whether names that differ in case alone are one here."""
        return os.path.exists(os.path.join(self.outdir, LOCK.upper()))


def check_inputs(paths: Iterable[str], outdir: str) -> None:
    """Check that no input is one of the hidden files of runs in the folder of the outputs.

    Raises
    ------
    UnsupportedError
        If one is.
    """
    top = os.path.realpath(outdir)
    paths = list(paths)
    for path in paths:
        name = os.path.basename(path)
        if name in (LOCK, JOURNAL) and os.path.realpath(path) == os.path.join(top, name):
            raise UnsupportedError("runs keep this file in the folder of the outputs", path=path)
    check_outside(paths, os.path.join(top, WORK))


def check_outside(paths: Iterable[str], folder: str) -> None:
    """Check that no input is in a folder that the run is going to remove.

    Raises
    ------
    UnsupportedError
        If one is.
    """
    if not os.path.lexists(folder):
        return
    starts = tuple(os.path.join(place, "") for place in (os.path.abspath(folder), _real_entry(folder)))
    for path in paths:
        # a link is removed with the folder, wherever it leads
        if any(
            f"{place}/".startswith(starts)
            for place in (os.path.abspath(path), _real_entry(path), os.path.realpath(path))
        ):
            raise UnsupportedError(f"{folder} is for unfinished outputs, and is removed; move the input", path=path)


def _real_entry(path: str) -> str:
    """Return the real path of the folder of an entry, and its name."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _absent(folder: str) -> list[str]:
    """Return which folders are to be made so that one is there, the innermost first."""
    found = []
    while not os.path.lexists(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


class Beside(Opened):
    """The place of a single output: a folder beside it, and no journal.

    Parameters
    ----------
    output : str
    """

    journal = None

    USE = "convert"

    def __init__(self, output: str):
        with naming(output):
            self._folder = WorkFolder(os.path.abspath(output), self.USE)
        self.work = self._folder.path

    @classmethod
    def folder_of(cls, output: str) -> str:
        """Return the usual path of the folder for an output; what a killed run left there is removed."""
        return usual_temporary_name(os.path.abspath(output), cls.USE)

    def begin(self) -> None:
        """Nothing is left to be done."""

    def close(self) -> None:
        """Remove the folder."""
        self._folder.close()

    def folds_case(self) -> bool:
        """There is one name."""
        return False
