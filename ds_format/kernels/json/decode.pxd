"""JSON text → Python values: what other kernels need of it."""

from libc.stdint cimport int64_t, uint8_t

from .strings cimport Names, Text


cdef inline uint8_t next_byte(Text* t) noexcept nogil:
    """Step over white space, and return the byte behind it; 0 at the end."""
    while t.p < t.end and (t.p[0] == 32 or t.p[0] == 9 or t.p[0] == 13 or t.p[0] == 10):
        t.p += 1
    return t.p[0] if t.p < t.end else 0


cdef int expect(Text* t, uint8_t byte) except -1
cdef int64_t take_count(Text* t) except -1
cdef str take_key(Text* t, Names names)
cdef object take_value(Text* t, Names names)
