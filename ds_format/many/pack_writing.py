"""Packs: many files in one ZIP archive, byte for byte, which is read like a folder."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import drivers
from ..base.progress import Advance, Progress
from ..body import MEMBER_MARK, Address, Location, path_text
from ..body.body import Body, FileBody, OutputBody, open_unread
from ..body.directory import Directory, end, entry, is_member_name, local_header, read
from ..body.lock import Lock
from ..body.target import Target, naming
from ..errors import DsError, TruncatedError, UnsupportedError
from ..kernels.files.names import exists, usual_temporary_name
from ..views.subset import Input, Path
from .converting.inputs import InputFile, find_inputs
from .pieces import bytes_of
from .reading import contents

PENDING = 1 << 20
"""Bytes that are written at once."""


def pack(
    paths: Input | Iterable[Input],
    output: Path,
    *,
    append: bool = False,
    durable: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    store: Any = None,
    progress: Progress | None = None,
) -> int:
    """Pack files into one ZIP archive, which all functions read like a folder.

    Members are the files byte for byte, not compressed, and begin at multiples of 64 bytes. All programs that read ZIP
    archives read it. `ds.read("reports.zip/st001.ds")` reads one file, and patterns such as `reports.zip/*.ds` select
    many. A folder called `reports.zip` has priority.

    The archive is written atomically: another process reads the former or the new one. Packing the same files in the
    same order gives the same bytes, because members have a fixed time.

    Parameters
    ----------
    paths : path, pattern or iterable
        Files of any kind, folders and patterns, as for `ds_format.convert_many`. Names of members are paths below the
        folder, or below the part of a pattern before its first wildcard; files given by their paths have no folder.
    output : str, bytes or PathLike
        The archive, whose name ends with `.zip`: a path, or an address.
    append : bool
        Keep the members of an existing archive, and add others after them. By default it is replaced.
    durable : bool
        Flush the archive and its folder to the disk.
    storage_options, store
        As for `ds_format.read`, for the files.
    progress : callable, optional
        Called with the number of bytes processed, and their total.

    Returns
    -------
    int
        Number of members of the archive.

    Raises
    ------
    OSError
        If a file cannot be read, or the archive cannot be written.
    MissingError, DriverError
        If a pattern matches nothing, or a folder has no file of a known format.
    UnsupportedError
        If two members would have the same name, a name is unsafe, or `output` is not called `.zip`.
    BusyError
        With `append`, if another process is adding members.
    FormatError, UnsafeError
        With `append`, if the existing archive is damaged.

    Examples
    --------
    >>> import os
    >>> import ds_format as ds
    >>> os.mkdir("st")
    >>> for i in range(3):
    ...     ds.write(f"st/st{i}.ds", {"x": [i], ".": {"x": {".dims": ["time"]}}})
    >>> ds.pack("st/*.ds", "reports.zip")
    3
    >>> ds.read("reports.zip/st1.ds")["x"]
    array([1])
    >>> ds.read_many("reports.zip/*.ds", dim="time")["x"]
    array([0, 1, 2])
    """
    words: Any = [paths] if drivers.is_one_file(paths) else paths
    target = drivers.located(output, storage_options)
    name = path_text(target)
    if not name.endswith(MEMBER_MARK[:-1]):
        raise UnsupportedError("found another suffix, expected .zip, by which members are found", path=name)
    if append and isinstance(target, Address):
        raise UnsupportedError("members can only be added to a local archive", path=name)
    selected = find_inputs(drivers.located_each(words, storage_options, store), None)
    selected.warn()
    advance = Advance(
        progress, 0 if progress is None else sum(drivers.size_of(one.location) for one in selected.inputs)
    )
    placed = Target(target, durable=durable)
    with _adding(placed.final, output) if append else contextlib.nullcontext() as old:
        names = _member_names(selected.inputs, old[1] if old else None, name)
        try:
            with naming(output):
                file = placed.open()
            try:
                n = _write(_PackWriter(file, output), old, names, advance)
            finally:
                with naming(output):
                    file.close()
            with naming(output):
                placed.commit()
        except BaseException:
            placed.abort()
            raise
    return n


@contextlib.contextmanager
def _adding(path: str, output: Path) -> Iterator[tuple[FileBody, Directory] | None]:
    """Lock a pack for a `with` block, and open it; None if there is none yet."""
    with naming(output):
        lock = Lock(os.path.abspath(usual_temporary_name(path, "lock")), path)
    try:
        if not exists(path):
            yield None
            return
        old = FileBody.open(path)
        with old.watch:
            yield old, read(old)
    finally:
        lock.release(remove=True)


def _member_names(inputs: Sequence[InputFile], old: Directory | None, output: str) -> dict[str, Location]:
    """Return the files by the names of their members.

    Raises
    ------
    DsError
        If an input cannot be read, or a name is unsafe or has two files.
    """
    found: dict[str, Location] = {}
    for one in inputs:
        name = one.relative_path
        if one.cause is not None:
            raise DsError(one.cause, path=one.path)
        if not is_member_name(name):
            raise UnsupportedError(f"the name {name!r} is unsafe in an archive", path=one.path)
        if old is not None and name in old.numbers:
            raise UnsupportedError(f"the archive has a member {name!r} already, as {one.path}", path=output)
        if name in found:
            raise UnsupportedError(f"two files have the name {name!r}: {found[name]} and {one.path}", path=output)
        found[name] = one.location
    return found


def _write(
    writer: _PackWriter, old: tuple[FileBody, Directory] | None, names: Mapping[str, Location], advance: Advance
) -> int:
    """Write the pack, and return the number of its members. Errors of reading name the input."""
    if old is not None:
        writer.keep(*old)
    for name, (path, content) in zip(names, contents([*names.values()], None), strict=True):
        held = bytes_of(path, content)
        if held is not None:
            writer.add(name, held)
            advance.add(len(held))
        else:
            writer.add_body(name, open_unread(path), advance)
    return writer.finish()


class _PackWriter:
    """Writes members one after another, and the directory at the end.

    Parameters
    ----------
    file : OutputBody
    output : str, bytes, PathLike or Address
        For errors of writing.
    """

    def __init__(self, file: OutputBody, output: Path):
        self._file, self._output = file, output
        self._end = self._n = 0
        self._pending = bytearray()
        self._entries = bytearray()

    def keep(self, old: FileBody, directory: Directory) -> None:
        """Begin with the members of another pack, at their positions."""
        with naming(self._output):
            self._file.copy(old, 0, directory.start, 0)
        self._end, self._n = directory.start, len(directory.rows)
        self._entries += directory.raw

    def add(self, name: str, data: bytes | bytearray) -> None:
        """Add a member that is in memory."""
        crc, start = zlib.crc32(data), self._end + len(self._pending)
        self._pending += local_header(name, len(data), crc, start)
        self._pending += data
        self._note(name, len(data), crc, start)
        if len(self._pending) >= PENDING:
            self._flush()

    def add_body(self, name: str, body: Body, advance: Advance) -> None:
        """Add a member block by block. Its header, which has the checksum, is written last."""
        self._flush()
        start, crc = self._end, 0
        at = start + len(local_header(name, body.size, 0, start))
        stop = at + body.size
        with body.watch:
            for block in advance.over(body.blocks()):
                crc = zlib.crc32(block, crc)
                at += self._put(at, block)
        if at != stop:
            raise TruncatedError(f"found {body.size + at - stop} bytes, expected {body.size}", path=body.name)
        self._put(start, local_header(name, body.size, crc, start))
        self._note(name, body.size, crc, start)
        self._end = stop

    def finish(self) -> int:
        """Write the directory, and return the number of members."""
        self._flush()
        self._put(self._end, self._entries + end(self._n, len(self._entries), self._end))
        return self._n

    def _put(self, at: int, data: bytes | bytearray | memoryview) -> int:
        with naming(self._output):
            return self._file.write(at, data)

    def _note(self, name: str, size: int, crc: int, start: int) -> None:
        self._entries += entry(name, size, crc, start)
        self._n += 1

    def _flush(self) -> None:
        self._end += self._put(self._end, self._pending)
        self._pending.clear()
