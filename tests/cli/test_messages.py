"""Exceptions as one line."""

from __future__ import annotations

import errno

import pytest

from ds_format.errors import FormatError, MissingError
from ds_format.messages import describe


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FormatError("field .size", path="a.ds", variable="x"), 'a.ds: variable "x": field .size'),
        (MissingError("nope: variable not found"), "nope: variable not found"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.ds"), "a.ds: File does not exist"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory; `ds reindex` makes it", "a.offsets"),
            "a.offsets: File does not exist; `ds reindex` makes it",
        ),
        (IsADirectoryError(errno.EISDIR, "Is a directory", b"a.ds"), "a.ds: Is a directory"),
        (OSError(errno.ENOSPC, "No space left on device", ".tmp", None, "a.ds"), "a.ds: No space left on device"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError(errno.EBADF, "Bad file descriptor", 5), "Bad file descriptor"),
        (OSError("plain"), "plain"),
        (IndexError("index 9 is\nout of bounds"), "index 9 is out of bounds"),
        (ValueError(), "ValueError"),
        (KeyError("q"), "KeyError: 'q'"),
        (TypeError("no\n  way"), "TypeError: no way"),
        (MemoryError(), "not enough memory"),
        (MemoryError("for 8 GB"), "not enough memory: for 8 GB"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
    ],
)
def test_errors_are_one_line(error: Exception, line: str) -> None:
    assert line == describe(error)
