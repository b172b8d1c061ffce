"""The header of a ds file on disk, without NumPy."""

from __future__ import annotations

import json
from typing import Any

from ...body.body import FIRST_SIZE, Body, open_body
from ...codec.line import Header, find_end, parse
from ...errors import DsError


def open_line(path: Any) -> tuple[Body, bytes | bytearray]:
    """Open a ds file, and read its header line.

    Parameters
    ----------
    path : str, bytes or PathLike

    Returns
    -------
    file : Body
    line : bytes or bytearray
        All bytes of a small file, or the first ones up to the end of the header line.

    Raises
    ------
    OSError
        As `open_body`.
    FormatError
        If these are not the first bytes of a ds file.
    ReplacedError
        If the file was modified meanwhile.
    """
    file = open_body(path)
    return file, read_line(file)


def read_line(file: Body) -> bytes | bytearray:
    """Return the header line of an open ds file; results and errors as of `open_line`."""
    data = file.head(FIRST_SIZE)
    if file.is_in_memory:
        return data
    try:
        with file.watch:
            whole = len(data) >= file.size
            while (end := find_end(data, whole)) < 0:
                n = len(data)
                data = file.head(2 * n)
                whole = len(data) < 2 * n
    except DsError as error:
        raise error.at(path=file.name)
    return data[: end + 1]


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


def _read(path: Any) -> tuple[Header, dict[str, dict[str, Any]], bytes | bytearray]:
    """Return the header and the metadata of a file, and its version line and JSON line as they stand."""
    file, data = open_line(path)
    try:
        end = find_end(data, whole=True)
        return *parse(data, end), data[:end]
    except DsError as error:
        raise error.at(path=file.name)
