"""A position in a message, with checks of the end."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp

from .words cimport big_endian


cdef struct Cursor:
    const uint8_t* p
    const uint8_t* end


cdef inline const uint8_t* take(Cursor* c, uint64_t size) except NULL:
    """Return a pointer to the next `size` bytes, and advance. Raise EOFError if the message has fewer."""
    cdef const uint8_t* start = c.p
    if size > <uint64_t> (c.end - c.p):
        raise EOFError
    c.p += size
    return start


cdef inline uint64_t number(Cursor* c, int width) except? 0xFFFFFFFFFFFFFFFF:
    """Read a big-endian unsigned number of `width` bytes. Raise EOFError if the message has fewer."""
    return big_endian(take(c, width), width)


cdef inline bint follows(Cursor* c, const char* text, Py_ssize_t size) noexcept:
    """Return whether the next bytes equal `text`, and step over them if so."""
    if size > c.end - c.p or memcmp(c.p, text, size):
        return False
    c.p += size
    return True
