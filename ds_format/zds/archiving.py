"""A store in a folder → the same store in an archive, and back."""

from __future__ import annotations

import errno
import itertools
import os
import stat
import struct
import zipfile
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ..base.progress import Advance, Progress
from ..body.body import Body
from ..body.target import FolderTarget, Target, naming
from ..errors import DsError, FormatError, TruncatedError, UnsafeError, UnsupportedError, explained
from ..kernels.zds import zdx_text
from . import format, index_bin
from .faults import Faults, Silence
from .line_reader import LineFiles, LineReader, open_files
from .lines import Scan, last_line
from .roots import Archive, Folder

METHODS = {"store": zipfile.ZIP_STORED, "deflate": zipfile.ZIP_DEFLATED}
ALIGNMENT = 4096
"""data.jsonl starts at a multiple of this number of bytes in an archive, so that it can be mapped by itself."""
PADDING = 0xD935
"""Type of the extra field that aligns a member; `zipalign` writes the same."""
HEADER_SIZE = 30
"""Bytes of a local header, without the name."""
LARGE = 1 << 30
"""Files of at least this size, in bytes, get a header for sizes of 4 GiB and more."""
LARGE_HEADER_SIZE = 20
"""Additional bytes of such a header."""
EPOCH = datetime(1980, 1, 1)
"""The earliest time that an archive can store."""


def pack(
    folder: str | os.PathLike[str],
    archive: str | os.PathLike[str],
    compression: str = "store",
    *,
    stamp: datetime = EPOCH,
    durable: bool = False,
    progress: Progress | None = None,
) -> None:
    r"""Pack the store in a folder into an archive.

    The archive is written atomically; an existing one of this name is replaced. Packing the same store always gives the
    same bytes. The archive contains the store as a reader sees it: an incomplete last line of data.jsonl is left out
    with a warning, and so is an index that does not fit. Locks, temporary, torn and hidden files are left out, too.

    Parameters
    ----------
    folder : str or PathLike
    archive : str or PathLike
    compression : str
        "store": no compression, so that files can be read in place. "deflate": compressed.
    stamp : datetime
        The time of all members, by default the earliest one that an archive can store.
    durable : bool
        Flush the archive and its folder to the disk.
    progress : callable, optional
        Called with the number of bytes processed, and their total.

    Raises
    ------
    FormatError
        If the folder does not contain a store.
    UnsupportedError
        If an archive cannot represent it.
    OSError
        If a file cannot be read, or the archive cannot be written; FileNotFoundError if the folder does not exist.

    Examples
    --------
    >>> import os
    >>> from ds_format.zds.roots import Archive
    >>> from ds_format.zds.archiving import pack
    >>> os.makedirs("animals/collections/train/meta")
    >>> with open("animals/collections/train/meta/data.jsonl", "wb") as file:
    ...     size = file.write(b'{"_id":"a"}\n')
    >>> pack("animals", "animals.zds")
    >>> Archive("animals.zds").names()
    ['collections/train/meta/data.jsonl']
    """
    if compression not in METHODS:
        raise ValueError(f'compression={compression!r}, expected "store" or "deflate"')
    if not 1980 <= stamp.year <= 2107:
        raise UnsupportedError(f"the year {stamp.year}; archives can store years from 1980 to 2107")
    place = Folder(folder)
    if not place.is_store():
        if not os.path.exists(place.path):
            raise explained(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.path))
        raise FormatError(f"neither {format.COLLECTIONS}/ nor {format.STORE_FILE}: not a ZDS store", path=place.path)
    for one in place.unused():
        if not _is_skipped(one.name):
            Faults().report(place.path, f"left out {one}")
    target = Target(archive, durable=durable)
    names = _chosen(place, target.final)
    advance = Advance(progress, 0 if progress is None else sum(_size_of(place, name) for name in names))
    with naming(archive):
        try:
            with open(target.create(), "w+b") as raw, zipfile.ZipFile(raw, "w", METHODS[compression]) as file:
                for name in names:
                    _add(file, place, name, stamp, advance)
            target.commit()
        except BaseException:
            target.abort()
            raise


def _is_skipped(name: str) -> bool:
    """Return whether a file is not part of the store: a hidden or temporary file, a lock, or a torn end."""
    parts = name.split("/")
    return (
        any(part.startswith(".") for part in parts)
        or format.is_litter(name)
        or parts[-1].endswith((".tmp", format.LOCK_SUFFIX))
        or parts[-1].startswith(format.TORN)
    )


def _chosen(place: Folder, archive: str) -> list[str]:
    """Return the names of all members in order. Empty folders have names with a slash at the end."""
    own = os.path.realpath(archive)
    files = [name for name in place.names() if not _is_skipped(name)]
    with_data = {name.removesuffix(format.DATA) + format.INDEX for name in files if _is_data(name.split("/"))}
    files = [name for name in files if name not in with_data]
    files = [name for name in files if os.path.realpath(os.path.join(place.path, name)) != own]
    try:
        check_spelling(files)
    except UnsafeError as error:
        raise UnsupportedError(error.message, path=place.path) from None
    inhabited = {"/".join(name.split("/")[:2]) for name in files}
    folders = [f"{format.COLLECTIONS}/{name}" for name in place.collections() if not name.startswith(".")]
    empty = [name + "/" for name in folders if name not in inhabited]
    if not folders and format.STORE_FILE not in files:
        empty.append(format.COLLECTIONS + "/")
    return sorted(files + empty, key=_rank)


def _rank(name: str) -> tuple[Any, ...]:
    top, _, rest = name.partition("/")
    collection, _, inner = rest.partition("/")
    first = [f"{format.META}/{file}" for file in (format.MANIFEST, format.INDEX, format.DATA)]
    if top == format.COLLECTIONS and rest:
        kind = first.index(inner) if inner in first else 3 if inner.startswith(format.DOCS + "/") else 4
        return 1, collection, kind, name
    return 0 if name == format.STORE_FILE else 2, name


def _size_of(place: Folder, name: str) -> int:
    """Return the bytes of a file, or 0 if it has vanished."""
    try:
        return os.stat(os.path.join(place.path, name)).st_size
    except OSError:
        return 0


def _add(archive: zipfile.ZipFile, place: Folder, name: str, stamp: datetime, advance: Advance) -> None:
    """Add one file to the archive. data.jsonl is added together with its index; see `_add_lines`."""
    if name.endswith("/"):
        _write(archive, name, (), 0, stamp)
        return
    parts = name.split("/")
    if _is_data(parts) and _add_lines(archive, place, parts[1], stamp, advance):
        return
    source = place.open(name)
    if source is None:
        raise TruncatedError("the file vanished while the store was packed", path=os.path.join(place.path, name))
    _write(archive, name, advance.over(source.blocks()), source.size, stamp)


def _add_lines(archive: zipfile.ZipFile, place: Folder, collection: str, stamp: datetime, advance: Advance) -> bool:
    """Add the current state of a collection, also while another process writes it. Return False without data.jsonl.

    A last line without a line feed counts if it is a JSON object. Otherwise it is left out and reported, as is an
    invalid index. All lines are compared with the index.
    """
    files, faults = open_files(place, collection), Faults()
    if files.data is None:
        return False
    lines, newline = _whole_lines(files.data, faults)
    index = None if files.index_file is None else _fitting(lines, files, files.index_file, faults)
    if index is not None:
        _write(archive, format.index_name(collection), (index,), len(index), stamp)
    blocks = advance.over(itertools.chain(lines.blocks(), (newline,)))
    _write(archive, format.data_name(collection), blocks, lines.size + len(newline), stamp, ALIGNMENT)
    return True


def _write(
    archive: zipfile.ZipFile, name: str, blocks: Iterable[bytes], size: int, stamp: datetime, alignment: int = 1
) -> None:
    """Write a member of `size` bytes. If it is not compressed, they start at a multiple of `alignment`."""
    time = (stamp.year, stamp.month, stamp.day, stamp.hour, stamp.minute, stamp.second)
    info = zipfile.ZipInfo(name, time)
    info.create_system = 3  # Unix, for the permissions below
    info.external_attr = (stat.S_IFDIR | 0o755 if name.endswith("/") else stat.S_IFREG | 0o644) << 16
    info.compress_type = archive.compression if size else zipfile.ZIP_STORED
    large = size >= LARGE
    try:
        start = archive.start_dir + HEADER_SIZE + len(name.encode()) + (LARGE_HEADER_SIZE if large else 0)
    except UnicodeEncodeError:
        raise UnsupportedError(f"the name {name!r} is not Unicode") from None
    if info.compress_type == zipfile.ZIP_STORED and start % alignment:
        missing = -(start + 6) % alignment
        info.extra = struct.pack("<3H", PADDING, 2 + missing, alignment) + bytes(missing)
    done = 0
    with archive.open(info, "w", force_zip64=large) as member:
        for block in blocks:
            done += member.write(block)
    info.extra = b""  # the directory does not need it
    if done != size:
        raise TruncatedError(f"{name!r} has {done} bytes, expected {size}")


def _is_data(parts: list[str]) -> bool:
    """Return whether a file is the data.jsonl of a collection with an allowed name."""
    return parts[::2] == [format.COLLECTIONS, format.META] and parts[3:] == [format.DATA] and format.is_name(parts[1])


def unpack(
    archive: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    max_size: int = format.MAX_INFLATED_SIZE,
    max_ratio: int = format.MAX_RATIO,
    progress: Progress | None = None,
) -> None:
    r"""Unpack the store in an archive into a folder.

    The folder appears when it is complete. Before anything is written, an archive is refused if it has a member outside
    of the folder, a link, or two files with the same path. Checksums are compared.

    Parameters
    ----------
    archive : str or PathLike
    folder : str or PathLike
        It must be empty, or not exist.
    max_size : int
        Maximum number of bytes of all files together.
    max_ratio : int
        Maximum ratio of size and compressed size of a member of more than 16 MiB.
    progress : callable, optional
        Called with the number of bytes processed, and their total.

    Raises
    ------
    FileExistsError
        If the folder is not empty.
    UnsafeError
        If the archive could do harm, or is larger than allowed.
    FormatError, UnsupportedError, IntegrityError
        If it is damaged, or cannot be read.

    Examples
    --------
    >>> import zipfile
    >>> from ds_format.zds.archiving import unpack
    >>> with zipfile.ZipFile("zoo.zds", "w") as file:
    ...     file.writestr("collections/train/meta/data.jsonl", '{"_id":"a"}\n')
    >>> unpack("zoo.zds", "zoo")
    >>> with open("zoo/collections/train/meta/data.jsonl", "rb") as file:
    ...     file.read()
    b'{"_id":"a"}\n'
    """
    target = FolderTarget(folder)
    place = Archive(archive, strict=None, max_size=max_size, max_ratio=max_ratio)
    place.refuse(harmless=True)
    try:
        check_spelling(place.names())
        size = place.total_size()
        if size > max_size:
            raise UnsafeError(f"{size} bytes when unpacked, allowed are {max_size} (max_size)")
    except DsError as error:
        raise error.at(path=place.path)
    for one in place.unused():
        Faults().report(place.path, f"left out {one}")
    with naming(folder):
        try:
            _write_files(place, target.create(), Advance(progress, size))
            target.commit()
        except BaseException:
            target.abort()
            raise


def _write_files(place: Archive, folder: str, advance: Advance) -> None:
    made = {folder}
    for name in (*place.folders, *place.names()):
        path = os.path.join(folder, *name.split("/"))
        inner = os.path.dirname(path)
        if inner not in made:
            os.makedirs(inner, exist_ok=True)
            made.add(inner)
        if name.endswith("/"):
            continue
        source = place.open(name)
        if source is not None:
            with open(path, "xb") as file:
                file.writelines(advance.over(source.blocks()))


def check_spelling(names: list[str]) -> None:
    """Check that all names stay distinct on file systems that ignore case.

    Raises
    ------
    UnsafeError
        If two names would become one, or a file would also have to be a folder.
    """
    spelled: dict[str, str] = {}
    files = set(names)
    for name in names:
        for end in (i for i, letter in enumerate(name + "/") if letter == "/"):
            path = name[:end]
            other = spelled.setdefault(path.casefold(), path)
            if other != path:
                raise UnsafeError(f"{other!r} and {path!r} are one file where upper and lower case are the same")
            if end < len(name) and path in files:
                raise UnsafeError(f"{path!r} is a file, and a folder with {name!r}")


def _whole_lines(data: Body, faults: Faults) -> tuple[Body, bytes]:
    """Return the lines that count, and the missing end of the last one."""
    tail, is_document = last_line(data)
    end = data.size - len(tail)
    if not tail:
        return data, b""
    if is_document:
        return data, b"\n"
    faults.report(data.name, f"a torn line of {len(tail)} bytes at the end, left out", offset=end)
    return data.section(0, end), b""


def _fitting(lines: Body, files: LineFiles, found: Body, faults: Faults) -> bytes | None:
    """Return the bytes of an index if it fits the lines, otherwise those of a new one; None if it cannot be written."""
    stored: bytes = found.read(0, found.size)
    table = Scan(lines).run(Silence())
    if stored in (table.encode(), zdx_text.encode(table)):
        return stored
    reader = LineReader(files._replace(data=lines), "verify", faults)
    for _ in reader.documents():
        pass
    try:
        is_read = not index_bin.is_binary(stored) or stored.startswith(format.INDEX_MAGIC)
        same = is_read and index_bin.decode(stored, lines.size).encode() == reader.table.encode()
    except FormatError:
        same = False
    return stored if same else zdx_text.encode(reader.table)
