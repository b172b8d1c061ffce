"""The header of a ds file on disk, without NumPy."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import Any

from ..codec.line import Header, find_end, parse
from ..errors import DsError
from ..regular import open_file

FIRST_SIZE = 64 * 1024
"""Bytes read at first, in which most headers end."""


def read_header(fd: int, size: int, keys: Collection[str] | None = None) -> tuple[Header, dict[str, dict[str, Any]]]:
    """Read the header of an open file; see `codec.line.parse`.

    Parameters
    ----------
    fd : int
        File descriptor, at the start of the file.
    size : int
        Bytes of the file.
    keys : collection of str, optional
        Whose metadata to return besides those of the dataset; all by default.

    Raises
    ------
    FormatError
        If these are not the first bytes of a ds file.
    """
    return parse(*_read_line(fd, size), keys)


def _read_line(fd: int, size: int) -> tuple[bytearray, int]:
    """Return the first bytes of a file that was just opened, and where in them the header line ends."""
    data = bytearray()
    while True:
        piece = os.read(fd, max(FIRST_SIZE, len(data)))
        data += piece
        end = find_end(data, whole=not piece or len(data) >= size)
        if end >= 0:
            return data, end


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
    return _read(path)[0]


def entries(path: Any) -> dict[str, dict[str, Any]]:
    """Return what the header of a ds file says, key by key in the order of the file: all properties and attributes.

    Raises
    ------
    OSError
        As the system says.
    FormatError
        If the header is wrong.
    """
    line = _read(path)[1]
    out = json.loads(line[line.index(b"{") :])
    return {key: entry if isinstance(entry, dict) else {"": entry} for key, entry in out.items()}


def _read(path: Any) -> tuple[dict[str, dict[str, Any]], bytearray]:
    """Return the metadata of a file, and its version line and JSON line as they stand."""
    fd, status = open_file(path)
    try:
        data, end = _read_line(fd, status.st_size)
        return parse(data, end)[1], data[:end]
    except DsError as error:
        raise error.at(path=os.fsdecode(path))
    finally:
        os.close(fd)
