"""The header of a ds file on disk, without NumPy."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

from ..codec.line import Header, attributes, find_end, metadata, parse
from ..errors import DsError
from ..kernels import ranges

FIRST_SIZE = 64 * 1024
"""Bytes read at first, in which most headers end."""


def read_header(fd: int, size: int) -> Header:
    """Read the header of an open file.

    Parameters
    ----------
    fd : int
        File descriptor.
    size : int
        Bytes of the file.

    Raises
    ------
    FormatError
        If these are not the first bytes of a ds file.
    """
    wanted = min(FIRST_SIZE, size)
    while True:
        data = bytearray(wanted)
        del data[ranges.read_at(fd, 0, data) :]
        end = find_end(data, whole=len(data) >= size or len(data) < wanted)
        if end >= 0:
            return parse(data, end)
        wanted = min(2 * wanted, size)


def open_file(path: Any) -> tuple[int, int]:
    """Open a file, and return its descriptor and its size in bytes.

    Raises
    ------
    OSError
        As the system says; IsADirectoryError for a folder.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.ESPIPE
        raise OSError(number, os.strerror(number), path)
    return fd, status.st_size


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
    fd, size = open_file(path)
    try:
        header = read_header(fd, size)
    except DsError as error:
        raise error.at(path=os.fsdecode(path))
    finally:
        os.close(fd)
    out = {key: metadata(header.variables[key]) for key in header.keys}
    out["."] = attributes(header)
    return out
