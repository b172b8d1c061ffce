"""The hidden files of a run in the folder of its outputs: lock, journal, and unfinished outputs.

Outputs are written in a folder of the run, on their file system, and renamed from there. So leftovers of a killed run
are in one place, and the process that has the lock removes them.

The journal has a line of JSON for each finished file. A line contains the input with its size and time, the options,
and the output with its size. A file counts as done if all of these agree, and the output exists with the same size.
The last line for an output counts. A line that was torn when the program was killed is ignored, and so is a line that
names an output outside of the folder.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...body import Address, Opened
from ...body.lock import Lock
from ...body.target import LineFile, naming
from ...body.temporary import WorkFolder
from ...errors import UnsupportedError, explained, is_address
from ...kernels.files.names import usual_temporary_name

LOCK = ".ds-convert.lock"
JOURNAL = ".ds-convert.jsonl"
WORK = ".ds-convert.tmp"


class FinishedFile(NamedTuple):
    """A finished file, as a line of the journal."""

    input: str
    """Its absolute path, or the name of its address."""
    size: int
    """Size of the input, in bytes."""
    mtime_ns: int
    """Modification time of the input, in ns since 1970; for an address a number for its version."""
    options: str
    """Digest of the options."""
    output: str
    """Path relative to the folder of the journal, and inside of it."""
    output_size: int
    """Size of the output, in bytes."""


class ConversionJournal:
    """The journal of a folder. A process must hold the lock of the folder to add to it.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    done : dict
        Output → its line.
    """

    def __init__(self, path: str):
        self._file = LineFile(path)
        found = map(_parsed, self._file.lines)
        self.done = {one.output: one for one in found if one is not None}

    def add(self, some: Iterable[FinishedFile]) -> None:
        """Append finished files.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        if len(self._file.lines) > 2 * len(self.done) + 100:
            self._file.rewrite(_lines(self.done.values()))
        self._file.add(_lines(some))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _lines(some: Iterable[FinishedFile]) -> bytes:
    return "".join(json.dumps(one._asdict()) + "\n" for one in some).encode()


def _parsed(line: bytes) -> FinishedFile | None:
    try:
        values: Any = json.loads(line)
        one = FinishedFile(*(values[name] for name in FinishedFile._fields))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    kinds = (str, int, int, str, str, int)
    if not all(type(value) is kind for value, kind in zip(one, kinds, strict=True)):
        return None
    is_inside = not os.path.isabs(one.output) and ".." not in one.output.split("/")
    return one if is_inside and one.input else None


def home_of(place: Address) -> str:
    """Return the local folder of the hidden files of runs whose outputs are below an address.

    It is where users keep the state of programs, so that a run in another folder can resume.
    """
    top = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    name = hashlib.sha256(place.name.rstrip("/").encode()).hexdigest()[:16]
    return os.path.join(top, "ds_format", "convert", name)


class OutputFolder(Opened):
    """The folder of the outputs, while a run writes to it; or the one of `home_of`.

    Parameters
    ----------
    outdir : str
        Path of the folder. It is created if it does not exist.

    Attributes
    ----------
    journal : ConversionJournal
    work : str
        Absolute path of the folder of unfinished outputs; see `begin`.

    Raises
    ------
    BusyError
        If another run writes to the folder.
    OSError
        If the folder cannot be created or written.
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
            self.journal = ConversionJournal(os.path.join(self.outdir, JOURNAL))
        except BaseException:
            self._lock.release(remove=True)
            raise

    def begin(self) -> None:
        """Remove leftovers of killed runs, and create the folder of this run.

        A worker that outlives its run can no longer write, because its folder is removed.
        """
        top = os.path.join(self.outdir, WORK)
        if os.path.lexists(top) and (os.path.islink(top) or not os.path.isdir(top)):
            os.unlink(top)  # not a folder of ours: the target of a link stays, and a pipe is not opened
        shutil.rmtree(top, ignore_errors=True)
        self.work = os.path.join(top, f"{os.getpid():x}-{time.monotonic_ns():x}")
        os.makedirs(self.work, 0o700)

    def close(self) -> None:
        """Remove everything except the journal, and folders that this run created but did not use."""
        try:
            self.journal.close()
            shutil.rmtree(os.path.join(self.outdir, WORK), ignore_errors=True)
        finally:
            self._lock.release(remove=True)
        with contextlib.suppress(OSError):  # the folder is not empty
            for folder in self._made:
                os.rmdir(folder)

    def folds_case(self) -> bool:
        """Return whether names that differ only in case are the same file in this folder."""
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
    """Check that no input is in a folder that the run will remove.

    Raises
    ------
    UnsupportedError
        If one is.
    """
    if not os.path.lexists(folder):
        return
    starts = tuple(os.path.join(place, "") for place in (os.path.abspath(folder), _real_entry(folder)))
    for path in paths:
        # a link is removed with the folder, even if its target is elsewhere
        if any(
            f"{place}/".startswith(starts)
            for place in (os.path.abspath(path), _real_entry(path), os.path.realpath(path))
        ):
            raise UnsupportedError(f"{folder} is for unfinished outputs, and is removed; move the input", path=path)


def _real_entry(path: str) -> str:
    """Return the path of an entry, with the real path of its folder."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _absent(folder: str) -> list[str]:
    """Return the folders that are missing in the path of a folder, the innermost first."""
    found = []
    while not os.path.lexists(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return found


class SingleOutput(Opened):
    """The work folder for a single output, next to it. There is no journal.

    Parameters
    ----------
    output : str or None
        None: it is not local, and the folder is one for temporary files.
    """

    journal = None

    USE = "convert"

    def __init__(self, output: str | None):
        path = os.path.join(tempfile.gettempdir(), "output") if output is None else os.path.abspath(output)
        with naming(output or path):
            self._folder = WorkFolder(path, self.USE)
        self.work = self._folder.path

    @classmethod
    def folder_of(cls, output: str) -> str:
        """Return the usual path of the work folder for an output. Leftovers of a killed run in it are removed."""
        return usual_temporary_name(os.path.abspath(output), cls.USE)

    def begin(self) -> None:
        """Do nothing: the constructor has created the folder."""

    def close(self) -> None:
        """Remove the folder."""
        self._folder.close()

    def folds_case(self) -> bool:
        """Return False: there is only one name."""
        return False
