"""Declarations of `walk` for other kernels: the headers of strings, and access to many strings."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..common.words cimport big_endian

cdef enum:
    TRUNCATED = -1   # the length in a header is larger than the remaining bytes
    NO_STRING = -2   # another type


cdef inline int64_t string_length(const uint8_t* p, Py_ssize_t left, int* header) noexcept nogil:
    """Return the bytes of a string without its header, or a fault from above. Output: `header`, bytes of the header."""
    cdef uint64_t length
    if left < 1:
        return TRUNCATED
    if p[0] & 0xE0 == 0xA0:
        header[0] = 1
        length = p[0] & 0x1F
    elif 0xD9 <= p[0] <= 0xDB:
        header[0] = 1 + (1 << (p[0] - 0xD9))
        if left < header[0]:
            return TRUNCATED
        length = big_endian(p + 1, header[0] - 1)
    else:
        return NO_STRING
    if length > <uint64_t> (left - header[0]):
        return TRUNCATED
    return <int64_t> length


@cython.final
cdef class Keys:
    """n strings of msgpack."""

    cdef const uint8_t[::1] view
    cdef const uint8_t* data
    cdef int64_t[::1] positions
    cdef readonly Py_ssize_t n

    cdef Py_ssize_t position(self, Py_ssize_t i) noexcept nogil
    cdef int check(self, Py_ssize_t i) except -1
    cdef bint has(self, Py_ssize_t i, const char* string, Py_ssize_t size) noexcept nogil
