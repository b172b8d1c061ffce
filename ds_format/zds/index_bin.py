"""index.bin: the position of the line of each id. It is a cache of data.jsonl, and checked before it is used.

It has two forms, with the same name: binary, and text with lines `id TAB offset TAB length`. Both are read. Text is
written by default, because all programs of zippy read it: those in Python cannot read the binary form.
"""

from __future__ import annotations

import contextlib
import os

from ..body.body import Body
from ..errors import FormatError
from ..kernels.files import files
from ..kernels.zds import zdx_text
from ..kernels.zds.zdx import Table
from . import format
from .faults import Faults
from .lines import Scan

BINARY = "binary"
POLICIES = ("verify", "trust", "ignore", BINARY)
"""Use it if it is valid, and read the lines that it does not cover; use it unchecked; ignore it; do as for the first
one, and write the binary form."""


def decode(data: bytes, data_size: int) -> Table:
    r"""Return the table of an index of either form.

    Parameters
    ----------
    data : bytes
        The file.
    data_size : int
        Size of data.jsonl, in bytes.

    Raises
    ------
    FormatError
        If it is not an index, or an entry is impossible.

    Examples
    --------
    >>> from ds_format.zds import index_bin
    >>> index_bin.decode(b"a\t0\t12\n", 12).span("a")
    (0, 12)
    """
    try:
        return (Table.decode if is_binary(data) else zdx_text.decode)(data, data_size)
    except ValueError as error:
        raise FormatError(str(error)) from None


def is_binary(data: bytes) -> bool:
    """Return whether an index is binary, or damaged: text has lines with tabs, and no NUL in its ids."""
    return b"\0" in data[: format.INDEX_HEADER_SIZE] or (len(data) > 0 and b"\t" not in data)


def write(path: str, table: Table, durable: bool, *, binary: bool = False) -> None:
    """Write an index. If the text form cannot represent an id, remove the file, so that all programs read the lines.

    Parameters
    ----------
    path : str
        index.bin.
    table : Table
    durable : bool
        Flush file and folder to the disk.
    binary : bool
        Write the binary form, which can represent every id. Other programs in Python cannot read it.
    """
    data = table.encode() if binary else zdx_text.encode(table)
    if data is not None:
        files.write_file(path, [data], True, durable)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def check(table: Table, data_size: int) -> None:
    """Check that the entries of an index have distinct ids and do not overlap, and that data have entries.

    Some programs would read an index without entries as "everything is deleted", others as "not an index".

    Raises
    ------
    FormatError
        If the index fails a check.
    """
    if table.n == 0 and data_size:
        raise FormatError(f"found no entries, expected those of {data_size} bytes of lines")
    twins = table.duplicates()
    if twins is not None:
        raise FormatError(f"entries {twins[0]} and {twins[1]} are both of the id {table.id(twins[0])!r:.60}")
    pair = table.overlap()
    if pair is not None:
        raise FormatError(f"the lines of {table.id(pair[0])!r:.60} and {table.id(pair[1])!r:.60} overlap")


def load(data: Body, index: Body | None, is_own: bool, policy: str, faults: Faults) -> tuple[Table, bool]:
    """Return the positions of the lines of a collection, in file order, and whether they are from an index.

    Lines before the end of a valid index that have no entry are deleted: other programs delete in this way. Lines after
    the end of the index are read.

    Parameters
    ----------
    data : Body
    index : Body or None
        If there is one.
    is_own : bool
        Whether a writer of this package set it aside. Then it is expected to end before the data.
    policy : str
        One of `POLICIES`.
    faults : Faults

    Raises
    ------
    FormatError
        If the faults are strict and something is wrong.
    """
    if index is None or policy == "ignore":
        return Scan(data).run(faults), False
    try:
        table = decode(index.read(0, index.size), data.size)
        if policy == "trust":
            table.duplicates()  # from now on, the last one of these counts
            table.sort()
            return table, True
        check(table, 0 if is_own else data.size)
        start = _end_of_lines(table, data)
    except FormatError as error:
        faults.report(index.name, f"{error.message}; the index is not used, so documents that it deletes come back")
        return Scan(data).run(faults), False
    table.sort()
    if start < data.size:
        if not is_own:
            left = data.size - start
            faults.note(index.name, f"the index is older than the data: the last {left} bytes are read without it")
        Scan(data, table, start, updates=is_own).run(faults)
    return table, True


def _end_of_lines(table: Table, data: Body) -> int:
    """Return the start of the lines after those of an index.

    Raises
    ------
    FormatError
        If the index does not end where a line ends.
    """
    end = table.end
    if end == 0:
        return 0
    last = data.read(end - 1, min(2, data.size - end + 1))
    if last.endswith(b"\n") and len(last) == 2:  # either a line feed that the length does not include, or an empty line
        end += 1
    elif last[:1] != b"\n" and end < data.size:
        raise FormatError(f"the last line of the index ends at byte {end}, which is inside of a line")
    return end
