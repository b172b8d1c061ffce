"""The hidden files of a run in the folder of its outputs: lock, journal, and unfinished outputs.

Outputs are made in a folder of the run, on the file system where they belong, and moved from there to their names. So
there is one place where a killed run may leave something, and the process that has the lock removes it.

The journal has a line of JSON for each finished file. A line says which input became which output, what the input was,
what was asked for, and what came of it. All must agree for a file to count as done, and the output must be there with
the size that it had. The last line for an output holds. A line that was torn when the program was killed, or that names
an output outside of the folder, is ignored.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...body import Opened
from ...body.lock import Lock
from ...body.target import LineFile, naming
from ...body.temporary import WorkFolder
from ...errors import UnsupportedError, explained, is_address
from ...kernels.files.names import usual_temporary_name

LOCK = ".ds-convert.lock"
JOURNAL = ".ds-convert.jsonl"
WORK = ".ds-convert.tmp"


class Done(NamedTuple):
    """A finished file."""

    input: str
    """Its absolute path."""
    size: int
    """Of the input, in bytes."""
    mtime_ns: int
    """When the input was changed, in ns since 1970."""
    options: str
    """Digest of what was asked for."""
    output: str
    """Its path relative to the folder of the journal, in which it is."""
    output_size: int
    """In bytes."""


class ConversionJournal:
    """The journal of a folder. A process that adds to it holds the lock of the folder.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    done : dict
        Output → what is known of it.
    """

    def __init__(self, path: str):
        self._file = LineFile(path)
        found = map(_parsed, self._file.lines)
        self.done = {one.output: one for one in found if one is not None}

    def add(self, some: Iterable[Done]) -> None:
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


def _lines(some: Iterable[Done]) -> bytes:
    return "".join(json.dumps(one._asdict()) + "\n" for one in some).encode()


def _parsed(line: bytes) -> Done | None:
    try:
        told: Any = json.loads(line)
        one = Done(*(told[name] for name in Done._fields))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    kinds = (str, int, int, str, str, int)
    if not all(type(value) is kind for value, kind in zip(one, kinds, strict=True)):
        return None
    is_inside = not os.path.isabs(one.output) and ".." not in one.output.split("/")
    return one if is_inside and os.path.isabs(one.input) else None


class OutputFolder(Opened):
    """The folder of the outputs while a run writes there.

    Parameters
    ----------
    outdir : str
        It is made if it does not exist.

    Attributes
    ----------
    journal : ConversionJournal
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
            self.journal = ConversionJournal(os.path.join(self.outdir, JOURNAL))
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


class SingleOutput(Opened):
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
