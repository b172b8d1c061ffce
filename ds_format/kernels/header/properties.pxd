"""Names of the properties that say how a variable is stored: see `codec.header`."""

from libc.stdint cimport uint8_t
from libc.string cimport memcmp

from ..json.strings cimport Text

cdef enum:  # one bit each
    SIZE = 1
    OFFSET = 2
    LEN = 4
    TYPE = 8
    MISSING = 16
    ENDIAN = 32
    DIMS = 64
    DSIZE = 128


cdef inline int _take(Text* t, const char* name, Py_ssize_t size, int which) noexcept:
    if size > t.end - t.p or memcmp(t.p, name, size):
        return 0
    t.p += size
    return which


cdef inline int take_property(Text* t) noexcept:
    """Step over the name of a property that says how a variable is stored, and return which; 0: another name."""
    cdef uint8_t c
    if t.end - t.p < 8 or t.p[0] != b'"' or t.p[1] != b".":
        return 0
    c = t.p[2]
    if c == b"s":
        return _take(t, b'".size"', 7, SIZE)
    if c == b"o":
        return _take(t, b'".offset"', 9, OFFSET)
    if c == b"l":
        return _take(t, b'".len"', 6, LEN)
    if c == b"t":
        return _take(t, b'".type"', 7, TYPE)
    if c == b"m":
        return _take(t, b'".missing"', 10, MISSING)
    if c == b"e":
        return _take(t, b'".endian"', 9, ENDIAN)
    if c == b"d":
        return _take(t, b'".dims"', 7, DIMS) or _take(t, b'".dsize"', 8, DSIZE)
    return 0
