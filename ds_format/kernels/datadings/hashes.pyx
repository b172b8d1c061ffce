"""Hashes of many strings at once, and Bloom filters of them."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from .blake2s cimport blake2s
from ..msgpack.walk cimport string_length
from ..common.words cimport LITTLE_HOST, load_u64, store_u64


cdef Py_ssize_t _hash(
    const uint8_t* p, Py_ssize_t* at, Py_ssize_t size, const uint8_t* salt, uint8_t* out, Py_ssize_t n, bint pairs
) noexcept nogil:
    cdef Py_ssize_t i
    cdef int64_t length
    cdef int header = 0
    cdef uint64_t first, second
    for i in range(n):
        length = string_length(p + at[0], size - at[0], &header)
        if length < 0:
            return i
        at[0] += header
        blake2s(p + at[0], length, salt, &first, &second)
        at[0] += length
        store_u64(out, first, LITTLE_HOST)
        out += 8
        if pairs:
            store_u64(out, second, LITTLE_HOST)
            out += 8
    return n


def hash_strings(
    const uint8_t[::1] strings not None, Py_ssize_t start, const uint8_t[::1] salt not None, uint8_t[::1] out not None,
    bint pairs=False
):
    """Store the first 8 or 16 bytes of the BLAKE2s digest, of 32 bytes, of many strings.

    Parameters
    ----------
    strings : (size,) uint8
        Strings of msgpack: a header with the length in front of each, nothing between them.
    start : int
        Where the first string is, in bytes.
    salt : (8,) or (0,) uint8
        The salt; empty: none.
    out : (8 * N,) or (16 * N,) uint8
        Out.
    pairs : bool
        Whether 16 bytes of each are wanted.

    Returns
    -------
    int
        Where the N strings end, in bytes.

    Raises
    ------
    ValueError
        If there are fewer strings, or a size is wrong.
    """
    cdef Py_ssize_t width = 16 if pairs else 8, n = out.shape[0] // width, done = 0
    if salt.shape[0] not in (0, 8) or out.shape[0] % width or start < 0:
        raise ValueError(f"{salt.shape[0]} bytes are no salt, or {out.shape[0]} bytes no hashes")
    if n and strings.shape[0]:
        with nogil:
            done = _hash(
                &strings[0], &start, strings.shape[0], &salt[0] if salt.shape[0] else NULL, &out[0], n, pairs
            )
    if done < n:
        raise ValueError(f"string {done} of {n} is missing or not a string")
    return start


cdef inline void _add(uint64_t first, uint64_t second, int k, uint8_t* bits, uint64_t m) noexcept nogil:
    cdef int _
    cdef uint64_t bit
    for _ in range(k):
        bit = first % m
        bits[bit >> 3] |= <uint8_t> (1 << (bit & 7))
        first += second


cdef inline bint _has(uint64_t first, uint64_t second, int k, const uint8_t* bits, uint64_t m) noexcept nogil:
    cdef int _
    cdef uint64_t bit
    for _ in range(k):
        bit = first % m
        if not bits[bit >> 3] >> (bit & 7) & 1:
            return False
        first += second
    return True


def fill_filter(const uint8_t[::1] digests not None, int k, uint8_t[::1] bits not None):
    """Set the bits of many strings in a Bloom filter.

    Parameters
    ----------
    digests : (16 * N,) uint8
        Of each string, as of `hash_strings` without salt: two numbers of 64 bits, big-endian, h1 and h2.
    k : int
        Bits of one string: bit j is the remainder by m of h1 + j * h2, modulo 2**64.
    bits : (m / 8,) uint8
        In and out: m bits, the lowest of a byte first.

    Raises
    ------
    ValueError
        If a size is wrong.
    """
    cdef Py_ssize_t i
    cdef uint64_t m = <uint64_t> bits.shape[0] * 8
    _check(digests.shape[0], m)
    with nogil:
        for i in range(0, digests.shape[0], 16):
            _add(load_u64(&digests[i], LITTLE_HOST), load_u64(&digests[i + 8], LITTLE_HOST), k, &bits[0], m)


def count_absent(const uint8_t[::1] digests not None, int k, const uint8_t[::1] bits not None):
    """Return how many strings are not in a Bloom filter; arguments and errors as of `fill_filter`."""
    cdef Py_ssize_t i, n = 0
    cdef uint64_t m = <uint64_t> bits.shape[0] * 8
    _check(digests.shape[0], m)
    with nogil:
        for i in range(0, digests.shape[0], 16):
            n += not _has(load_u64(&digests[i], LITTLE_HOST), load_u64(&digests[i + 8], LITTLE_HOST), k, &bits[0], m)
    return n


def in_filter(bytes string not None, int k, const uint8_t[::1] bits not None):
    """Return whether a string, without header, may be in a Bloom filter."""
    cdef uint64_t first, second, m = <uint64_t> bits.shape[0] * 8
    _check(0, m)
    blake2s(string, len(string), NULL, &first, &second)
    return _has(first, second, k, &bits[0], m)


cdef int _check(Py_ssize_t size, uint64_t m) except -1:
    if size % 16 or not m:
        raise ValueError(f"{size} bytes are no pairs of hashes, or {m} bits no filter")
    return 0
