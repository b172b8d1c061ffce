"""The index of ZDS, held in memory as it is in the file."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from .entries cimport FIXED, Entry, id_size, load_entry, store_entry
from .spans cimport Spans
from ..common.utf8 cimport utf8_size
from ..common.words cimport LITTLE_HOST, load_u64, store_u64

cdef enum:
    HEADER = 16  # bytes in front of the entries

cdef bytes MAGIC = b"ISDZ"


@cython.final
cdef class Table(Spans):
    """The ids of a collection, each with the place of its line: offset and length in bytes.

    Entries have numbers, in the order in which they came. An id that comes again gets a new entry, and the old one is
    dead, as is that of an id that is discarded. The first look-up builds a hash table, which with the places of the
    entries takes 20 bytes for each entry.

    Attributes
    ----------
    n : int
        Entries, the dead ones, too; `len()` counts the others.
    n_dead : int
        How many are dead.
    end : int
        Where the last line ends, in bytes; those of dead entries count, too.
    in_order : bool
        Whether each line, dead or not, begins where the one before ends, or behind.
    contiguous : bool
        Whether the lines of living entries, one after another, fill all bytes from 0 to `end`.
    """

    @classmethod
    def decode(cls, const uint8_t[::1] data not None, uint64_t data_size):
        """Return the table of an index file, whose bytes are not copied.

        Parameters
        ----------
        data : (size,) uint8
            The file. It must not change, and is held by the table.
        data_size : int
            Size of the file with the lines, in bytes.

        Raises
        ------
        ValueError
            If it is no index of version 1, or an entry is not possible; the message says which, and where.
        """
        cdef Table table = Table()
        cdef uint64_t count, room
        cdef Py_ssize_t at = HEADER
        cdef const char* wrong
        if data.shape[0] < HEADER:
            raise ValueError(f"found {data.shape[0]} bytes, expected a header of {HEADER}")
        magic, version = bytes(data[:4]), int.from_bytes(data[4:8], "little")
        if magic not in (MAGIC, MAGIC[::-1]):
            raise ValueError(f"found the magic bytes {magic!r}, expected {MAGIC!r} or {MAGIC[::-1]!r}")
        if version != 1:
            raise ValueError(f"found version {version}, expected 1")
        count, room = load_u64(&data[8], not LITTLE_HOST), data.shape[0] - HEADER
        if count > room // (FIXED + 1) or count > <uint64_t> 0xFFFFFFFE:
            raise ValueError(f"found a count of {count}, expected at most {room // (FIXED + 1)} for {room} bytes")
        table.view, table.base, table.base_size = data, &data[0], data.shape[0]
        table.make_room(count, 0)
        with nogil:
            wrong = table.survey(count, data_size, &at)
        if wrong != NULL:
            raise ValueError(f"entry {table.n} of {count} at byte {at}: {wrong.decode()}")
        if at != data.shape[0]:
            raise ValueError(f"found {data.shape[0] - at} bytes at byte {at}, expected no more than {count} entries")
        return table

    cdef const char* survey(self, uint64_t count, uint64_t data_size, Py_ssize_t* at) noexcept nogil:
        """Store the places of all entries; return what is wrong with one, or NULL."""
        cdef const uint8_t* p
        cdef uint64_t left
        cdef Entry entry
        while <uint64_t> self.n < count:
            p, left = self.base + at[0], self.base_size - at[0]
            if left < FIXED or left < <uint64_t> FIXED + id_size(p):
                return "found the end of the file, expected an entry"
            entry = load_entry(p)
            if entry.size == 0:
                return "found an empty id"
            if utf8_size(entry.id, entry.size) < entry.size:
                return "found an id that is not UTF-8"
            if entry.length == 0:
                return "found a line of 0 bytes"
            if entry.offset > data_size or entry.length > data_size - entry.offset:
                return "found a line beyond the end of the data"
            self.append(at[0], &entry)
            at[0] += FIXED + entry.size
        return NULL

    def duplicates(self):
        """Return the numbers of the first two entries of the same id that were decoded; None: all ids differ."""
        self.build()
        return (self.twin_of, self.twin) if self.twin >= 0 else None

    cdef Py_ssize_t size(self):
        """Return the bytes of the living entries."""
        cdef Py_ssize_t i, size = 0
        for i in range(self.n):
            if not self.is_dead(i):
                size += FIXED + self.at(i).size
        return size

    def relocate(self):
        """Sort, and let the lines follow one another from 0 on, as they do in a file that was written anew."""
        cdef uint8_t* entries = <uint8_t*> PyMem_RawMalloc(max(self.size(), 1))
        cdef uint8_t* p = entries
        cdef Py_ssize_t i
        cdef Entry entry
        if entries == NULL:
            raise MemoryError
        try:
            self.sort()
        except MemoryError:
            PyMem_RawFree(entries)
            raise
        self.covered = 0
        for i in range(self.n):
            entry = self.at(i)
            entry.offset = self.covered
            self.covered += entry.length
            self.places[i] = p - entries
            p = store_entry(p, &entry)
        self.end = self.last_end = self.covered
        self.in_order = True
        PyMem_RawFree(self.own)
        self.own, self.own_size, self.own_room = entries, p - entries, p - entries
        self.view, self.base, self.base_size = None, NULL, 0

    def encode(self):
        """Sort, and return the index file, with its lines in file order."""
        cdef bytes data
        cdef uint8_t* p
        cdef Py_ssize_t i
        cdef Entry entry
        self.sort()
        data = PyBytes_FromStringAndSize(NULL, HEADER + self.size())
        p = <uint8_t*> PyBytes_AS_STRING(data)
        memcpy(p, PyBytes_AS_STRING(MAGIC), 4)
        memcpy(p + 4, b"\x01\0\0\0", 4)
        store_u64(p + 8, <uint64_t> self.n, not LITTLE_HOST)
        p += HEADER
        for i in range(self.n):
            entry = self.at(i)
            p = store_entry(p, &entry)
        return data
