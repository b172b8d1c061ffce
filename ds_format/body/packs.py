"""Members of packs as addresses: `reports.zip/st001.ds`, where `reports.zip` is a ZIP archive, here or elsewhere.

Directories of packs are remembered between calls, because parsing one takes longer than reading a member, and local
packs stay open. They are only used for a pack that has the same status: size, times and inode here, size and version
elsewhere. A pack that was modified a moment ago is not remembered, for a clock may give the next change the same time.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import zlib
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.threads import renew_lock
from ..errors import FormatError, IntegrityError, ReplacedError, UnsupportedError
from ..kernels.files.member import OpenPack, is_regular
from . import MEMBER_MARK, open_file
from .body import Body, FileBody, open_body, pread
from .directory import HEADER_SPARE, TAIL, Directory, MemberPlace, read
from .remote.addresses import RemoteAddress
from .remote.fetching import Fetcher, HeldBody, RemoteBody, RemoteWatch, remote_stamp
from .remote.stores import FileRecord, Store, repeated
from .stamp import Stamp, Watch

MAX_PACKS = 8
"""Packs that are remembered. Those of them that are local stay open."""
RECENT = 20_000_000
"""A pack that was changed at most this many ns ago is not remembered: several steps of the clock of file systems."""


class PackMember(RemoteAddress):
    """A member of a pack.

    Attributes
    ----------
    pack : str or RemoteAddress
        Path of the pack, as the user gave it, or its address.
    member : str
        Its name in the pack.
    """

    __slots__ = ("_body", "member", "name", "pack", "suffix")

    def __init__(self, pack: Any, member: str, name: str):
        self.pack = pack
        self.member = member
        self.name = name
        dot = member.rfind(".")
        self.suffix = member[dot:].lower() if dot > member.rfind("/") + 1 else ""
        self._body: Body | None = None

    def __reduce__(self) -> Any:
        return type(self), (self.pack, self.member, self.name)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.member, self.pack) == (other.member, other.pack)

    def __hash__(self) -> int:
        return hash((self.pack, self.member))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.pack, self.member

    @property
    def location(self) -> str:
        """The name in the pack."""
        return self.member

    def at(self, location: str) -> PackMember:
        """Return another member of the pack."""
        member = location.lstrip("/")
        return type(self)(self.pack, member, self.name[: len(self.name) - len(self.member)] + member)

    @abstractmethod
    def directory(self) -> Directory | None:
        """Return the directory of the pack now; None if there is a folder in place of a pack."""

    def start(self) -> int:
        """Return the position of the data in the pack, in bytes."""
        return int(getattr(self._open(0, 0), "start", 0))

    def keep(self, body: Body | None) -> None:
        """Keep a body for the next `open`; see `Address`."""
        self._body = body

    def open(self, first: int, last: int = 0) -> Body:
        """Open the member: a small one is read by one call, or with one request; see `Address`."""
        body, self._body = self._body, None
        return body or self._open(first, last)

    @abstractmethod
    def _open(self, first: int, last: int) -> Body: ...

    def reopened(self, stamp: Stamp, known: tuple[tuple[int, bytes], ...] = ()) -> Body:
        """Open the member again, and compare its size and checksum; see `Address`."""
        if known and len(known[0][1]) == stamp.size:
            return HeldBody.of(self.name, known[0][1], stamp.digest.decode())
        try:
            body = self._open(0, 0)
        except FileNotFoundError as error:
            raise stamp.gone(error, self.name) from None
        if body.watch.stamp is not None:
            stamp.compare(body.watch.stamp, self.name)
        return body

    def uploader(self, *, create: bool = False, durable: bool = False) -> Callable[[str], None]:
        """Refuse to write a single member.

        Raises
        ------
        UnsupportedError
            Always; it says what to do instead.
        """
        message = "a member of a pack cannot be written alone: write a file, and add it by `ds.pack` with `append=True`"
        raise UnsupportedError(message, path=self.name)


def _below(directory: Directory, top: str, recursive: bool) -> Iterable[tuple[str, int]]:
    """Return the names of the members below a name, without it, and their numbers."""
    top = top.rstrip("/") + "/" if top.strip("/") else ""
    for name, i in directory.numbers.items():
        if name.startswith(top) and (recursive or "/" not in name[len(top) :]):
            yield name[len(top) :], i


def _records(directory: Directory, top: str, recursive: bool) -> Iterable[FileRecord]:
    """Return the members below a name."""
    sizes, crcs = directory.rows[:, 2].tolist(), directory.rows[:, 3].tolist()
    return [FileRecord(name, sizes[i], f"{crcs[i]:08x}") for name, i in _below(directory, top, recursive)]


def _header_size(member: str, place: MemberPlace, first: int) -> int:
    """Return how many bytes to read from the local header on, to have as many of the data as requested."""
    return min(place.limit - place.offset, 30 + len(member.encode()) + HEADER_SPARE + min(place.size, first))


class LocalMember(PackMember):
    """A member of a pack on this machine. As a path it is what the user gave."""

    __slots__ = ()
    is_near = True

    def store(self) -> Store:
        """Refuse access by ranges, which only files that are elsewhere need."""
        raise UnsupportedError("the pack is a local file", path=self.name)

    def absolute(self) -> LocalMember:
        """Return the member by the absolute path of its pack."""
        return LocalMember(os.path.abspath(self.pack), self.member, self.name)

    def whole(self, limit: int) -> bytearray | None:
        """Return the bytes of a small member; see `Address`."""
        known = _local.get(self.pack)
        found = None if known is None or self._body is not None else known[0].read([self.member], limit)
        return None if found is None else found[0]

    def is_known(self) -> bool:
        """Return whether there is a member of this name."""
        return self.member in self.directory().numbers

    def directory(self) -> Directory:
        """Return the directory of the pack now.

        Raises
        ------
        OSError, DsError
            If the pack cannot be read, or is damaged.
        """
        return _opened(self.pack)[1]

    def check_bytes(self) -> None:
        """Compare the CRC-32 of the member; errors as for `open`, and an IntegrityError if it differs."""
        expected, crc = self.directory().find(self.member, self.name).version, 0
        body = self._open(0, 0)
        with body.watch:
            for block in body.blocks():
                crc = zlib.crc32(block, crc)
        if f"{crc:08x}" != expected:
            raise IntegrityError(f"CRC-32 is {crc:08x}, expected {expected}", path=self.name)

    def listed(self, *, recursive: bool) -> Iterable[FileRecord]:
        """Return the members below this address; see `RemoteAddress`."""
        return _records(self.directory(), self.member, recursive)

    def names(self, *, recursive: bool) -> Iterable[str]:
        """Return their names; see `RemoteAddress`."""
        return [name for name, _ in _below(self.directory(), self.member, recursive)]

    def _open(self, first: int, last: int) -> Body:
        try:
            file, directory, status = _opened(self.pack)
        except IsADirectoryError:  # which has replaced the pack
            return open_body(self.name, first, last)
        place = directory.find(self.member, self.name)
        data = pread(file.fd, _header_size(self.member, place, first), place.offset)
        start = directory.data_start(place, data, self.name)
        data = data[start : start + place.size]
        if place.size > first:
            watch = MemberWatch(self.name, remote_stamp(place.size, place.version), file)
            return MemberBody(file._file, self.name, place.offset + start, place.size, watch, data)  # noqa: SLF001
        if len(data) < place.size:
            data = file.read(place.offset + start, place.size)
        if _is_recent(status):
            file.watch.check()
        return HeldBody.of(self.name, data, place.version)


class MemberWatch(Watch):
    """A member of an open pack. Its stamp is that of the member, and `check` compares the pack."""

    __slots__ = ("pack",)

    def __init__(self, name: str, stamp: Stamp, file: FileBody):
        super().__init__(name, stamp, file.fd, file)
        self.pack = file.watch

    def check(self) -> None:
        """Check that the pack was not modified in place; see `Watch`."""
        self.pack.check()


class MemberBody(FileBody):
    """A member of an open pack, or a part of it."""

    __slots__ = ()
    is_elsewhere = True

    def section(self, offset: int, size: int | None = None) -> MemberBody:
        """Return a part, which keeps the file open."""
        size = max(self.size - offset, 0) if size is None else size
        return MemberBody(self._file, self.name, self.start + offset, size, self.watch)


_local: OrderedDict[str, tuple[OpenPack, Directory]] = OrderedDict()
"""Local packs by their paths. They stay open, but for those that are deleted when another one is opened."""


def _opened(path: str) -> tuple[FileBody, Directory, os.stat_result]:
    """Open a pack, and return its directory and status. The directory is read again if the file changed."""
    try:
        fd, status = open_file(path)
    except OSError:
        _local.pop(path, None)
        raise
    file = FileBody.of(path, fd, status)
    known = _local.get(path)
    if known is not None and known[0].is_at(status):
        return file, known[1], status
    _local.pop(path, None)
    with file.watch:
        directory = read(file)
    if not _is_recent(status):
        pack = OpenPack(path, fd, status, directory.raw, directory.rows, directory.numbers)
        with contextlib.suppress(RuntimeError, KeyError):  # another thread was faster
            for other in [name for name, one in _local.items() if one[0].is_deleted()]:
                del _local[other]
            while len(_local) >= MAX_PACKS:
                _local.popitem(last=False)
        _local[path] = pack, directory
    return file, directory, status


def _is_recent(status: os.stat_result) -> bool:
    return 0 <= time.time_ns() - status.st_ctime_ns < RECENT


def read_members(members: Sequence[LocalMember], limit: int) -> tuple[Sequence[bytearray | None], NDArray[np.int64]]:
    """Read small members of one pack by few calls.

    Parameters
    ----------
    members : sequence of LocalMember
        All of one pack.
    limit : int
        Bytes; a larger member is not read.

    Returns
    -------
    sequence of bytearray or None
        None for a member that is larger, or has any fault: opening it raises the error.
    (n, 3) ndarray of int64
        Size, CRC-32 and 0; zeros for a member that does not exist.

    Raises
    ------
    OSError, DsError
        If the pack cannot be read.
    """
    path, names = members[0].pack, [one.member for one in members]
    stamps = np.zeros((len(names), 3), np.int64)
    known = _local.get(path)
    found = None if known is None else known[0].read(names, limit, stamps)
    if found is None:
        file, directory, status = _opened(path)
        stamps[:] = 0
        with file.watch:
            pack = OpenPack(path, file.fd, status, directory.raw, directory.rows, directory.numbers)
            found = pack.read(names, limit, stamps)
    return found or [None] * len(names), stamps


class _FarPack(NamedTuple):
    """A pack that is elsewhere."""

    store: Store
    size: int
    version: str
    directory: Directory
    starts: dict[int, int]
    """Number of a member → bytes of its local header, of those that were opened."""


class _FarPacks:
    """Packs that are elsewhere, by their addresses. A directory is requested by one thread, and others wait for it."""

    def __init__(self) -> None:
        self._packs: OrderedDict[RemoteAddress, _FarPack] = OrderedDict()
        self._lock = threading.Lock()
        renew_lock(self, threading.Lock)

    def get(self, address: RemoteAddress, stale: _FarPack | None = None) -> tuple[_FarPack, bool]:
        """Return a pack, and whether it was remembered. One that turned out to be `stale` is opened again."""
        with self._lock:
            found = self._packs.get(address)
            if found is not None and found is not stale:
                return found, True
            return self._opened(address, None), False

    def now(self, address: RemoteAddress) -> _FarPack:
        """Return a pack as it is now, with one request if it is the same as before."""
        with self._lock:
            return self._opened(address, self._packs.get(address))

    def _opened(self, address: RemoteAddress, known: _FarPack | None) -> _FarPack:
        store, name = address.store(), address.name
        last = repeated(lambda: store.last(TAIL), name, f"the last {TAIL} bytes")
        if last is None:
            answer = repeated(lambda: store.first(1), name, "bytes 0 to 1")
            last = 0, answer
        start, answer = last
        size, version = len(answer.data) if answer.size is None else answer.size, answer.version or ""
        if known is not None and version and (size, version) == (known.size, known.version):
            return known
        fetcher = Fetcher(name, store, size, version, [(start, answer.data)])
        found = _FarPack(store, size, version, read(RemoteBody(fetcher, 0, size)), {})
        self._packs[address] = found
        if len(self._packs) > MAX_PACKS:
            self._packs.popitem(last=False)
        return found


_far = _FarPacks()


class FarMember(PackMember):
    """A member of a pack that is elsewhere, or a file in a folder of this name.

    The directory is requested once, and then each member by one request.
    """

    __slots__ = ()

    @property
    def plain(self) -> RemoteAddress:
        """The address of a file in a folder."""
        found: RemoteAddress = self.pack.at(f"{self.pack.location}/{self.member}")
        return found

    def store(self) -> Store:
        """Return access to the pack."""
        store: Store = self.pack.store()
        return store

    def directory(self) -> Directory | None:
        """Return the directory of the pack now; None if there is a folder in place of a pack."""
        try:
            return _far.now(self.pack).directory
        except (FileNotFoundError, FormatError):
            return None

    def listed(self, *, recursive: bool) -> Iterable[FileRecord]:
        """Return the members below this address, or the files of a folder; see `RemoteAddress`."""
        directory = self.directory()
        if directory is None:
            return self.plain.listed(recursive=recursive)
        return _records(directory, self.member, recursive)

    def _open(self, first: int, last: int) -> Body:
        try:
            pack, is_remembered = _far.get(self.pack)
        except (FileNotFoundError, FormatError) as error:
            try:
                return self.plain.open(first, last)
            except FileNotFoundError:
                raise error from None
        try:
            return self._open_in(pack, first)
        except (ReplacedError, FormatError, IntegrityError, FileNotFoundError):
            if not is_remembered:
                raise
            return self._open_in(_far.get(self.pack, pack)[0], first)

    def _open_in(self, pack: _FarPack, first: int) -> Body:
        place = pack.directory.find(self.member, self.name)
        start, data = pack.starts.get(place.number), bytearray()
        if start is None or first:
            data = bytearray(_header_size(self.member, place, first))
            fetcher = Fetcher(self.name, pack.store, pack.size, pack.version)
            fetcher.fill([(place.offset, memoryview(data))])
            start = pack.starts[place.number] = pack.directory.data_start(place, bytes(data), self.name)
        fetcher = Fetcher(self.name, pack.store, pack.size, pack.version, [(place.offset, data)])
        body = RemoteBody(fetcher, place.offset + start, place.size)
        body.watch = RemoteWatch(self.name, remote_stamp(place.size, place.version))
        if place.size > first:
            return body
        whole = bytes(body.read(0, place.size))
        if (found := zlib.crc32(whole)) != place.crc:
            raise IntegrityError(f"CRC-32 is {found:08x}, expected {place.crc:08x}", path=self.name)
        return HeldBody.of(self.name, whole, place.version)


def member_of(path: str) -> LocalMember | None:
    """Return the member of a local pack that a path names; None if no part of the path is a file with the suffix.

    Examples
    --------
    >>> import ds_format as ds
    >>> ds.write("x.ds", {"x": 1})
    >>> ds.pack("x.ds", "x.zip")
    1
    >>> member_of("x.zip/x.ds"), member_of("y.zip/x.ds")
    (LocalMember('x.zip/x.ds'), None)
    """
    at = path.find(MEMBER_MARK)
    while at >= 0:
        end = at + len(MEMBER_MARK)
        pack = path[: end - 1]
        if pack in _local or is_regular(pack):
            return LocalMember(pack, path[end:], path)
        at = path.find(MEMBER_MARK, end)
    return None


def far_member_of(address: Any) -> Any:
    """Return the member of a pack that an address may name; other addresses are returned unchanged."""
    if not isinstance(address, RemoteAddress) or isinstance(address, PackMember):
        return address
    at = address.location.find(MEMBER_MARK)
    if at < 0:
        return address
    pack = address.at(address.location[: at + len(MEMBER_MARK) - 1])
    member = address.location[at + len(MEMBER_MARK) :]
    return FarMember(pack, member, f"{pack.name}/{member}")


def names_in(path: str) -> list[str] | None:
    """Return the names of the members of a pack; None for an archive of a store of documents, or another file."""
    try:
        names = [*_opened(path)[1].numbers]
    except FormatError:
        if bytes(open_body(path).head(2)) == b"PK":
            raise
        return None
    return None if any(name == "zds.json" or "collections/" in name for name in names) else names
