"""A BinPickle file, in the order of its bytes.

::

    0              header, 16 bytes: who wrote it, and how long it is
    16             buffers, in the order in which the pickler gave them, then the pickle; padding may be before each
    index_offset   index: one array of msgpack with a map for each buffer, the pickle last
    length - T     trailer, T bytes: where the index is, and its checksum
    length         nothing

Header and trailer are big-endian. Version 1 has Adler-32 checksums and T = 16. Version 2 has SHA-256 and T = 44, or
T = 76 as an unreleased writer made it; only the place of the index and its checksum tell which.

Whatever these functions return has been checked in plain integers against the size of the file, so that nothing that
comes after it can be led to memory, or places, that the file does not have.

Sources: the page of the module `binpickle.format` in the documentation of BinPickle; files of binpickle 0.3.4 and
0.4.0a5, where that is silent.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import add, itemgetter, le
from typing import Any, NamedTuple

from .. import signatures
from ..errors import FormatError, TruncatedError, VersionError
from ..kernels import walk
from ..messagepack import UnpackException, packb, unpackb
from .codecs.steps import Step, parse, shown

MAGIC = b"BPCK"
HEADER = struct.Struct(">4sHHq")
"""Magic, version, flags (version 1: reserved, 0), length of the file in bytes."""
TRAILERS = {1: (struct.Struct(">QII"),), 2: (struct.Struct(">QI32s"), struct.Struct(">QI32s32s"))}
"""Index offset, index length, checksum of the index, and in the longest one 32 reserved bytes, by version."""
VERSIONS = tuple(TRAILERS)
BIG_ENDIAN = 1
"""Flag: written on a big-endian machine. Arrays say their own byte order, so it changes nothing."""
MAPPABLE = 2
"""Flag: written for memory mapping, aligned and without codecs."""
UNKNOWN_LENGTH = -1
"""The length while a file is being written."""
MAX_TRAILER_SIZE = max(trailer.size for trailers in TRAILERS.values() for trailer in trailers)
MAX_INDEX_SIZE = (1 << 32) - 1
"""Bytes of the index, as the trailer can say them."""
FAULTS = ("", "ends before what it promises", "no msgpack", "nested too deeply", "an array as key of a map")
"""What `walk.measure` finds."""
MAX_ADLER32 = (1 << 32) - 1
MAX_INTEGER = (1 << 64) - 1
"""As msgpack can hold it."""
SHA256_SIZE = 32


class Header(NamedTuple):
    """The first 16 bytes."""

    version: int = 1
    flags: int = 0
    length: int = UNKNOWN_LENGTH
    """Bytes of the whole file."""

    def encode(self) -> bytes:
        """Return the 16 bytes."""
        return HEADER.pack(MAGIC, *self)


class Entry(NamedTuple):
    """What the index says of one buffer."""

    offset: int
    """Bytes from the start of the file."""
    enc_length: int
    """Bytes in the file."""
    dec_length: int
    """Bytes after decoding."""
    checksum: int | bytes
    """Of the bytes in the file: Adler-32 (version 1) or SHA-256 (version 2)."""
    codec: Any = None
    """How it is encoded, in the words of the index; `steps` has the same for both versions."""
    info: Any = None
    """Version 2: None, or `["ndarray", dtype, shape]`; only for people."""
    steps: tuple[Step, ...] = ()
    """How it was encoded, first to last; empty if it is stored as it is."""

    @property
    def end(self) -> int:
        """Bytes from the start of the file to the first byte behind the buffer."""
        return self.offset + self.enc_length

    def encode(self, version: int) -> dict[str, Any]:
        """Return the map of the index, its keys in their order."""
        lengths = {"offset": self.offset, "enc_length": self.enc_length, "dec_length": self.dec_length}
        if version == 1:
            return {**lengths, "checksum": self.checksum, "codec": self.codec}
        return {**lengths, "hash": self.checksum, "info": self.info, "codecs": self.codec or []}


class Trailer(NamedTuple):
    """The last bytes."""

    index_offset: int
    """Bytes from the start of the file."""
    index_length: int
    """Bytes."""
    checksum: int | bytes
    """Of the index, as that of an entry."""

    def encode(self, version: int) -> bytes:
        """Return the bytes, of version 2 those of the layout that was released."""
        return TRAILERS[version][0].pack(*self)


def flags(*, is_mappable: bool) -> int:
    """Return the flags of a file of version 2 that this machine writes."""
    return BIG_ENDIAN * (sys.byteorder == "big") | MAPPABLE * is_mappable


def decode_header(data: bytes, size: int) -> Header:
    """Read the header.

    Parameters
    ----------
    data : bytes
        The first 16 bytes, or what there is of them.
    size : int
        Bytes of the file. It may be longer than its header says; what comes after is not looked at.

    Raises
    ------
    FormatError, TruncatedError, VersionError
        If it is no BinPickle file, is cut off, or cannot be read by this package.
    """
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise FormatError(f"not a BinPickle file, but {signatures.describe(data)}")
    if not data:
        raise TruncatedError("the file is empty")
    if len(data) < HEADER.size:
        raise TruncatedError(f"header: found {len(data)} bytes, expected {HEADER.size}")
    _, version, set_flags, length = HEADER.unpack(data[: HEADER.size])
    if version not in VERSIONS:
        raise VersionError(f"header: version: found {version}, expected 1 or 2")
    if version == 1 and set_flags:
        raise FormatError(f"header: reserved: found {set_flags}, expected 0")
    if set_flags & ~(BIG_ENDIAN | MAPPABLE):
        raise FormatError(f"header: flags: found {set_flags:#x}, expected none but {BIG_ENDIAN | MAPPABLE:#x}")
    if length == UNKNOWN_LENGTH:
        raise TruncatedError("header: length: found -1, expected the size of the file: its writer did not finish it")
    smallest = HEADER.size + TRAILERS[version][0].size
    if length < smallest:
        raise FormatError(f"header: length: found {length}, expected {smallest} bytes or more")
    if length > size:
        raise TruncatedError(f"header: length: found {length} bytes, expected at most {size}, the size of the file")
    return Header(version, set_flags, length)


def decode_trailers(data: bytes, header: Header) -> list[Trailer]:
    """Return what the trailer may be; of two, that whose checksum the index has.

    Parameters
    ----------
    data : bytes
        The last `MAX_TRAILER_SIZE` bytes before `header.length`, or all that there are.
    header : Header

    Raises
    ------
    FormatError
        If the index does not lie between header and trailer, and ends where the trailer starts.
    """
    found, faults = [], []
    for layout in TRAILERS[header.version]:
        start = header.length - layout.size
        if layout.size > len(data) or start < HEADER.size:
            continue
        offset, length, checksum, *reserved = layout.unpack(data[-layout.size :])
        if offset < HEADER.size:
            faults.append(f"trailer: index offset: found {offset}, expected {HEADER.size} or more")
        elif offset + length != start:
            faults.append(f"trailer: index of {length} bytes at byte {offset}: expected that it ends at byte {start}")
        elif any(map(any, reserved)):
            faults.insert(0, "trailer: reserved: found a signature, expected zeros")
        else:
            found.append(Trailer(offset, length, checksum))
    if not found:
        raise FormatError(faults[0])
    return found


def encode_index(entries: Iterable[Entry], version: int) -> bytes:
    """Return the bytes of the index.

    Raises
    ------
    FormatError
        If the trailer cannot say how long it is.
    """
    data: bytes = packb([entry.encode(version) for entry in entries])
    if len(data) > MAX_INDEX_SIZE:
        raise FormatError(f"index: {len(data)} bytes, at most {MAX_INDEX_SIZE} can be stored: too many arrays")
    return data


def decode_index(data: bytes, header: Header, index_offset: int) -> list[Entry]:
    """Read the index.

    Parameters
    ----------
    data : bytes
        All of it.
    header : Header
    index_offset : int
        Where it starts, which is where the last buffer must have ended.

    Returns
    -------
    list of Entry
        They lie in the file, do not share bytes, and those without codecs have one length.

    Raises
    ------
    FormatError
        If it is anything else; the message says entry and field, what was found and what was expected.
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
    return _entries(_columns(described, header.version), header.version, index_offset)


def _distinct(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a dict of the pairs of a map."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a map has a key twice")
    return found


FIELDS = {
    1: ("offset", "enc_length", "dec_length", "checksum", "codec"),
    2: ("offset", "enc_length", "dec_length", "hash", "codecs", "info"),
}
OPTIONAL: dict[int, dict[str, Any]] = {1: {"codec": None}, 2: {"codecs": []}}


def _columns(described: list[Any], version: int) -> list[tuple[Any, ...]]:
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
    """Return an entry with all its fields and no other."""
    if type(entry) is not dict:
        raise FormatError(f"index: entry {i}: found {shown(entry)}, expected a map")
    complete = OPTIONAL[version] | entry
    if complete.keys() != set(FIELDS[version]):
        found = ", ".join(map(shown, entry))
        raise FormatError(f"index: entry {i}: found {found:.200}, expected {', '.join(FIELDS[version])}")
    return complete


def _entries(columns: list[tuple[Any, ...]], version: int, index_offset: int) -> list[Entry]:
    """Check the fields one after another, which is several times as fast as the entries one after another."""
    offsets, enc_lengths, dec_lengths, sums, codecs, *rest = columns
    _check_integers(offsets, "offset", HEADER.size)
    _check_integers(enc_lengths, "enc_length", 0)
    _check_integers(dec_lengths, "dec_length", 0)
    ends = list(map(add, offsets, enc_lengths))
    if max(ends, default=0) > index_offset:
        i = next(i for i, end in enumerate(ends) if end > index_offset)
        found = f"{enc_lengths[i]} bytes at byte {offsets[i]}"
        raise FormatError(f"index: entry {i}: {found}: expected that they end before byte {index_offset}")
    if version == 1:
        _check_integers(sums, "checksum", 0, MAX_ADLER32)
        steps = [() if codec is None else _steps(i, "codec", [codec], 1) for i, codec in enumerate(codecs)]
    else:
        _check_hashes(sums)
        steps = [() if codec == [] else _steps(i, "codecs", codec, 2) for i, codec in enumerate(codecs)]
    if dec_lengths != enc_lengths:
        for i, (dec_length, enc_length) in enumerate(zip(dec_lengths, enc_lengths, strict=True)):
            if dec_length != enc_length and not steps[i]:
                raise _wrong(i, "dec_length", dec_length, f"{enc_length} as enc_length has, without a codec")
    if not all(map(le, ends, offsets[1:])):
        _check_overlap(offsets, enc_lengths)
    infos = rest[0] if rest else repeat(None)
    return list(map(Entry, offsets, enc_lengths, dec_lengths, sums, codecs, infos, steps))


def _check_integers(values: Sequence[Any], field: str, least: int, most: int = MAX_INTEGER) -> None:
    if not values or (set(map(type, values)) == {int} and least <= min(values) and max(values) <= most):
        return
    i = next(i for i, value in enumerate(values) if type(value) is not int or not least <= value <= most)
    raise _wrong(i, field, values[i], f"an integer of {least} " + ("or more" if most == MAX_INTEGER else f"to {most}"))


def _check_hashes(values: Sequence[Any]) -> None:
    for i, value in enumerate(values):
        if type(value) is not bytes or len(value) != SHA256_SIZE:
            raise _wrong(i, "hash", value, f"{SHA256_SIZE} bytes")


def _steps(i: int, field: str, codecs: Any, version: int) -> tuple[Step, ...]:
    try:
        return parse(codecs, version)
    except FormatError as error:
        raise FormatError(f"index: entry {i}: {field}: {error.message}") from None


def _wrong(i: int, field: str, found: Any, expected: str) -> FormatError:
    return FormatError(f"index: entry {i}: {field}: found {shown(found)}, expected {expected}")


def _check_overlap(offsets: Sequence[int], sizes: Sequence[int]) -> None:
    """Raise a FormatError if two entries share bytes, by which a small file could be made to fill memory."""
    end, last = HEADER.size, -1
    for i in sorted(range(len(offsets)), key=offsets.__getitem__):
        offset, size = offsets[i], sizes[i]
        if not size:
            continue
        if offset < end:
            raise FormatError(
                f"index: entry {i}: offset: found {offset}, expected {end} or more, where entry {last} ends"
            )
        end, last = offset + size, i
