"""The index of datadings: hashes of many keys, Bloom filters, look-up of keys by their hashes.

It also splits a block of a file into samples.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from ..common.words cimport LITTLE_HOST, load_u64, store_u64
from ..msgpack.walk cimport Keys, string_length
from .blake2s cimport blake2s

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
    """Store the first 8 or 16 bytes of the BLAKE2s digest, which has 32 bytes, of many strings.

    Parameters
    ----------
    strings : (size,) uint8
        Strings of msgpack, one after another, each with a header that has its length.
    start : int
        Position of the first string in bytes.
    salt : (8,) or (0,) uint8
        The salt; empty for no salt.
    out : (8 * N,) or (16 * N,) uint8
        Output.
    pairs : bool
        Whether to store 16 bytes for each string.

    Returns
    -------
    int
        Position of the end of the N strings in bytes.

    Raises
    ------
    ValueError
        If there are fewer strings, or a size is wrong.
    """
    cdef Py_ssize_t width = 16 if pairs else 8, n = out.shape[0] // width, done = 0
    if salt.shape[0] not in (0, 8) or out.shape[0] % width or start < 0:
        raise ValueError(f"{salt.shape[0]} bytes are not a salt, or {out.shape[0]} bytes are not hashes")
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
        The output of `hash_strings` without a salt: two big-endian 64-bit numbers for each string, h1 and h2.
    k : int
        Number of bits of one string. The position of bit j is (h1 + j * h2) modulo 2**64, modulo m.
    bits : (m / 8,) uint8
        Input and output: m bits, the lowest bit of a byte first.

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
    """Return the number of strings that are not in a Bloom filter. Arguments and errors are those of `fill_filter`."""
    cdef Py_ssize_t i, n = 0
    cdef uint64_t m = <uint64_t> bits.shape[0] * 8
    _check(digests.shape[0], m)
    with nogil:
        for i in range(0, digests.shape[0], 16):
            n += not _has(load_u64(&digests[i], LITTLE_HOST), load_u64(&digests[i + 8], LITTLE_HOST), k, &bits[0], m)
    return n


def in_filter(bytes string not None, int k, const uint8_t[::1] bits not None):
    """Return whether a string, without a header, may be in a Bloom filter."""
    cdef uint64_t first, second, m = <uint64_t> bits.shape[0] * 8
    _check(0, m)
    blake2s(string, len(string), NULL, &first, &second)
    return _has(first, second, k, &bits[0], m)


cdef int _check(Py_ssize_t size, uint64_t m) except -1:
    if size % 16 or not m:
        raise ValueError(f"{size} bytes are not pairs of hashes, or {m} bits are not a filter")
    return 0


cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    EMPTY = 0xFFFFFFFF


cdef inline uint64_t _scaled(uint64_t hash, uint64_t n) noexcept nogil:
    """Scale a hash to a number below n, which has at most 34 bits."""
    return ((hash >> 34) * n) >> 30


@cython.final
cdef class Lookup:
    """Finds strings by their salted hash, in a table.

    The table has 1.5 slots of 4 bytes for each hash. The first slot of a hash depends on a secret number, so that no
    file can be made slow on purpose. Among equal hashes, the last one is found.

    Parameters
    ----------
    hashes : (8 + 8 * n,) uint8
        The bytes of the file: a salt of 8 bytes, then n hashes of 8 bytes.
    secret : int
        An odd 64-bit number.

    Raises
    ------
    ValueError
        If the size is wrong, or there are too many hashes.
    """

    cdef const uint8_t[::1] view
    cdef const uint8_t* hashes
    cdef uint32_t* slots
    cdef uint64_t n_slots, secret
    cdef Py_ssize_t n

    def __cinit__(self, const uint8_t[::1] hashes not None, uint64_t secret):
        if hashes.shape[0] < 8 or hashes.shape[0] % 8 or hashes.shape[0] // 8 - 1 >= EMPTY:
            raise ValueError(f"{hashes.shape[0]} bytes are not a salt and hashes of 8 bytes")
        self.view = hashes
        self.hashes = &hashes[0] + 8
        self.n = hashes.shape[0] // 8 - 1
        self.secret = secret | 1
        self.build()

    def __dealloc__(self):
        PyMem_RawFree(self.slots)

    cdef uint32_t* slot_of(self, uint64_t hash) noexcept nogil:
        """Return the slot of a hash in native byte order, or the empty slot for it."""
        cdef uint64_t slot = _scaled(hash * self.secret, self.n_slots)
        while self.slots[slot] != <uint32_t> EMPTY:
            if load_u64(self.hashes + 8 * <uint64_t> self.slots[slot], LITTLE_HOST) == hash:
                break
            slot += 1
            if slot == self.n_slots:
                slot = 0
        return &self.slots[slot]

    cdef build(self):
        """Build the table."""
        cdef Py_ssize_t i
        self.n_slots = <uint64_t> self.n + self.n // 2 + 1
        self.slots = <uint32_t*> PyMem_RawMalloc(self.n_slots * 4)
        if self.slots == NULL:
            raise MemoryError
        with nogil:
            memset(self.slots, 0xFF, self.n_slots * 4)
            for i in range(self.n):
                self.slot_of(load_u64(self.hashes + 8 * i, LITTLE_HOST))[0] = <uint32_t> i

    def find(self, str string not None, Keys keys not None):
        """Return the number of a key.

        Parameters
        ----------
        string : str
            The key.
        keys : Keys
            The n keys. The key with this hash is compared.

        Returns
        -------
        int
            The number. -1: no key has this hash. -2 - i: key i has this hash, but differs.

        Raises
        ------
        ValueError
            If the number of keys is not n.
        """
        cdef Py_ssize_t size = 0, i
        cdef const char* data
        if keys.n != self.n:
            raise ValueError(f"{keys.n} keys do not belong to {self.n} hashes")
        try:
            data = PyUnicode_AsUTF8AndSize(string, &size)
        except UnicodeEncodeError:
            return -1
        i = self.number_of(data, size)
        return i if i < 0 or keys.has(i, data, size) else -2 - i

    cdef Py_ssize_t number_of(self, const char* data, Py_ssize_t size) noexcept:
        """Return the number of the last hash that equals the hash of a string, or -1."""
        cdef uint64_t hash, rest
        cdef uint32_t number
        blake2s(<const uint8_t*> data, size, self.hashes - 8, &hash, &rest)
        number = self.slot_of(hash)[0]
        return -1 if number == <uint32_t> EMPTY else number

    def duplicates(self):
        """Return the numbers of the first two strings with the same hash; None if all hashes differ."""
        cdef Py_ssize_t i
        cdef uint64_t hash
        for i in range(self.n):
            hash = load_u64(self.hashes + 8 * i, LITTLE_HOST)
            if self.slot_of(hash)[0] != <uint32_t> i:
                return i, self.slot_of(hash)[0]
        return None


def cut(const uint8_t[::1] data not None, list spans not None):
    """Split a block of a file.

    Parameters
    ----------
    data : (size,) uint8
        The block.
    spans : list of n + 1 int
        Positions in the file: the start of each piece, and the end of the last one. The block begins with the first
        piece.

    Returns
    -------
    list of n bytes

    Raises
    ------
    ValueError
        If the positions do not ascend from the start of the block to its end.
    """
    cdef Py_ssize_t i, n = len(spans) - 1
    cdef int64_t origin, start = 0, stop, size = data.shape[0]
    cdef const char* p = NULL
    cdef list pieces = []
    if n < 0:
        raise ValueError("no spans")
    if size:
        p = <const char*> &data[0]
    origin = spans[0]
    for i in range(n):
        stop = <int64_t> spans[i + 1] - origin
        if stop < start or stop > size:
            raise ValueError(f"piece {i} goes from byte {start} to {stop} of {size}")
        pieces.append(PyBytes_FromStringAndSize(p + start, <Py_ssize_t> (stop - start)))
        start = stop
    if start != size:
        raise ValueError(f"the pieces end at byte {start} of {size}")
    return pieces
