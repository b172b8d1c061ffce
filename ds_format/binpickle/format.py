"""A BinPickle file, in the order of its bytes: header, index and trailer, and the checksums of both versions.

::

    0              header, 16 bytes: version, flags, and length of the file
    16             buffers, in the order of the pickler, then the pickle; padding may be before each
    index_offset   index: an array of msgpack with a map for each buffer, the pickle last
    length - T     trailer, T bytes: position and checksum of the index
    length         end of the file

Header and trailer are big-endian. Version 1 has Adler-32 checksums and T = 16. Version 2 has SHA-256 and T = 44, or
T = 76 in files of an unreleased writer. Only the position of the index and its checksum tell the two apart.

All results of these functions have been checked in plain integers against the size of the file, so that later code can
use them without further checks. The index is checked field by field, which is several times as fast as entry by entry.

Sources: the page of the module `binpickle.format` in the documentation of BinPickle; files of binpickle 0.3.4 and
0.4.0a5, where that is silent.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import add, itemgetter, le
from typing import Any, NamedTuple, Protocol, Self

from ..base import signatures
from ..base.messagepack import UnpackException, packb, unpackb
from ..errors import FormatError, TruncatedError, VersionError
from ..kernels.common.checksums import adler32
from ..kernels.msgpack import walk
from ..kernels.pickle import whole
from .decoding import CodecStep, parse, shown


class Checksum(Protocol):
    """A checksum of bytes that come in parts."""

    def update(self, data: Any) -> None:
        """Add bytes."""

    def digest(self) -> int | bytes:
        """Return the checksum of all bytes."""


class Adler32:
    """The checksum of version 1, an integer of 32 bits. It detects accidents, not attacks."""

    def __init__(self) -> None:
        self._value = 1

    def update(self, data: Any) -> None:
        """Add bytes."""
        self._value = adler32(data, self._value)

    def digest(self) -> int:
        """Return the checksum of all bytes."""
        return self._value


def new_checksum(version: int) -> Checksum:
    """Return the checksum of no bytes: Adler-32 in version 1, SHA-256 in version 2. Neither protects from attacks."""
    return Adler32() if version == 1 else hashlib.sha256()


def sha256(data: Any) -> bytes:
    """Return the checksum of bytes in version 2."""
    return hashlib.sha256(data).digest()


CHECKSUMS: dict[int, Callable[[Any], int | bytes]] = {1: adler32, 2: sha256}
"""Version → function from bytes to checksum."""


def checksum_text(checksum: int | bytes) -> str:
    """Return a checksum as messages show it."""
    return f"{checksum:08x}" if isinstance(checksum, int) else checksum.hex()


FAULTS = ("", "ends too early", "not msgpack", "nested too deeply", "an array as key of a map")
"""Messages for the results of `walk.measure`."""
MAX_ADLER32 = (1 << 32) - 1
MAX_INTEGER = (1 << 64) - 1
"""Largest integer of msgpack."""
SHA256_SIZE = 32


def parsed(data: bytes) -> list[Any]:
    """Decode the bytes of an index.

    Raises
    ------
    FormatError
        If it is not an array of msgpack.
    """
    at, fault = walk.measure(data, 0)
    if fault:
        raise FormatError(f"index: {FAULTS[fault]}, at byte {at}")
    try:
        described = unpackb(data, object_pairs_hook=_distinct)
    except (ValueError, UnpackException, RecursionError) as error:
        raise FormatError(f"index: {error or type(error).__name__}") from None
    if type(described) is not list:
        raise FormatError(f"index: found {shown(described)}, expected an array")
    return described


def steps(codec: Any, version: int) -> tuple[CodecStep, ...]:
    """Return the steps of the codec that an entry describes. A tuple, as programs pass it, is a list.

    Raises
    ------
    FormatError
        If it does not describe a codec.
    """
    codec = list(codec) if type(codec) is tuple else codec
    return parse([codec] if version == 1 else codec, version)


def columns(described: Sequence[Any], version: int, start: int, end: int) -> list[Any]:
    """Return offset, enc_length, dec_length, checksum, codec and info, of all entries each.

    Parameters
    ----------
    described : sequence
        The entries as decoded from the index.
    version : int
    start, end : int
        Range of bytes of the file in which all buffers must be.

    Raises
    ------
    FormatError
        If a buffer is outside of the range or shares bytes with another one, if the lengths of one without a codec
        differ, or if anything has a wrong type.
    """
    offsets, enc_lengths, dec_lengths, sums, codecs, *rest = _fields(described, version)
    _check_integers(offsets, "offset", start)
    _check_integers(enc_lengths, "enc_length", 0)
    _check_integers(dec_lengths, "dec_length", 0)
    ends = list(map(add, offsets, enc_lengths))
    if max(ends, default=0) > end:
        i = next(i for i, last in enumerate(ends) if last > end)
        found = f"{enc_lengths[i]} bytes at byte {offsets[i]}"
        raise FormatError(f"index: entry {i}: {found}, expected that they end before byte {end}")
    if version == 1:
        _check_integers(sums, "checksum", 0, MAX_ADLER32)
        encoded = [codec is not None and _is_encoded(i, "codec", codec, 1) for i, codec in enumerate(codecs)]
    else:
        _check_hashes(sums)
        encoded = [codec != [] and _is_encoded(i, "codecs", codec, 2) for i, codec in enumerate(codecs)]
    if dec_lengths != enc_lengths:
        for i, (dec_length, enc_length) in enumerate(zip(dec_lengths, enc_lengths, strict=True)):
            if dec_length != enc_length and not encoded[i]:
                raise _wrong(i, "dec_length", dec_length, f"{enc_length} as enc_length has, without a codec")
    if not all(map(le, ends, offsets[1:])):
        _check_overlap(offsets, enc_lengths, start)
    return [offsets, enc_lengths, dec_lengths, sums, codecs, rest[0] if rest else repeat(None)]


def _distinct(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a dict from the pairs of a map."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a map has a key twice")
    return found


FIELDS = {
    1: ("offset", "enc_length", "dec_length", "checksum", "codec"),
    2: ("offset", "enc_length", "dec_length", "hash", "codecs", "info"),
}
OPTIONAL: dict[int, dict[str, Any]] = {1: {"codec": None}, 2: {"codecs": []}}


def _fields(described: Sequence[Any], version: int) -> list[tuple[Any, ...]]:
    """Return the values of each field, of all entries."""
    fields = FIELDS[version]
    values = itemgetter(*fields)
    try:
        rows = list(map(values, described))
        is_exact = set(map(len, described)) <= {len(fields)}
    except (KeyError, TypeError):
        is_exact = False
    if not is_exact:
        rows = [values(_complete(i, entry, version)) for i, entry in enumerate(described)]
    return list(zip(*rows, strict=True)) or [()] * len(fields)


def _complete(i: int, entry: Any, version: int) -> dict[str, Any]:
    """Return an entry with exactly its fields."""
    if type(entry) is not dict:
        raise FormatError(f"index: entry {i}: found {shown(entry)}, expected a map")
    complete = OPTIONAL[version] | entry
    if complete.keys() != set(FIELDS[version]):
        found = ", ".join(map(shown, entry))
        raise FormatError(f"index: entry {i}: found {found:.200}, expected {', '.join(FIELDS[version])}")
    return complete


def _check_integers(values: Sequence[Any], field: str, least: int, most: int = MAX_INTEGER) -> None:
    if not values or (set(map(type, values)) == {int} and least <= min(values) and max(values) <= most):
        return
    i = next(i for i, value in enumerate(values) if type(value) is not int or not least <= value <= most)
    raise _wrong(i, field, values[i], f"an integer of {least} " + ("or more" if most == MAX_INTEGER else f"to {most}"))


def _check_hashes(values: Sequence[Any]) -> None:
    for i, value in enumerate(values):
        if type(value) is not bytes or len(value) != SHA256_SIZE:
            raise _wrong(i, "hash", value, f"{SHA256_SIZE} bytes")


def _is_encoded(i: int, field: str, codec: Any, version: int) -> bool:
    try:
        return bool(steps(codec, version))
    except FormatError as error:
        raise FormatError(f"index: entry {i}: {field}: {error.message}") from None


def _wrong(i: int, field: str, found: Any, expected: str) -> FormatError:
    return FormatError(f"index: entry {i}: {field}: found {shown(found)}, expected {expected}")


def _check_overlap(offsets: Sequence[int], sizes: Sequence[int], start: int) -> None:
    """Raise a FormatError if two entries share bytes, since a small file could then fill the memory."""
    end, last = start, -1
    for i in sorted(range(len(offsets)), key=offsets.__getitem__):
        offset, size = offsets[i], sizes[i]
        if not size:
            continue
        if offset < end:
            raise FormatError(
                f"index: entry {i}: offset: found {offset}, expected {end} or more, where entry {last} ends"
            )
        end, last = offset + size, i


MAGIC = b"BPCK"
HEADER = struct.Struct(">4sHHq")
"""Magic, version, flags (version 1: reserved, 0), length of the file in bytes."""
TRAILERS = {1: (struct.Struct(">QII"),), 2: (struct.Struct(">QI32s"), struct.Struct(">QI32s32s"))}
"""Index offset, index length, checksum of the index, and 32 reserved bytes in the longest one, by version."""
SIGNATURE = slice(TRAILERS[2][0].size, None)
"""The reserved bytes of a trailer."""
SIGNED = "trailer: reserved: found a signature, expected zeros"
VERSIONS = tuple(TRAILERS)
BIG_ENDIAN = 1
"""Flag: written on a big-endian machine. Arrays say their own byte order, so it changes nothing."""
MAPPABLE = 2
"""Flag: written for memory mapping, aligned and without codecs."""
UNKNOWN_LENGTH = -1
"""The length while a file is being written."""
MAX_TRAILER_SIZE = max(trailer.size for trailers in TRAILERS.values() for trailer in trailers)
MAX_INDEX_SIZE = (1 << 32) - 1
"""Bytes of the largest index that the trailer can describe."""


class FileHeader(NamedTuple):
    """The first 16 bytes."""

    version: int = 1
    length: int = UNKNOWN_LENGTH
    """Bytes of the whole file; -1 while it is written."""
    flags: int = 0

    def encode(self) -> bytes:
        """Return the 16 bytes."""
        return HEADER.pack(MAGIC, self.version, self.flags, self.length)

    @classmethod
    def decode(cls, buf: Any, *, verify: bool = True) -> Self:
        """Read the header.

        Parameters
        ----------
        buf : bytes
            The first 16 bytes of a file, or fewer if it is shorter.
        verify : bool
            Check everything except the length; see `check_length`.

        Raises
        ------
        FormatError, TruncatedError, VersionError
            If it is not a BinPickle file, is truncated, or has an unsupported version.
        """
        data = bytes(buf[: HEADER.size])
        if verify and data[: len(MAGIC)] != MAGIC[: len(data)]:
            raise FormatError(f"not a BinPickle file, but {signatures.describe(data)}")
        if not data:
            raise TruncatedError("the file is empty")
        if len(data) < HEADER.size:
            raise TruncatedError(f"header: found {len(data)} bytes, expected {HEADER.size}")
        _, version, set_flags, length = HEADER.unpack(data)
        if verify and version not in VERSIONS:
            raise VersionError(f"header: version: found {version}, expected 1 or 2")
        if verify and version == 1 and set_flags:
            raise FormatError(f"header: reserved: found {set_flags}, expected 0")
        if verify and set_flags & ~(BIG_ENDIAN | MAPPABLE):
            raise FormatError(f"header: flags: found {set_flags:#x}, expected only bits of {BIG_ENDIAN | MAPPABLE:#x}")
        return cls(version, length, set_flags)

    def trailer_pos(self) -> int | None:
        """Return the offset of the trailer, in version 2 of the released layout; None if the length is not known.

        Raises
        ------
        FormatError
            If the file is too short for a trailer.
        """
        if self.length == UNKNOWN_LENGTH:
            return None
        size = TRAILERS[self.version][0].size
        if self.length < HEADER.size + size:
            raise FormatError(f"header: length: found {self.length}, expected {HEADER.size + size} bytes or more")
        return self.length - size

    def check_length(self, size: int) -> None:
        """Check the length.

        Parameters
        ----------
        size : int
            Bytes of the file. Bytes after the length in the header are ignored.

        Raises
        ------
        FormatError, TruncatedError
            If the file is truncated, or its writer did not finish it.
        """
        if self.trailer_pos() is None:
            raise TruncatedError(
                "header: length: found -1, expected the size of the file: its writer did not finish it"
            )
        if self.length > size:
            raise TruncatedError(
                f"header: length: found {self.length} bytes, expected at most {size}, the size of the file"
            )


class IndexEntry(NamedTuple):
    """An entry of the index: one buffer."""

    offset: int
    """Bytes from the start of the file."""
    enc_length: int
    """Bytes in the file."""
    dec_length: int
    """Bytes after decoding."""
    checksum: int | bytes
    """Checksum of the bytes in the file: Adler-32 (version 1) or SHA-256 (version 2)."""
    codec: Any = None
    """Description of the codec as in the index; `steps` has the same for both versions."""
    info: Any = None
    """Version 2: None, or `["ndarray", dtype, shape]`, for information only."""

    @property
    def end(self) -> int:
        """Bytes from the start of the file to the end of the buffer."""
        return self.offset + self.enc_length

    @property
    def version(self) -> int:
        """Version of the file, by the type of the checksum."""
        return 2 if isinstance(self.checksum, bytes) else 1

    @property
    def steps(self) -> tuple[CodecStep, ...]:
        """Steps of encoding, first to last; empty if it is stored without a codec."""
        return () if self.codec is None else steps(self.codec, self.version)

    def to_repr(self) -> dict[str, Any]:
        """Return the map for the index, with its keys in order."""
        lengths = {"offset": self.offset, "enc_length": self.enc_length, "dec_length": self.dec_length}
        if self.version == 1:
            return {**lengths, "checksum": self.checksum, "codec": self.codec}
        return {**lengths, "hash": self.checksum, "info": self.info, "codecs": self.codec or []}

    @classmethod
    def from_repr(cls, repr: dict[str, Any]) -> Self:  # noqa: A002 - its name in BinPickle
        """Read a map from the index, of either version.

        Raises
        ------
        FormatError
            If it is not an entry, or is impossible.
        """
        version = 2 if "hash" in repr else 1
        return next(map(cls, *columns([repr], version, HEADER.size, MAX_INTEGER)))


class FileTrailer(NamedTuple):
    """The last bytes."""

    offset: int
    """Bytes from the start of the file to the index."""
    length: int
    """Bytes of the index."""
    checksum: int | bytes
    """Checksum of the index, as that of an entry."""

    def encode(self) -> bytes:
        """Return the bytes, in version 2 of the released layout."""
        return TRAILERS[2 if isinstance(self.checksum, bytes) else 1][0].pack(*self)

    @classmethod
    def decode(cls, buf: Any, *, verify: bool = True) -> Self:
        """Read the trailer.

        Parameters
        ----------
        buf : bytes
            The trailer: 16 bytes in version 1, 44 or 76 in version 2.
        verify : bool
            Check that reserved bytes are zero. Signatures are not supported.

        Raises
        ------
        FormatError, TruncatedError
            If it is not a trailer.
        """
        layouts = {layout.size: layout for version in VERSIONS for layout in TRAILERS[version]}
        if len(buf) not in layouts:
            raise TruncatedError(f"trailer: found {len(buf)} bytes, expected {', '.join(map(str, layouts))}")
        if verify and any(buf[SIGNATURE]):
            raise FormatError(SIGNED)
        return cls(*layouts[len(buf)].unpack(buf)[:3])


def flags(*, is_mappable: bool) -> int:
    """Return the flags of a file of version 2 that this machine writes."""
    return BIG_ENDIAN * (sys.byteorder == "big") | MAPPABLE * is_mappable


def decode_trailers(data: bytes, header: FileHeader) -> list[FileTrailer]:
    """Return the possible trailers. If there are two, the checksum of the index decides.

    Parameters
    ----------
    data : bytes
        The last `MAX_TRAILER_SIZE` bytes before `header.length`, or fewer if the file is shorter.
    header : FileHeader

    Raises
    ------
    FormatError
        Unless the index is between header and trailer, and ends where the trailer starts.
    """
    found, faults = [], []
    for layout in TRAILERS[header.version]:
        start = header.length - layout.size
        if layout.size > len(data) or start < HEADER.size:
            continue
        trailer = FileTrailer.decode(data[-layout.size :], verify=False)
        offset, length, _ = trailer
        if offset < HEADER.size:
            faults.append(f"trailer: index offset: found {offset}, expected {HEADER.size} or more")
        elif offset + length != start:
            faults.append(f"trailer: index of {length} bytes at byte {offset}, expected that it ends at byte {start}")
        elif any(data[-layout.size :][SIGNATURE]):
            faults.insert(0, SIGNED)
        else:
            found.append(trailer)
    if not found:
        raise FormatError(faults[0])
    return found


def encode_index(entries: Iterable[IndexEntry]) -> bytes:
    """Return the bytes of the index.

    Raises
    ------
    FormatError
        If it is too long for the trailer.
    """
    data: bytes = packb([entry.to_repr() for entry in entries])
    if len(data) > MAX_INDEX_SIZE:
        raise FormatError(f"index: {len(data)} bytes, at most {MAX_INDEX_SIZE} can be stored: too many arrays")
    return data


def decode_index(data: bytes, header: FileHeader, index_offset: int) -> list[IndexEntry]:
    """Read the index.

    Parameters
    ----------
    data : bytes
        The bytes of the index.
    header : FileHeader
    index_offset : int
        Offset of the index, before which the last buffer must end.

    Returns
    -------
    list of IndexEntry
        They are inside of the file and do not share bytes. The lengths of those without a codec are equal.

    Raises
    ------
    FormatError
        Otherwise. The message has entry, field, the value that was found and the expected one.
    """
    return list(map(IndexEntry, *columns(parsed(data), header.version, HEADER.size, index_offset)))


SMALL_SIZE = 1 << 18
"""Bytes of all buffers of a file that is written, and of a file that is read, by one call of a kernel."""
NAMES = tuple(packb(name) for name in FIELDS[1])
"""The fields of an entry of version 1, as in the index."""


def new_joiner(spill: Callable[[Any], None], *, is_plain: bool) -> whole.Joiner:
    """Return a joiner of the buffers of a small file, if the file is plain: of version 1, not aligned, without codecs.

    `spill` takes all other buffers.
    """
    return whole.Joiner(NAMES, HEADER.size, SMALL_SIZE if is_plain else -1, spill)


def small_content(joiner: whole.Joiner) -> list[bytes]:
    """Return the bytes of a file of version 1 whose buffers were joined, the pickle last, in parts."""
    body, index = joiner.content()
    trailer = FileTrailer(HEADER.size + len(body), len(index), adler32(index)).encode()
    length = HEADER.size + len(body) + len(index) + len(trailer)
    return [FileHeader(1, length).encode(), body, index, trailer]


def small_buffers(data: bytearray) -> tuple[list[bytearray], bytes] | None:
    """Return the buffers and the pickle of a whole file; None if it is not as `small_content` makes it, or damaged."""
    layout = TRAILERS[1][0]
    end = len(data) - layout.size
    if end < HEADER.size:
        return None
    offset, length, checksum = layout.unpack_from(data, end)
    if HEADER.unpack_from(data) != (MAGIC, 1, 0, len(data)) or offset + length != end:
        return None
    if adler32(memoryview(data)[offset:end]) != checksum:
        return None
    return whole.split(data, NAMES, HEADER.size, offset, length)


def entries_of(index: bytes) -> list[IndexEntry]:
    """Return the entries of an index that this package made of a file of version 1."""
    return [IndexEntry(*entry.values()) for entry in unpackb(index)]
