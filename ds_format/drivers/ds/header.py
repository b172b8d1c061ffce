"""Reading the header of a ds file, without NumPy."""

from __future__ import annotations

import json
from typing import Any

from ...body.body import open_body
from ...codec.line import Header, find_end, parse, read_line
from ...errors import DsError
from ...model.settings import drop_stored_marks


def read(path: Any) -> tuple[Header, dict[str, dict[str, Any]], bytes | bytearray]:
    """Return the headers of the variables of a ds file, the metadata, and the unchanged bytes of both header lines.

    Attributes have the types of JSON. For a damaged entry of a variable, the valid properties are returned.

    Raises
    ------
    OSError
        If the file cannot be read.
    FormatError
        If the header is invalid.
    """
    file = open_body(path)
    data = read_line(file)
    try:
        end = find_end(data, whole=True)
        header, meta = parse(data, end)
        drop_stored_marks(meta)
        return header, meta, data[:end]
    except DsError as error:
        raise error.at(path=file.name)


def entries(path: Any) -> dict[str, dict[str, Any]]:
    """Return the header of a ds file: each key in the order of the file, with all properties and attributes.

    Raises
    ------
    OSError
        If the file cannot be read.
    FormatError
        If the header is invalid.
    """
    line = read(path)[2]
    out = json.loads(line[line.index(b"{") :])
    return {key: entry if isinstance(entry, dict) else {"": entry} for key, entry in out.items()}
