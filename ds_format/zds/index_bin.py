"""index.bin: where the line of each id is. It is a cache of data.jsonl, and checked before it is believed.

Two forms of it have the same name: the binary one, and lines `id TAB offset TAB length`. Both are read. Text is written
by default, since all programs of zippy read it: those in Python stop at the binary form.
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
"""Use it if it is possible, and read the lines that it does not cover; use it as it is; do not use it; do as the first
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
        If it is no index, or an entry is not possible.

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
    """Return whether an index is a binary one, or is damaged: text has lines with tabs, and no NUL among its ids."""
    return b"\0" in data[: format.INDEX_HEADER_SIZE] or (len(data) > 0 and b"\t" not in data)


def write(path: str, table: Table, durable: bool, *, binary: bool = False) -> None:
    """Write an index; if an id cannot be in a text, remove it, so that all programs read the lines.

    Parameters
    ----------
    path : str
        index.bin.
    table : Table
    durable : bool
        Flush file and folder to the disk.
    binary : bool
        Write the binary form, which can hold every id. Programs in Python, those of this package excepted, cannot read
        it.
    """
    data = table.encode() if binary else zdx_text.encode(table)
    if data is not None:
        files.write_file(path, [data], True, durable)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def check(table: Table, data_size: int) -> None:
    """Check that an index names each id once, and lines that do not overlap, and some, if there are bytes of them.

    Without any it says that all was deleted to some programs, and to others that it is no index.

    Raises
    ------
    FormatError
        If it does not.
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
    """Return where the lines of a collection are, in file order, and whether an index says so.

    What a valid index leaves out of the part of data.jsonl that it covers was deleted, as other programs delete. What
    is behind that part is read.

    Parameters
    ----------
    data : Body
    index : Body or None
        If there is one.
    is_own : bool
        Whether it is an index that a writer of this package put aside, which is expected to end before the data do.
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
            table.duplicates()  # of which the last one counts from then on
            table.sort()
            return table, True
        check(table, 0 if is_own else data.size)
        start = _end_of_lines(table, data)
    except FormatError as error:
        faults.tell(index.name, f"{error.message}; the index is not used, and what it says was deleted is not known")
        return Scan(data).run(faults), False
    table.sort()
    if start < data.size:
        if not is_own:
            left = data.size - start
            faults.note(index.name, f"the index is older than the data: the last {left} bytes are read without it")
        Scan(data, table, start, updates=is_own).run(faults)
    return table, True


def _end_of_lines(table: Table, data: Body) -> int:
    """Return where the lines behind those of an index begin.

    Raises
    ------
    FormatError
        If the index does not end where a line ends.
    """
    end = table.end
    if end == 0:
        return 0
    last = data.read(end - 1, min(2, data.size - end + 1))
    if last.endswith(b"\n") and len(last) == 2:  # either a line feed that the length leaves out, or an empty line
        end += 1
    elif last[:1] != b"\n" and end < data.size:
        raise FormatError(f"the last line of the index ends at byte {end}, which is inside of a line")
    return end
