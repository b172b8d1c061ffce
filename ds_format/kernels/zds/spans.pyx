"""Ids with the places of lines, as a list in the order of either the entries or the lines."""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint32_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from .entries cimport Entry
from .ids cimport Ids


cdef int _compare(const void* a, const void* b) noexcept nogil:
    cdef const Line* x = <const Line*> a
    cdef const Line* y = <const Line*> b
    if x.offset != y.offset:
        return 1 if x.offset > y.offset else -1
    return 1 if x.number > y.number else -1


cdef class Spans(Ids):
    """Ids with the places of lines, which can be had by number and in file order."""

    cdef int check(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"no entry {i} among {self.n}")
        return 0

    def has(self, str id not None):
        """Return whether an id has a living entry."""
        return self.find(id) >= 0

    def span(self, str id not None):
        """Return the offset and the length of the line of an id, in bytes; None if it has no living entry."""
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
        """Return the ids of the living entries with the numbers from `start` to `stop` - 1, as far as there are any."""
        cdef Py_ssize_t i
        cdef Entry entry
        cdef list found = []
        for i in range(max(start, 0), min(stop, self.n)):
            if not self.is_dead(i):
                entry = self.at(i)
                found.append(PyUnicode_DecodeUTF8(<const char*> entry.id, entry.size, NULL))
        return found

    cdef Line* lines(self) except NULL:
        """Return the living entries by the offset of their lines; to be freed."""
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
        """Return the numbers of two living entries whose lines overlap; None if there are none."""
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
        """Return the living entries by the offset of their lines.

        Returns
        -------
        tuple of bytearray
            Offsets as uint64 and lengths as uint32, in bytes, and numbers as uint64, in the byte order of this machine.
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
        """Number the living entries by the offset of their lines, and drop the others."""
        cdef Line* lines
        cdef Py_ssize_t i, n = len(self)
        cdef Entry entry
        if self.in_order and not self.n_dead:
            return
        lines = self.lines()
        for i in range(n):
            lines[i].offset = self.places[lines[i].number]
        self.forget()
        self.n = self.n_dead = 0
        self.covered = self.last_end = 0
        self.in_order = True
        for i in range(n):
            self.places[i] = lines[i].offset
            entry = self.at(i)
            self.append(lines[i].offset, &entry)
        PyMem_RawFree(lines)
