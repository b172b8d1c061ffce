"""The header of a ds file on disk, without NumPy."""

from __future__ import annotations

import json
import os
from typing import Any

from ..codec.line import Header, find_end, parse
from ..errors import DsError, explained
from ..kernels.files import opening, ranges
from .stamp import Watch

FIRST_SIZE = 64 * 1024
"""Bytes read at first, in which most headers end, and many a file."""


def open_line(path: Any) -> tuple[int, int, bytearray, Watch]:
    """Open a ds file, and read its header line.

    Parameters
    ----------
    path : str, bytes or PathLike

    Returns
    -------
    fd : int
        File descriptor, for the caller to close. -1: all of the file was read, and it is closed.
    size : int
        Bytes of the file.
    data : bytearray
        All of them, or the first ones up to the end of the header line.
    watch : Watch
        Of the file, as long as it is open.

    Raises
    ------
    OSError
        As the system says; see `kernels.files.opening.open_first`.
    FormatError
        If these are not the first bytes of a ds file.
    ReplacedError
        If the file was modified meanwhile.
    """
    try:
        fd, size, data, changed = opening.open_first(path, FIRST_SIZE)
    except FileNotFoundError as error:
        raise explained(error) from None
    if fd < 0:
        return fd, size, data, Watch()
    try:
        watch = Watch.of_open(os.fsdecode(path), fd, size, changed)
        with watch:
            while (end := find_end(data, whole=len(data) >= size)) < 0:
                more = bytearray(min(len(data), size - len(data)))
                n = ranges.read_at(fd, len(data), more)
                data += more[:n]
                size = len(data) if n < len(more) else size
        return fd, size, data[: end + 1], watch
    except BaseException:
        _close(fd)
        raise


def _close(fd: int) -> None:
    if fd >= 0:
        os.close(fd)


def meta(path: Any) -> dict[str, dict[str, Any]]:
    """Return the metadata of a ds file, from its header alone.

    Attributes are as JSON has them. A damaged entry of a variable keeps what can be listed of it.

    Raises
    ------
    OSError
        As the system says.
    FormatError
        If the header is wrong.
    """
    return read(path)[1]


def read(path: Any) -> tuple[Header, dict[str, dict[str, Any]]]:
    """Return what the header of a ds file says of its variables, and the metadata; see `meta`.

    Raises
    ------
    OSError
        As the system says.
    FormatError
        If the header is wrong.
    """
    return _read(path)[:2]


def entries(path: Any) -> dict[str, dict[str, Any]]:
    """Return what the header of a ds file says, key by key in the order of the file: all properties and attributes.

    Raises
    ------
    OSError
        As the system says.
    FormatError
        If the header is wrong.
    """
    line = _read(path)[2]
    out = json.loads(line[line.index(b"{") :])
    return {key: entry if isinstance(entry, dict) else {"": entry} for key, entry in out.items()}


def _read(path: Any) -> tuple[Header, dict[str, dict[str, Any]], bytearray]:
    """Return the header and the metadata of a file, and its version line and JSON line as they stand."""
    try:
        fd, _, data, _ = open_line(path)
        _close(fd)
        end = find_end(data, whole=True)
        return *parse(data, end), data[:end]
    except DsError as error:
        raise error.at(path=os.fsdecode(path))
