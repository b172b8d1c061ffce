"""A place in a message, which never goes beyond its end."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp

from .words cimport big_endian


cdef struct Cursor:
    const uint8_t* p
    const uint8_t* end


cdef inline const uint8_t* take(Cursor* c, uint64_t size) except NULL:
    """Step over some bytes, and return where they start; EOFError if there are not as many."""
    cdef const uint8_t* start = c.p
    if size > <uint64_t> (c.end - c.p):
        raise EOFError
    c.p += size
    return start


cdef inline uint64_t number(Cursor* c, int width) except? 0xFFFFFFFFFFFFFFFF:
    """Read an unsigned number of some bytes, big-endian; EOFError as `take`."""
    return big_endian(take(c, width), width)


cdef inline bint follows(Cursor* c, const char* text, Py_ssize_t size) noexcept:
    """Return whether some bytes follow, and step over them if so."""
    if size > c.end - c.p or memcmp(c.p, text, size):
        return False
    c.p += size
    return True
