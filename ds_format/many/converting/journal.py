"""What is done, on the disk: a line of JSON for each finished file.

A line says which input became which output, what the input was, what was asked for, and what came of it. All must agree
for a file to count as done, and the output must be there with the size that it had. The last line for an output holds.
A line that was torn when the program was killed, or that names an output outside of the folder, is ignored.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...body import Opened, open_file
from ...kernels.files import files
from ...kernels.files.portable import BINARY

NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
"""A link under the name of a journal may lead to the file of somebody else."""


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


class Journal(Opened):
    """The journal of a folder. Whoever adds to it holds the lock of the folder.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    done : dict
        Output → what is known of it.
    """

    def __init__(self, path: str):
        self.path = path
        self._fd = -1
        self.done, self._n_lines, self._end = _read(path)

    def add(self, some: Iterable[Done]) -> None:
        """Append finished files.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        data = _lines(some)
        if not data:
            return
        if self._fd < 0:
            if self._n_lines > 2 * len(self.done) + 100:
                files.write_file(self.path, [_lines(self.done.values())])
                self._end = -1
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY | NOFOLLOW, 0o666)
            if self._end >= 0:
                os.ftruncate(self._fd, self._end)
            self._end = os.fstat(self._fd).st_size
        n = len(data)
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._end)
            raise
        self._end += n

    def close(self) -> None:
        """Close the file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _lines(some: Iterable[Done]) -> bytes:
    return "".join(json.dumps(one._asdict()) + "\n" for one in some).encode()


def _read(path: str) -> tuple[dict[str, Done], int, int]:
    """Return what is done, how many lines say so, and where the last whole one ends (-1: at the end)."""
    try:
        with os.fdopen(open_file(path, NOFOLLOW)[0], "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}, 0, -1
    end = data.rfind(b"\n") + 1
    done = {}
    lines = data[:end].split(b"\n")[:-1]
    for line in lines:
        one = _parsed(line)
        if one is not None:
            done[one.output] = one
    return done, len(lines), end if end < len(data) else -1


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
