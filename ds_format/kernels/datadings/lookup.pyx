"""From the hash of a key to its number, over the bytes of a file of hashes."""

cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from .blake2s cimport blake2s
from ..msgpack.keys cimport Keys
from ..common.words cimport LITTLE_HOST, load_u64, store_u64

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    EMPTY = 0xFFFFFFFF


cdef inline uint64_t _scaled(uint64_t hash, uint64_t n) noexcept nogil:
    """Return a number below n, of at most 34 bits, in proportion to a hash."""
    return ((hash >> 34) * n) >> 30


@cython.final
cdef class Lookup:
    """Finds strings by their salted hash: by comparing one hash after another, or with a table once it is built.

    The table has 1.5 slots of 4 bytes for each hash. Which slot a hash begins with depends on a secret number, so that
    no file can be made to be slow. Of equal hashes the last one is found.

    Parameters
    ----------
    hashes : (8 + 8 * n,) uint8
        A salt of 8 bytes, then n hashes of 8 bytes: the file as it is.
    secret : int
        An odd number of 64 bits.

    Raises
    ------
    ValueError
        If the size is another, or there are too many hashes.
    """

    cdef const uint8_t[::1] view
    cdef const uint8_t* hashes
    cdef uint32_t* slots
    cdef uint64_t n_slots, secret
    cdef Py_ssize_t n

    def __cinit__(self, const uint8_t[::1] hashes not None, uint64_t secret):
        if hashes.shape[0] < 8 or hashes.shape[0] % 8 or hashes.shape[0] // 8 - 1 >= EMPTY:
            raise ValueError(f"{hashes.shape[0]} bytes are no salt and hashes of 8 bytes")
        self.view = hashes
        self.hashes = &hashes[0] + 8
        self.n = hashes.shape[0] // 8 - 1
        self.secret = secret | 1

    def __dealloc__(self):
        PyMem_RawFree(self.slots)

    cdef uint32_t* slot_of(self, uint32_t* slots, uint64_t hash) noexcept nogil:
        """Return the slot of a hash, in the byte order of this machine, or the empty one where it would be."""
        cdef uint64_t slot = _scaled(hash * self.secret, self.n_slots)
        while slots[slot] != <uint32_t> EMPTY:
            if load_u64(self.hashes + 8 * <uint64_t> slots[slot], LITTLE_HOST) == hash:
                break
            slot += 1
            if slot == self.n_slots:
                slot = 0
        return &slots[slot]

    def build(self):
        """Make the table, unless there is one."""
        cdef uint32_t* slots
        cdef Py_ssize_t i
        if self.slots != NULL:
            return
        self.n_slots = <uint64_t> self.n + self.n // 2 + 1
        slots = <uint32_t*> PyMem_RawMalloc(self.n_slots * 4)
        if slots == NULL:
            raise MemoryError
        with nogil:
            memset(slots, 0xFF, self.n_slots * 4)
            for i in range(self.n):
                self.slot_of(slots, load_u64(self.hashes + 8 * i, LITTLE_HOST))[0] = <uint32_t> i
        self.slots = slots

    def find(self, str string not None, Keys keys not None):
        """Return the number of a key.

        Parameters
        ----------
        string : str
            The key.
        keys : Keys
            n keys; the one found is compared.

        Returns
        -------
        int
            The number; -1: no key has this hash; -2 - i: key i has it, and is another one.

        Raises
        ------
        ValueError
            If there are not n keys.
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
        """Return the number of the last hash that is that of a string, or -1."""
        cdef uint64_t hash, rest
        cdef uint8_t stored[8]
        cdef uint32_t number
        cdef Py_ssize_t i
        blake2s(<const uint8_t*> data, size, self.hashes - 8, &hash, &rest)
        if self.slots != NULL:
            number = self.slot_of(self.slots, hash)[0]
            return -1 if number == <uint32_t> EMPTY else number
        store_u64(stored, hash, LITTLE_HOST)
        with nogil:
            for i in range(self.n - 1, -1, -1):
                if memcmp(self.hashes + 8 * i, stored, 8) == 0:
                    break
            else:
                i = -1
        return i

    def duplicates(self):
        """Return the numbers of the first string whose hash comes again, and of the next with it; None: all differ."""
        cdef Py_ssize_t i
        cdef uint64_t hash
        self.build()
        for i in range(self.n):
            hash = load_u64(self.hashes + 8 * i, LITTLE_HOST)
            if self.slot_of(self.slots, hash)[0] != <uint32_t> i:
                return i, self.slot_of(self.slots, hash)[0]
        return None
