"""Exceptions as one line."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from ds_format.base.messages import describe, meant, with_meant
from ds_format.errors import FormatError, MissingError


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


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sampel.nc", ": did you mean sample.nc?"),
        ("sample.n", ": did you mean sample.nc?"),
        ("b.nc", ""),
        ("x/sample.n", ""),
    ],
)
def test_a_file_that_is_absent_tells_of_one_with_a_name_like_it(name: str, told: str, tmp_path: Path) -> None:
    for other in ("sample.nc", "a.nc"):
        (tmp_path / other).touch()
    path = str(tmp_path / name)
    assert meant(path) == told
    assert with_meant(FileNotFoundError(errno.ENOENT, "No such file or directory", path)) == (
        f"{path}: File does not exist{told}"
    )


def test_names_of_files_that_may_be_meant_do_not_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "sample\x1b[31m.nc").touch()
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", str(tmp_path / "sample[31m.nc"))
    assert "\x1b" not in with_meant(error)
    assert with_meant(error).endswith(r"did you mean sample\x1b[31m.nc?")
