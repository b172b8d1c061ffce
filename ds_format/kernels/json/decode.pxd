"""Declarations of `decode` for other kernels: JSON text → Python values."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp


cdef struct Text:
    const uint8_t* p    # the next byte
    const uint8_t* end
    int depth           # number of lists and dicts around it


cdef class Names:
    cdef list slots
    cdef str get(self, const uint8_t* p, Py_ssize_t size)


cdef inline uint8_t next_byte(Text* t) noexcept nogil:
    """Step over white space, and return the next byte; 0 at the end."""
    while t.p < t.end and (t.p[0] == 32 or t.p[0] == 9 or t.p[0] == 13 or t.p[0] == 10):
        t.p += 1
    return t.p[0] if t.p < t.end else 0


cdef inline bint follows(Text* t, const void* text, Py_ssize_t size) noexcept nogil:
    """Return whether the next bytes equal `text`, and step over them if so."""
    if size > t.end - t.p or memcmp(t.p, text, size):
        return False
    t.p += size
    return True


cdef Names borrow_names()
cdef give_back(Names names)
cdef int expect(Text* t, uint8_t byte) except -1
cdef int64_t take_count(Text* t) except -1
cdef str take_key(Text* t, Names names)
cdef str take_string(Text* t, Names names)
cdef object take_value(Text* t, Names names)
