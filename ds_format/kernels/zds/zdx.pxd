"""Declarations of the index of ZDS for other kernels."""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .entries cimport Entry


cdef uint32_t tag_of(const uint8_t* id, Py_ssize_t size) noexcept nogil


cdef struct Line:
    uint64_t offset
    Py_ssize_t number


@cython.final
cdef class Table:
    cdef const uint8_t[::1] view   # owner of the bytes at `base`
    cdef const uint8_t* base       # decoded entries, never changed; positions are counted from here
    cdef uint8_t* own              # entries added later; their positions follow those of `base`
    cdef uint64_t base_size, own_size, own_capacity, covered, last_end, n_slots, n_used, capacity
    cdef uint64_t* positions
    cdef uint64_t* slots
    cdef Py_ssize_t twin_of, twin
    cdef readonly Py_ssize_t n, n_dead
    cdef readonly uint64_t end
    cdef readonly bint in_order

    cdef Entry at(self, Py_ssize_t i) noexcept nogil
    cdef bint is_dead(self, Py_ssize_t i) noexcept nogil
    cdef int reserve(self, uint64_t n, uint64_t size) except -1
    cdef void append(self, uint64_t position, const Entry* entry) noexcept nogil
    cdef void forget(self) noexcept nogil
    cdef uint64_t* slot_of(self, const uint8_t* id, Py_ssize_t size, uint32_t tag) noexcept nogil
    cdef void kill(self, Py_ssize_t i) noexcept nogil
    cdef int make_slots(self, uint64_t n_slots) except -1
    cdef int build(self) except -1
    cdef Py_ssize_t number_of(self, const uint8_t* id, Py_ssize_t size) except -2
    cdef int expect(self, Py_ssize_t n) except -1
    cdef void fetch(self, uint32_t tag) noexcept nogil
    cdef Py_ssize_t add_entry(self, const Entry* entry, uint32_t tag) except -2
    cdef int check(self, Py_ssize_t i) except -1
    cdef Line* lines(self) except NULL
    cdef const char* survey(self, uint64_t count, uint64_t data_size, Py_ssize_t* at) noexcept nogil
    cdef Py_ssize_t size(self)
