"""The index files of a dataset: encoding, decoding, and every check that needs only one of them.

::

    .offsets      n + 1 integers of 64 bits, big-endian, without a header
    .keys         one array of n strings, in msgpack
    .index        written by older versions instead of both: one map of key to start, in msgpack
    .key_hashes   a salt of 8 bytes, then the first 8 bytes of the BLAKE2s digest, with this salt, of each key
    .filter       a Bloom filter of the keys. A key that it denies is absent; any other key may be present:

        8 bytes   SIMPBLOO
        8 bytes   size of the file, big-endian like all following values
        8 bytes   N: number of elements it was made for
        8 bytes   p: probability that the filter does not deny an absent element; an IEEE double
        m / 8     m bits, the lowest of a byte first

    .md5          a line for each file, as the program md5sum writes and checks it
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import secrets
import struct
from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.messagepack import packb, unpackb
from ..base.progress import Advance
from ..body.body import PIECE_SIZE, Body, FileBody
from ..errors import FormatError, TruncatedError, UnsupportedError
from ..kernels.datadings.index import Lookup, count_absent, fill_filter, hash_strings, in_filter
from ..kernels.msgpack.walk import Keys
from .format import (
    FILTER,
    HASH_SIZE,
    KEY_HASHES,
    KEYS,
    LEGACY_INDEX,
    MD5,
    OFFSET_SIZE,
    OFFSETS,
    REPAIR,
)

KEY_HEADER_SIZE = 5
"""Bytes of the longest header of an array."""
KEY_STEP = 32
"""`Keys` stores the position of every 32nd string."""
ATTEMPTS = 1000
"""Maximum number of salts that are tried."""
SECRET = secrets.randbits(64)
"""Random number that determines the order of a hash table, so that no file can be made to slow it down."""
FILTER_MAGIC = b"SIMPBLOO"
FILTER_HEADER = struct.Struct(">8sQQd")
HASHED_KEYS = 1 << 16
"""Number of keys whose digests are in memory at a time."""
SUM_LINE = re.compile(r"([0-9A-Fa-f]{32}) [ *](.+)")
_one = struct.Struct(">Q").unpack_from


def encode_offsets(ends: NDArray[np.int64]) -> bytes:
    """Return the bytes of the file for samples that end at these positions, (n,) int64, in bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from ds_format.datadings import index_files
    >>> index_files.encode_offsets(np.array([14, 28])).hex()
    '0000000000000000000000000000000e000000000000001c'
    """
    return bytes(OFFSET_SIZE) + ends.astype(">u8").tobytes()


def last_offset(data: Any) -> int:
    """Return the end of the last sample according to the file, in bytes; -1 if it has no offset."""
    whole = len(data) - len(data) % OFFSET_SIZE
    return int(_one(data, whole - OFFSET_SIZE)[0]) if whole else -1


def check_offsets(data: Any, path: str, size: int) -> int:
    """Check the first and the last offset: no other check is possible without reading the file.

    Parameters
    ----------
    data : bytes-like
        The file.
    path : str
        The data file, for the message.
    size : int
        Bytes of the data file.

    Returns
    -------
    int
        The number of samples.

    Raises
    ------
    FormatError
        If the first offset is not 0, the last one is not the size of the data file, or an offset is incomplete.
    TruncatedError
        If the data file ends before the end of the last sample.
    """
    own = path + OFFSETS
    if not len(data) or len(data) % OFFSET_SIZE:
        raise FormatError(f"found {len(data)} bytes, expected offsets of 8 bytes each; {REPAIR}", path=own)
    n = len(data) // OFFSET_SIZE - 1
    first, last = _one(data, 0)[0], last_offset(data)
    if first:
        raise FormatError(f"found the first offset {first}, expected 0; {REPAIR}", path=own)
    if last > size:
        reason = f"found {size} bytes, expected {last}, where the last of {n} samples ends"
        raise TruncatedError(f"{reason}; `ds reindex --cut` keeps those that are whole", path=path)
    if last < size:
        reason = f"{size - last} bytes behind the {n} samples of its index, from byte {last} on"
        raise FormatError(
            f"{reason}: `ds reindex` takes them in, if they are samples; with `--cut` it removes others", path=path
        )
    return n


def spans(data: Any, start: int, stop: int, path: str, size: int) -> list[int]:
    """Return the starts of the samples from `start` to `stop` - 1, and the end of the last one.

    Parameters
    ----------
    data, path, size
        As for `check_offsets`.
    start, stop : int

    Raises
    ------
    FormatError
        If the offsets do not ascend.
    """
    found = list(struct.unpack_from(f">{stop - start + 1}Q", data, OFFSET_SIZE * start))
    if found[-1] > size or found != sorted(found):
        for i, (first, end) in enumerate(pairwise(found), start):
            if first > end or end > size:
                raise FormatError(
                    f"sample {i}: found the offsets {first} and {end}, expected ascending ones up to {size}; {REPAIR}",
                    path=path + OFFSETS,
                )
    return found


def encode_keys(keys: Iterable[str]) -> bytes:
    """Return the bytes of the file of these keys.

    Examples
    --------
    >>> from ds_format.datadings import index_files
    >>> index_files.encode_keys(["a", "b"]).hex()
    '92a161a162'
    """
    return packb(list(keys))


def count_keys(data: Any, path: str) -> tuple[int, int]:
    """Return the number of keys according to the header, and the bytes of this header.

    Parameters
    ----------
    data : bytes-like
        The file, or its first bytes.
    path : str
        The data file, for the message.

    Raises
    ------
    FormatError
        If it is not the header of an array.
    """
    first = data[0] if len(data) else 0
    if 0x90 <= first < 0xA0:
        return first & 0x0F, 1
    size = {0xDC: 2, 0xDD: 4}.get(first, 0)
    if size and len(data) > size:
        return int.from_bytes(data[1 : 1 + size], "big"), 1 + size
    reason = f"found the bytes {bytes(data[:KEY_HEADER_SIZE]).hex(' ')!r}, expected an array of msgpack; {REPAIR}"
    raise FormatError(reason, path=path + KEYS)


def check_key_count(data: Any, path: str, n: int) -> None:
    """Raise a FormatError if the header of a file does not have n as the number of keys; as `count_keys`."""
    found, _ = count_keys(data, path)
    if found != n:
        reason = f"found {found} keys, expected {n} as there are offsets; {REPAIR}"
        raise FormatError(reason, path=path + KEYS)


def open_keys(data: Any, path: str) -> Keys:
    """Return access to the keys of a file.

    Raises
    ------
    FormatError
        If an entry is not a string, or their number is not that in the header.
    """
    n, header = count_keys(data, path)
    strings = memoryview(data)[header:]
    if n > len(strings):
        raise FormatError(f"{len(strings)} bytes cannot be {n} keys; {REPAIR}", path=path + KEYS)
    try:
        return Keys(strings, n, np.empty(n // KEY_STEP + 1, np.int64))
    except ValueError as error:
        raise FormatError(f"{error}; {REPAIR}", path=path + KEYS) from None


def decode_keys(data: Any, path: str) -> list[str]:
    """Return the keys of a file; FormatError as for `open_keys`, or if a key is not UTF-8."""
    found = open_keys(data, path)
    return key_strings(found, 0, found.n, path)


def key_strings(found: Keys, start: int, stop: int, path: str) -> list[str]:
    """Return the keys from `start` to `stop` - 1; FormatError if a key is not UTF-8."""
    encoded = found.encoded(start, stop)
    data = b"\xdd" + (stop - start).to_bytes(4, "big") + encoded
    try:
        return unpackb(data)  # type: ignore[no-any-return]
    except UnicodeDecodeError as error:
        where = f"keys {start} to {stop - 1}: one is not UTF-8: {error.reason}"
        raise FormatError(where, path=path + KEYS) from None


def decode_legacy(data: Any, path: str, size: int) -> tuple[bytes, bytes]:
    """Return the equivalent files `.offsets` and `.keys`.

    Parameters
    ----------
    data : bytes-like
        The file.
    path : str
        The data file, for the message.
    size : int
        Bytes of the data file, which is the end of the last sample.

    Raises
    ------
    FormatError
        If it is not a map of strings to ascending integers.
    TruncatedError
        If it is truncated, or a sample starts after the end of the data file.
    """
    own = path + LEGACY_INDEX
    try:
        pairs = unpackb(data, object_pairs_hook=list, strict_map_key=False)
    except (ValueError, TypeError) as error:
        kind = TruncatedError if "incomplete" in str(error) else FormatError
        raise kind(f"not a map of msgpack: {error}", path=own) from None
    if type(pairs) is not list or bytes(data[:1]) < b"\x80" or b"\x90" <= bytes(data[:1]) < b"\xde":
        raise FormatError("found no map of msgpack", path=own)
    before = 0
    for i, (key, start) in enumerate(pairs):
        if type(key) is not str:
            raise FormatError(f"entry {i}: found the key {key!r:.60}, expected a string", path=own)
        if type(start) is not int or start < before or (i == 0 and start):
            raise FormatError(f"entry {i}: found the offset {start!r:.60}, expected ascending ones from 0 on", path=own)
        before = start
    if before > size or (pairs and before == size):
        raise TruncatedError(f"found {size} bytes, but its index has a sample at byte {before}", path=path)
    ends = np.array([start for _, start in pairs[1:]] + [size] * bool(pairs), np.int64)
    return encode_offsets(ends), encode_keys(key for key, _ in pairs)


def salt(attempt: int) -> bytes:
    """Return a salt of the sequence that all writers use: the unsalted digest of the number as text, its first 8 bytes.

    Examples
    --------
    >>> from ds_format.datadings import index_files
    >>> index_files.salt(0).hex()
    '652e530edee5893b'
    """
    return hashlib.blake2s(str(attempt).encode()).digest()[:HASH_SIZE]


def encode_hashes(strings: Any, n: int, *, distinct: bool = True) -> bytes:
    """Return the bytes of the file of n keys, with the first salt for which all hashes differ.

    Parameters
    ----------
    strings : bytes-like
        The keys in msgpack, one after another.
    n : int
        Number of keys.
    distinct : bool
        False: use the first salt, even if hashes are equal.

    Raises
    ------
    UnsupportedError
        If there is no such salt, because two keys are equal.

    Examples
    --------
    >>> from ds_format.datadings import index_files
    >>> index_files.encode_hashes(bytes.fromhex("a161a162"), 2).hex(" ", 8)
    '652e530edee5893b 953ffc3d1368ba74 72f9046833a27982'
    """
    data = np.empty(HASH_SIZE * (n + 1), np.uint8)
    for attempt in range(ATTEMPTS):
        data[:HASH_SIZE] = np.frombuffer(salt(attempt), np.uint8)
        hash_strings(strings, 0, data[:HASH_SIZE], data[HASH_SIZE:])
        if not distinct or Lookup(data, SECRET).duplicates() is None:
            return data.tobytes()
    raise UnsupportedError(f"among {n} keys, two have the same hash under {ATTEMPTS} salts: they must be the same")


def hash_key(string: bytes, data: Any) -> bytes:
    """Return the hash of a key with the salt of a file."""
    return hashlib.blake2s(string, salt=bytes(data[:HASH_SIZE])).digest()[:HASH_SIZE]


def stored_hash(data: Any, i: int) -> bytes:
    """Return hash i of the file."""
    return bytes(data[HASH_SIZE * (i + 1) : HASH_SIZE * (i + 2)])


def check_hash_size(size: int, path: str, n: int) -> None:
    """Raise a TruncatedError or FormatError if `size`, in bytes, is not the size of the file of hashes of n samples."""
    expected = HASH_SIZE * (n + 1)
    if size != expected:
        error = TruncatedError if size < expected else FormatError
        raise error(f"found {size} bytes, expected {expected} for {n} samples; {REPAIR}", path=path + KEY_HASHES)


class BloomFilter(NamedTuple):
    """A decoded filter."""

    n: int
    """Number of elements it was made for."""
    k: int
    """Number of bits of an element."""
    bits: Any
    """(m / 8,) bytes."""


def filter_shape(n: int, p: float) -> tuple[int, int]:
    """Return the number of bytes of the bits of a filter, and the number of bits of an element.

    Parameters
    ----------
    n : int
        Number of elements; at least 2.
    p : float
        Probability that the filter does not deny an absent element; between 0 and 1.

    Examples
    --------
    >>> from ds_format.datadings import index_files
    >>> index_files.filter_shape(1000, 0.001)
    (1798, 10)
    """
    size = math.ceil(n * math.log(p) / -0.4804530139182015 / 8)
    return size, round(8 * size / n * math.log(2))


def encode_filter(strings: Any, n: int) -> bytes:
    """Return the bytes of the file of n keys.

    Parameters
    ----------
    strings : bytes-like
        The keys in msgpack, one after another.
    n : int
        Number of keys.

    Examples
    --------
    >>> from ds_format.datadings import index_files
    >>> index_files.encode_filter(bytes.fromhex("a161a162"), 2).hex(" ", -8)
    '53494d50424c4f4f 0000000000000021 0000000000000002 3fe0000000000000 e4'
    """
    elements = max(2, n)
    size, k = filter_shape(elements, 1 / elements)
    bits = np.zeros(size, np.uint8)
    for digests in _digest_blocks(strings, n):
        fill_filter(digests, k, bits)
    return FILTER_HEADER.pack(FILTER_MAGIC, FILTER_HEADER.size + size, elements, 1 / elements) + bits.tobytes()


def _digest_blocks(strings: Any, n: int) -> Any:
    """Iterate over digests of the keys, as the filter needs them, many keys at a time."""
    digests = np.empty(16 * min(n, HASHED_KEYS), np.uint8)
    end = 0
    for start in range(0, n, HASHED_KEYS):
        block = digests[: 16 * min(n - start, HASHED_KEYS)]
        end = hash_strings(strings, end, b"", block, True)
        yield block


def decode_filter(data: Any, path: str) -> BloomFilter:
    """Return the filter of a file.

    Parameters
    ----------
    data : bytes-like
        The file.
    path : str
        The data file, for the message.

    Raises
    ------
    FormatError, TruncatedError
        If its header is invalid, or does not fit the size of the file.
    """
    own = path + FILTER
    if len(data) < FILTER_HEADER.size:
        raise TruncatedError(f"found {len(data)} bytes, expected a header of {FILTER_HEADER.size}; {REPAIR}", path=own)
    magic, length, n, p = FILTER_HEADER.unpack_from(data)
    if magic != FILTER_MAGIC:
        raise FormatError(f"found the first bytes {magic!r}, expected {FILTER_MAGIC!r}; {REPAIR}", path=own)
    if length != len(data):
        error = TruncatedError if length > len(data) else FormatError
        raise error(f"found {len(data)} bytes, its header says {length}; {REPAIR}", path=own)
    if n < 2 or not 0 < p < 1:
        raise FormatError(f"found {n} elements and a probability of {p}; {REPAIR}", path=own)
    size, k = filter_shape(n, p)
    if FILTER_HEADER.size + size != length:
        expected = FILTER_HEADER.size + size
        raise FormatError(f"found {length} bytes, expected {expected} for {n} elements; {REPAIR}", path=own)
    return BloomFilter(n, k, memoryview(data)[FILTER_HEADER.size :])


def may_have(filter_: BloomFilter, string: bytes) -> bool:
    """Return whether a key may be in a filter. False is certain, true is not."""
    return in_filter(string, filter_.k, filter_.bits)


def count_denied(filter_: BloomFilter, strings: Any, n: int) -> int:
    """Return how many of n keys a filter denies; arguments as for `encode_filter`."""
    return sum(count_absent(digests, filter_.k, filter_.bits) for digests in _digest_blocks(strings, n))


class Checksums(NamedTuple):
    """Contents of a file of checksums."""

    digests: dict[str, str]
    """File name → 32 hexadecimal digits, in lower case."""
    malformed: list[int]
    """Numbers of the lines, from 1 on, that are neither a checksum nor empty."""


def encode_sums(sums: Iterable[tuple[str, str]]) -> bytes:
    r"""Return the bytes of the file with these names and digests.

    Examples
    --------
    >>> from ds_format.datadings import index_files
    >>> index_files.encode_sums([("a.msgpack", "d41d8cd98f00b204e9800998ecf8427e")])
    b'd41d8cd98f00b204e9800998ecf8427e  a.msgpack\n'
    """
    return "".join(f"{digest}  {name}\n" for name, digest in sums).encode("utf-8", "surrogateescape")


def decode_sums(data: bytes) -> Checksums:
    r"""Decode a file of checksums, in all variants that md5sum accepts: `*` for binary, upper case, CR LF, empty lines.

    Examples
    --------
    >>> from ds_format.datadings import index_files
    >>> index_files.decode_sums(b"D41D8CD98F00B204E9800998ECF8427E *a.msgpack\r\n\n?\n")
    Checksums(digests={'a.msgpack': 'd41d8cd98f00b204e9800998ecf8427e'}, malformed=[3])
    """
    digests, malformed = {}, []
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), 1):
        found = SUM_LINE.fullmatch(line.rstrip("\r"))
        if found:
            digests[found[2]] = found[1].lower()
        elif line.strip():
            malformed.append(number)
    return Checksums(digests, malformed)


def new_md5() -> hashlib._Hash:
    """Return an empty checksum. MD5 detects accidental changes here, not attacks."""
    return hashlib.md5(usedforsecurity=False)


def md5_of_file(path: str, size: int | None = None, advance: Advance | None = None) -> str:
    """Return the checksum of a file or its first bytes, as 32 hexadecimal digits; see `md5_of`."""
    file = FileBody.open(path)
    return md5_of(file, file.size if size is None else size, advance).hexdigest()


def md5_of(file: Body, size: int, advance: Advance | None = None) -> hashlib._Hash:
    """Return the checksum of the first `size` bytes of an open file, which is read in blocks.

    Parameters
    ----------
    file : Body
    size : int
        Number of bytes.
    advance : Advance, optional
        Is advanced by the bytes of each block.

    Raises
    ------
    TruncatedError
        If the file has fewer bytes.
    """
    checksum = new_md5()
    buffer = memoryview(bytearray(min(size, PIECE_SIZE)))
    for start in range(0, size, PIECE_SIZE):
        block = buffer[: min(size - start, PIECE_SIZE)]
        file.read_into(start, block)
        checksum.update(block)
        if advance is not None:
            advance.add(len(block))
    return checksum


def encode_index(path: str, names: Collection[str], ends: NDArray[np.int64], digest: str) -> dict[str, bytes]:
    """Return all index files: suffix → bytes.

    Parameters
    ----------
    path : str
        The data file.
    names : collection of str
        The keys of n samples.
    ends : (n,) int64
        End of each sample, in bytes.
    digest : str
        MD5 of the data file, as 32 hexadecimal digits.

    Raises
    ------
    UnsupportedError
        If two keys are equal.
    """
    key_file = encode_keys(names)
    strings = memoryview(key_file)[count_keys(key_file, path)[1] :]
    files = {
        OFFSETS: encode_offsets(ends),
        KEYS: key_file,
        KEY_HASHES: encode_hashes(strings, len(names)),
        FILTER: encode_filter(strings, len(names)),
    }
    name = os.path.basename(path)
    sums = [(name + suffix, hashlib.md5(data, usedforsecurity=False).hexdigest()) for suffix, data in files.items()]
    return files | {MD5: encode_sums([(name, digest), *sums])}
