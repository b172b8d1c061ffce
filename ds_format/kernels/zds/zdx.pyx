"""The index of ZDS: ids with the positions of their lines, in memory as in the file, and a hash table for look-ups."""

import os

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

from ..common.utf8 cimport utf8_size
from ..common.words cimport LITTLE_HOST, load_u64, store_u64
from .entries cimport FIXED, MAX_ID_SIZE, Entry, id_size, load_entry, store_entry
from .hash_id cimport hash_id, prefetch

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    HEADER = 16         # bytes before the entries
    EMPTY = 0xFFFFFFFF  # low half of an empty slot; others have the number of an entry there, below the tag of its id
    DEAD_BIT = 63       # bit of a position that is set for dead entries

cdef bytes MAGIC = b"ISDZ"

cdef uint64_t[4] KEYS
memcpy(KEYS, PyBytes_AS_STRING(os.urandom(32)), 32)


cdef void* _grown(void* old, uint64_t size) except NULL:
    cdef void* new = PyMem_RawRealloc(old, size) if size <= <uint64_t> 1 << 62 else NULL
    if new == NULL:
        raise MemoryError
    return new


cdef Entry _given(object id, uint64_t offset, uint64_t length) except *:
    """Return an entry that points into `id`, which is str or bytes."""
    cdef Entry entry
    if isinstance(id, bytes):
        entry.id, entry.size = <const uint8_t*> PyBytes_AS_STRING(id), len(<bytes> id)
        if utf8_size(entry.id, entry.size) < entry.size:
            raise ValueError(f"the id {id!r} is not UTF-8")
    else:
        entry.id = <const uint8_t*> PyUnicode_AsUTF8AndSize(id, &entry.size)
    if not 0 < entry.size <= MAX_ID_SIZE:
        raise ValueError(f"found an id of {entry.size} bytes, expected 1 to {MAX_ID_SIZE}")
    if not 0 < length <= <uint32_t> -1 or offset > <uint64_t> -1 - length:
        raise ValueError(f"found a line of {length} bytes at byte {offset}, expected 1 to {<uint32_t> -1} bytes")
    entry.offset, entry.length = offset, <uint32_t> length
    return entry


cdef uint32_t tag_of(const uint8_t* id, Py_ssize_t size) noexcept nogil:
    """Return 32 bits of the hash of an id."""
    return <uint32_t> (hash_id(id, size, KEYS) >> 32)


cdef int _compare(const void* a, const void* b) noexcept nogil:
    cdef const Line* x = <const Line*> a
    cdef const Line* y = <const Line*> b
    if x.offset != y.offset:
        return 1 if x.offset > y.offset else -1
    return 1 if x.number > y.number else -1


@cython.final
cdef class Table:
    """The ids of a collection, each with the position of its line: offset and length in bytes.

    Entries are numbered in the order in which they were added. If an id is added again, it gets a new entry, and the
    old one is dead. Discarding an id makes its entry dead, too. The first look-up builds a hash table. Together with
    the positions of entries, it takes 20 bytes for each entry.

    Attributes
    ----------
    n : int
        Number of entries, dead ones included. `len()` counts only living ones.
    n_dead : int
        Number of dead entries.
    end : int
        End of the last line in bytes, lines of dead entries included.
    in_order : bool
        Whether each line, dead or living, begins at or after the end of the one before.
    contiguous : bool
        Whether the lines of living entries, in their order, fill all bytes from 0 to `end`.
    """

    def __cinit__(self):
        self.in_order = True
        self.twin = -1

    def __dealloc__(self):
        PyMem_RawFree(self.own)
        PyMem_RawFree(self.positions)
        PyMem_RawFree(self.slots)

    def __len__(self):
        return self.n - self.n_dead

    @property
    def contiguous(self):
        """Whether the lines of living entries, in their order, fill all bytes from 0 to `end`."""
        return self.in_order and self.covered == self.end

    @classmethod
    def decode(cls, const uint8_t[::1] data not None, uint64_t data_size):
        """Return the table of an index file, whose bytes are not copied.

        Parameters
        ----------
        data : (size,) uint8
            The file. The table holds it, and it must not change.
        data_size : int
            Bytes of the file that has the documents.

        Raises
        ------
        ValueError
            If the file is not an index of version 1, or an entry is invalid. The message has its number and position.
        """
        cdef Table table = Table()
        cdef uint64_t count, size
        cdef Py_ssize_t at = HEADER
        cdef const char* fault
        if data.shape[0] < HEADER:
            raise ValueError(f"found {data.shape[0]} bytes, expected a header of {HEADER}")
        magic, version = bytes(data[:4]), int.from_bytes(data[4:8], "little")
        if magic not in (MAGIC, MAGIC[::-1]):
            raise ValueError(f"found the magic bytes {magic!r}, expected {MAGIC!r} or {MAGIC[::-1]!r}")
        if version != 1:
            raise ValueError(f"found version {version}, expected 1")
        count, size = load_u64(&data[8], not LITTLE_HOST), data.shape[0] - HEADER
        if count > size // (FIXED + 1) or count > <uint64_t> 0xFFFFFFFE:
            raise ValueError(f"found a count of {count}, expected at most {size // (FIXED + 1)} for {size} bytes")
        table.view, table.base, table.base_size = data, &data[0], data.shape[0]
        table.reserve(count, 0)
        with nogil:
            fault = table.survey(count, data_size, &at)
        if fault != NULL:
            raise ValueError(f"entry {table.n} of {count} at byte {at}: {fault.decode()}")
        if at != data.shape[0]:
            raise ValueError(f"found {data.shape[0] - at} bytes at byte {at}, expected the end after {count} entries")
        return table

    cdef const char* survey(self, uint64_t count, uint64_t data_size, Py_ssize_t* at) noexcept nogil:
        """Store the positions of all entries; return the fault of the first invalid one, or NULL."""
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

    cdef Entry at(self, Py_ssize_t i) noexcept nogil:
        cdef uint64_t position = self.positions[i] & ~(<uint64_t> 1 << DEAD_BIT)
        return load_entry(self.base + position if position < self.base_size else self.own + (position - self.base_size))

    cdef bint is_dead(self, Py_ssize_t i) noexcept nogil:
        return self.positions[i] >> DEAD_BIT

    cdef int reserve(self, uint64_t n, uint64_t size) except -1:
        """Allocate memory for `n` more entries of `size` bytes in total."""
        cdef uint64_t capacity = <uint64_t> self.n + n
        if capacity > self.capacity:
            capacity = max(capacity, self.capacity + self.capacity // 2)
            self.positions = <uint64_t*> _grown(self.positions, capacity * 8)
            self.capacity = capacity
        capacity = self.own_size + size
        if capacity > self.own_capacity:
            capacity = max(capacity, self.own_capacity + self.own_capacity // 2)
            self.own = <uint8_t*> _grown(self.own, capacity)
            self.own_capacity = capacity
        return 0

    cdef void append(self, uint64_t position, const Entry* entry) noexcept nogil:
        """Give the next number to an entry. Its memory must be reserved."""
        self.positions[self.n] = position
        self.n += 1
        self.in_order &= entry.offset >= self.last_end
        self.last_end = entry.offset + entry.length
        self.end = max(self.end, self.last_end)
        self.covered += entry.length

    cdef void kill(self, Py_ssize_t i) noexcept nogil:
        self.covered -= self.at(i).length
        self.positions[i] |= <uint64_t> 1 << DEAD_BIT
        self.n_dead += 1

    cdef void forget(self) noexcept nogil:
        """Drop the hash table, because the numbers change."""
        PyMem_RawFree(self.slots)
        self.slots = NULL
        self.n_slots = self.n_used = 0

    cdef uint64_t* slot_of(self, const uint8_t* id, Py_ssize_t size, uint32_t tag) noexcept nogil:
        """Return the slot of an id, or the empty slot for it."""
        cdef uint64_t slot = (tag * self.n_slots) >> 32
        cdef Entry entry
        while <uint32_t> self.slots[slot] != <uint32_t> EMPTY:
            if self.slots[slot] >> 32 == tag:
                entry = self.at(<uint32_t> self.slots[slot])
                if entry.size == size and memcmp(entry.id, id, size) == 0:
                    break
            slot += 1
            if slot == self.n_slots:
                slot = 0
        return &self.slots[slot]

    cdef int make_slots(self, uint64_t n_slots) except -1:
        """Make a larger hash table. The tags in the old one determine the new slots."""
        cdef uint64_t* old = self.slots
        cdef uint64_t i, slot
        cdef uint64_t* slots = <uint64_t*> _grown(NULL, n_slots * 8)
        memset(slots, 0xFF, n_slots * 8)
        for i in range(self.n_slots):
            if <uint32_t> old[i] != <uint32_t> EMPTY:
                slot = ((old[i] >> 32) * n_slots) >> 32
                while <uint32_t> slots[slot] != <uint32_t> EMPTY:
                    slot = slot + 1 if slot + 1 < n_slots else 0
                slots[slot] = old[i]
        self.slots, self.n_slots = slots, n_slots
        PyMem_RawFree(old)
        return 0

    cdef int build(self) except -1:
        """Build the hash table, if there is none yet. Among equal ids, only the last one lives."""
        cdef Py_ssize_t i
        cdef uint32_t tag
        cdef uint64_t* slot
        cdef Entry entry
        if self.slots != NULL:
            return 0
        self.make_slots(<uint64_t> self.n + self.n // 2 + 16)
        for i in range(self.n):
            entry = self.at(i)
            tag = tag_of(entry.id, entry.size)
            slot = self.slot_of(entry.id, entry.size, tag)
            if <uint32_t> slot[0] == <uint32_t> EMPTY:
                self.n_used += 1
            else:
                if self.twin < 0:
                    self.twin_of, self.twin = <uint32_t> slot[0], i
                self.kill(<uint32_t> slot[0])
            slot[0] = <uint64_t> tag << 32 | <uint64_t> i
        return 0

    cdef Py_ssize_t number_of(self, const uint8_t* id, Py_ssize_t size) except -2:
        """Return the number of a living entry, or -1."""
        cdef uint64_t slot
        self.build()
        slot = self.slot_of(id, size, tag_of(id, size))[0]
        if <uint32_t> slot == <uint32_t> EMPTY or self.is_dead(<uint32_t> slot):
            return -1
        return <uint32_t> slot

    cdef int expect(self, Py_ssize_t n) except -1:
        """Enlarge the hash table for `n` more entries, if necessary."""
        self.build()
        if 3 * (self.n_used + n) > 2 * self.n_slots:
            self.make_slots(max(2 * self.n_slots, 3 * (self.n_used + n) // 2 + 1))
        if self.n + n >= <Py_ssize_t> EMPTY:
            raise OverflowError(f"{self.n + n} entries are too many")
        return 0

    cdef void fetch(self, uint32_t tag) noexcept nogil:
        """Prefetch the slot of an id into the cache."""
        prefetch(&self.slots[(tag * self.n_slots) >> 32])

    cdef Py_ssize_t add_entry(self, const Entry* entry, uint32_t tag) except -2:
        """Add a copy of an entry; return the number of the living entry that it replaces, or -1."""
        cdef uint64_t* slot
        cdef Py_ssize_t older = -1
        if self.slots == NULL or 3 * (self.n_used + 1) > 2 * self.n_slots:
            self.expect(1)
        self.reserve(1, FIXED + entry.size)
        slot = self.slot_of(entry.id, entry.size, tag)
        if <uint32_t> slot[0] == <uint32_t> EMPTY:
            self.n_used += 1
        elif not self.is_dead(<uint32_t> slot[0]):
            older = <uint32_t> slot[0]
            self.kill(older)
        slot[0] = <uint64_t> tag << 32 | <uint64_t> self.n
        store_entry(self.own + self.own_size, entry)
        self.append(self.base_size + self.own_size, entry)
        self.own_size += FIXED + entry.size
        return older

    def find(self, str id not None):
        """Return the number of the living entry of an id, or -1."""
        cdef Py_ssize_t size = 0
        cdef const char* text
        try:
            text = PyUnicode_AsUTF8AndSize(id, &size)
        except UnicodeEncodeError:
            return -1
        return self.number_of(<const uint8_t*> text, size)

    def add(self, object id not None, uint64_t offset, uint64_t length):
        """Add the line of an id, str or bytes, and return whether it replaces another one.

        Raises
        ------
        ValueError
            If the id is empty, not UTF-8 or longer than 65535 bytes, or the line is empty or 4 GiB long.
        """
        cdef Entry entry = _given(id, offset, length)
        return self.add_entry(&entry, tag_of(entry.id, entry.size)) >= 0

    def discard(self, str id not None):
        """Make the entry of an id dead; return whether there was a living one."""
        cdef Py_ssize_t i = self.find(id)
        if i < 0:
            return False
        self.kill(i)
        return True

    cdef int check(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"no entry {i} among {self.n}")
        return 0

    def has(self, str id not None):
        """Return whether an id has a living entry."""
        return self.find(id) >= 0

    def span(self, str id not None):
        """Return the offset and the length of the line of an id, in bytes; None if it does not have a living entry."""
        cdef Py_ssize_t i = self.find(id)
        return self.entry(i) if i >= 0 else None

    def id(self, Py_ssize_t i):
        """Return the id of an entry, dead or not."""
        self.check(i)
        cdef Entry entry = self.at(i)
        return PyUnicode_DecodeUTF8(<const char*> entry.id, entry.size, NULL)

    def entry(self, Py_ssize_t i):
        """Return the offset and the length of the line of an entry, in bytes; None if it is dead."""
        self.check(i)
        if self.is_dead(i):
            return None
        cdef Entry entry = self.at(i)
        return entry.offset, entry.length

    def ids(self, Py_ssize_t start, Py_ssize_t stop):
        """Return the ids of living entries with the numbers from `start` to `stop` - 1. Missing numbers are ignored."""
        cdef Py_ssize_t i
        cdef Entry entry
        cdef list ids = []
        for i in range(max(start, 0), min(stop, self.n)):
            if not self.is_dead(i):
                entry = self.at(i)
                ids.append(PyUnicode_DecodeUTF8(<const char*> entry.id, entry.size, NULL))
        return ids

    cdef Line* lines(self) except NULL:
        """Return the living entries in the order of their offsets. The caller frees the memory."""
        cdef Line* lines = <Line*> PyMem_RawMalloc((self.n + 1) * sizeof(Line))
        cdef Py_ssize_t i, n = 0
        if lines == NULL:
            raise MemoryError
        for i in range(self.n):
            if not self.is_dead(i):
                lines[n] = Line(self.at(i).offset, i)
                n += 1
        if not self.in_order:
            qsort(lines, n, sizeof(Line), _compare)
        return lines

    def overlap(self):
        """Return the numbers of two living entries whose lines overlap, or None."""
        cdef Py_ssize_t i
        cdef Line* lines
        if self.in_order:
            return None
        lines = self.lines()
        try:
            for i in range(1, len(self)):
                if lines[i].offset - lines[i - 1].offset < self.at(lines[i - 1].number).length:
                    return lines[i - 1].number, lines[i].number
        finally:
            PyMem_RawFree(lines)
        return None

    def in_file_order(self):
        """Return the living entries in the order of their offsets.

        Returns
        -------
        tuple of bytearray
            Offsets in bytes as uint64, lengths in bytes as uint32, and numbers as uint64, in native byte order.
        """
        cdef Py_ssize_t i, n = len(self)
        cdef bytearray offsets = PyByteArray_FromStringAndSize(NULL, 8 * n)
        cdef bytearray lengths = PyByteArray_FromStringAndSize(NULL, 4 * n)
        cdef bytearray numbers = PyByteArray_FromStringAndSize(NULL, 8 * n)
        cdef Line* lines = self.lines()
        cdef uint32_t length
        for i in range(n):
            length = self.at(lines[i].number).length
            memcpy(PyByteArray_AS_STRING(offsets) + 8 * i, &lines[i].offset, 8)
            memcpy(PyByteArray_AS_STRING(lengths) + 4 * i, &length, 4)
            memcpy(PyByteArray_AS_STRING(numbers) + 8 * i, &lines[i].number, 8)
        PyMem_RawFree(lines)
        return offsets, lengths, numbers

    def sort(self):
        """Number the living entries in the order of their offsets, and drop dead ones."""
        cdef Line* lines
        cdef Py_ssize_t i, n = len(self)
        cdef Entry entry
        if self.in_order and not self.n_dead:
            return
        lines = self.lines()
        for i in range(n):
            lines[i].offset = self.positions[lines[i].number]
        self.forget()
        self.n = self.n_dead = 0
        self.covered = self.last_end = 0
        self.in_order = True
        for i in range(n):
            self.positions[i] = lines[i].offset
            entry = self.at(i)
            self.append(lines[i].offset, &entry)
        PyMem_RawFree(lines)

    def duplicates(self):
        """Return the numbers of the first two decoded entries with the same id; None if all ids differ."""
        self.build()
        return (self.twin_of, self.twin) if self.twin >= 0 else None

    cdef Py_ssize_t size(self):
        """Return the number of bytes of the living entries."""
        cdef Py_ssize_t i, size = 0
        for i in range(self.n):
            if not self.is_dead(i):
                size += FIXED + self.at(i).size
        return size

    def relocate(self):
        """Sort, and set offsets so that lines are contiguous from 0 on, for a file that is written again."""
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
            self.positions[i] = p - entries
            p = store_entry(p, &entry)
        self.end = self.last_end = self.covered
        self.in_order = True
        PyMem_RawFree(self.own)
        self.own, self.own_size, self.own_capacity = entries, p - entries, p - entries
        self.view, self.base, self.base_size = None, NULL, 0

    def encode(self):
        """Sort, and return the bytes of the index file, with entries in file order."""
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
