"""The header of a ds file on disk, without NumPy."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any

from ..codec.header import Header, find_end, metadata, parse, variable
from ..errors import DsError, FormatError
from ..kernels import files

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
        del data[files.read_at(fd, 0, data) :]
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
    out = {key: listed(entry, header.version) for key, entry in header.entries.items()}
    out["."] = metadata(header.attributes)
    return out


def listed(entry: Any, version: str) -> dict[str, Any]:
    """Return the metadata of one variable with `.size` and `.type` as the ds-1.0 format has them."""
    if type(entry) is not dict:
        return {".size": None, ".type": None}
    out = metadata(entry)
    try:
        var = variable(entry, version)
    except FormatError:
        dims, name = out.get(".dims"), out.get(".type")
        n = len(dims) if isinstance(dims, list) and all(isinstance(dim, str) for dim in dims) else -1
        size = out.get(".size", [])
        if not isinstance(size, list) or not all(type(count) is int and count >= 0 for count in size):
            size = out[".size"] = None
        if n >= 0 and size is not None and n != len(size):
            n = -1
        if n < 0:
            out.pop(".dims", None)
        out[".type"] = name if isinstance(name, str) else None
        return out
    out[".size"] = None if var.size is None else list(var.size)
    out[".type"] = None if var.type is None else var.type.name
    return out
