"""Ids, each with the place of a line, as entries of a ZDX index; found by a hash."""

import os

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from .entries cimport FIXED, LONGEST_ID, Entry, load_entry, store_entry
from .hash_id cimport hash_id, prefetch
from ..common.utf8 cimport utf8_size

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    EMPTY = 0xFFFFFFFF  # in the low half of a slot; in others it is the number of the entry, below the tag of its id
    DEAD_BIT = 63       # of a place

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
    if not 0 < entry.size <= LONGEST_ID:
        raise ValueError(f"found an id of {entry.size} bytes, expected 1 to {LONGEST_ID}")
    if not 0 < length <= <uint32_t> -1 or offset > <uint64_t> -1 - length:
        raise ValueError(f"found a line of {length} bytes at byte {offset}, expected 1 to {<uint32_t> -1} bytes")
    entry.offset, entry.length = offset, <uint32_t> length
    return entry


cdef uint32_t tag_of(const uint8_t* id, Py_ssize_t size) noexcept nogil:
    """Return 32 bits of the hash of an id."""
    return <uint32_t> (hash_id(id, size, KEYS) >> 32)


cdef class Ids:
    """Entries with numbers, and the hash table that finds them; `Table` says more."""

    def __cinit__(self):
        self.in_order = True
        self.twin = -1

    def __dealloc__(self):
        PyMem_RawFree(self.own)
        PyMem_RawFree(self.places)
        PyMem_RawFree(self.slots)

    def __len__(self):
        return self.n - self.n_dead

    @property
    def contiguous(self):
        """Whether the lines of living entries, one after another, fill all bytes from 0 to `end`."""
        return self.in_order and self.covered == self.end

    cdef Entry at(self, Py_ssize_t i) noexcept nogil:
        cdef uint64_t place = self.places[i] & ~(<uint64_t> 1 << DEAD_BIT)
        return load_entry(self.base + place if place < self.base_size else self.own + (place - self.base_size))

    cdef bint is_dead(self, Py_ssize_t i) noexcept nogil:
        return self.places[i] >> DEAD_BIT

    cdef int make_room(self, uint64_t n, uint64_t size) except -1:
        """Make room for `n` more entries of `size` bytes in all."""
        cdef uint64_t wanted = <uint64_t> self.n + n
        if wanted > self.room:
            wanted = max(wanted, self.room + self.room // 2)
            self.places = <uint64_t*> _grown(self.places, wanted * 8)
            self.room = wanted
        wanted = self.own_size + size
        if wanted > self.own_room:
            wanted = max(wanted, self.own_room + self.own_room // 2)
            self.own = <uint8_t*> _grown(self.own, wanted)
            self.own_room = wanted
        return 0

    cdef void append(self, uint64_t place, const Entry* entry) noexcept nogil:
        """Give the next number to an entry, for which there is room."""
        self.places[self.n] = place
        self.n += 1
        self.in_order &= entry.offset >= self.last_end
        self.last_end = entry.offset + entry.length
        self.end = max(self.end, self.last_end)
        self.covered += entry.length

    cdef void kill(self, Py_ssize_t i) noexcept nogil:
        self.covered -= self.at(i).length
        self.places[i] |= <uint64_t> 1 << DEAD_BIT
        self.n_dead += 1

    cdef void forget(self) noexcept nogil:
        """Drop the hash table, because the numbers change."""
        PyMem_RawFree(self.slots)
        self.slots = NULL
        self.n_slots = self.n_used = 0

    cdef uint64_t* slot_of(self, const uint8_t* id, Py_ssize_t size, uint32_t tag) noexcept nogil:
        """Return the slot of an id, or the empty one where it would be."""
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
        """Make a hash table, with what the one before had: its tags say where all belongs."""
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
        """Make the hash table, unless there is one; of equal ids the last one lives."""
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
        """Make room in the hash table for `n` more entries."""
        self.build()
        if 3 * (self.n_used + n) > 2 * self.n_slots:
            self.make_slots(max(2 * self.n_slots, 3 * (self.n_used + n) // 2 + 1))
        if self.n + n >= <Py_ssize_t> EMPTY:
            raise OverflowError(f"{self.n + n} entries are too many")
        return 0

    cdef void fetch(self, uint32_t tag) noexcept nogil:
        """Get the slot of an id into the cache of the processor."""
        prefetch(&self.slots[(tag * self.n_slots) >> 32])

    cdef Py_ssize_t add_entry(self, const Entry* entry, uint32_t tag) except -2:
        """Add a copy of an entry; return the number of the living one that it takes the place of, or -1."""
        cdef uint64_t* slot
        cdef Py_ssize_t older = -1
        if self.slots == NULL or 3 * (self.n_used + 1) > 2 * self.n_slots:
            self.expect(1)
        self.make_room(1, FIXED + entry.size)
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
        """Return the number of the living entry of an id; -1 if there is none."""
        cdef Py_ssize_t size = 0
        cdef const char* text
        try:
            text = PyUnicode_AsUTF8AndSize(id, &size)
        except UnicodeEncodeError:
            return -1
        return self.number_of(<const uint8_t*> text, size)

    def add(self, object id not None, uint64_t offset, uint64_t length):
        """Add the line of an id, str or bytes, and return whether it takes the place of another one.

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
