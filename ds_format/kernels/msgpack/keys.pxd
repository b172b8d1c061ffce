"""Strings of msgpack, for the other kernels."""

cimport cython
from libc.stdint cimport int64_t, uint8_t


@cython.final
cdef class Keys:
    """n strings of msgpack."""

    cdef const uint8_t[::1] view
    cdef const uint8_t* data
    cdef int64_t[::1] places
    cdef readonly Py_ssize_t n

    cdef Py_ssize_t place(self, Py_ssize_t i) noexcept nogil
    cdef int check(self, Py_ssize_t i) except -1
    cdef bint has(self, Py_ssize_t i, const char* string, Py_ssize_t size) noexcept nogil
