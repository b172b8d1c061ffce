"""The hidden files of a writer, from which readers and the next writer see how far it came.

::

    .D.lock          held by the only writer of the data file D, which removes it
    .D.new           what D will be, .D.keys.new what D.keys will be, and so on
    .D.journal       what counts now, one object in JSON; it appears and changes by a rename

Without a journal, D and the files beside it count. A journal says how many bytes of D count, and which files are
exchanged: all that were prepared are whole, and those that still have their hidden names count instead of the others.
So a journal with files makes a new dataset of an old one in one moment. One without files is that of a writer that
appends: D counts up to where it began.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import NamedTuple

from ..kernels.files.portable import BINARY, NAME_SIZE
from ..kernels.files.presence import exists, is_link, real_path, status
from . import format

LOCK = ".lock"
NEW = ".new"
JOURNAL = ".journal"
ORDER = ("", format.KEYS, format.KEY_HASHES, format.FILTER, format.MD5, format.COMPANION, format.OFFSETS)
"""In which files get their names: the data first, and last the file that readers open first."""
SIZE = 4096
"""Bytes of the longest journal that is read."""


class Journal(NamedTuple):
    """What counts while files are exchanged."""

    size: int
    """Bytes of the data that count."""
    has_tail: bool
    """Whether the data may go on behind them."""
    files: tuple[str, ...] = ()
    """Suffixes of the files that are exchanged, in order."""
    drops: tuple[str, ...] = ()
    """Suffixes of the files that are removed."""
    mark: tuple[int, ...] = ()
    """What tells it from any other journal of this name."""

    def encode(self) -> bytes:
        """Return the file."""
        return json.dumps({name: getattr(self, name) for name in self._fields[:-1]}).encode() + b"\n"


def hidden(path: str, end: str) -> str:
    """Return the name of a hidden file beside another one.

    Examples
    --------
    >>> from ds_format.datadings import journal
    >>> journal.hidden("folder/a.msgpack", journal.LOCK)
    'folder/.a.msgpack.lock'
    """
    name = os.path.basename(path)
    folder, encoded = path[: len(path) - len(name)], os.fsencode(name)
    if 1 + len(encoded) + len(end) > NAME_SIZE:
        digest = hashlib.md5(encoded, usedforsecurity=False).hexdigest()
        name = os.fsdecode(encoded[: NAME_SIZE - 50]) + digest
    return f"{folder}.{name}{end}"


def new_name(path: str) -> str:
    """Return the name under which a file is prepared, in the folder in which it will be: behind links."""
    return hidden(real_path(path) if is_link(path) else path, NEW)


def names(path: str, suffix: str, journal: Journal | None) -> tuple[str, ...]:
    """Return the names of a file of a dataset, of which the first that exists is the one that counts."""
    own = path + suffix
    return (new_name(own), own) if journal is not None and suffix in journal.files else (own,)


def place(path: str, suffix: str) -> str:
    """Return the name of the file of a dataset that counts now; the usual one if there is none."""
    *prepared, own = names(path, suffix, read(path))
    return next((name for name in prepared if exists(name)), own)


def read(path: str) -> Journal | None:
    """Return the journal of a data file, if there is one, and it is of the data that are there.

    Another program may have written these since: then files and index are what they are.
    """
    try:
        fd = os.open(hidden(path, JOURNAL), os.O_RDONLY | BINARY)
    except FileNotFoundError:
        return None
    try:
        told, data = os.fstat(fd), os.read(fd, SIZE)
    finally:
        os.close(fd)
    found = _decode(data, (told.st_ino, told.st_mtime_ns))
    if found is None or not found.files:
        return found
    sizes = [known.st_size for name in names(path, "", found) if (known := status(name)) is not None]
    return found if sizes and (sizes[0] == found.size or (found.has_tail and sizes[0] > found.size)) else None


def _decode(data: bytes, mark: tuple[int, ...]) -> Journal | None:
    """Return a journal, or None if these are the bytes of none that a writer would make."""
    try:
        found = json.loads(data)
        size, has_tail = found["size"], found["has_tail"]
        files, drops = tuple(found["files"]), tuple(found["drops"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if type(size) is not int or size < 0 or type(has_tail) is not bool:
        return None
    if any(suffix not in ORDER for suffix in files) or any(suffix != format.LEGACY_INDEX for suffix in drops):
        return None
    return Journal(size, has_tail, files, drops, mark)
