"""Names of the properties that say how a variable is stored: see `codec.header`."""

from libc.stdint cimport uint8_t

from ..json.decode cimport Text, follows

cdef enum:  # one bit each
    SIZE = 1
    OFFSET = 2
    LEN = 4
    TYPE = 8
    MISSING = 16
    ENDIAN = 32
    DIMS = 64
    DSIZE = 128


cdef inline int take_property(Text* t) noexcept:
    """Step over the name of a property that says how a variable is stored, and return which; 0: another name."""
    cdef uint8_t c
    if t.end - t.p < 8 or t.p[0] != b'"' or t.p[1] != b".":
        return 0
    c = t.p[2]
    if c == b"s":
        return SIZE if follows(t, b'".size"', 7) else 0
    if c == b"o":
        return OFFSET if follows(t, b'".offset"', 9) else 0
    if c == b"l":
        return LEN if follows(t, b'".len"', 6) else 0
    if c == b"t":
        return TYPE if follows(t, b'".type"', 7) else 0
    if c == b"m":
        return MISSING if follows(t, b'".missing"', 10) else 0
    if c == b"e":
        return ENDIAN if follows(t, b'".endian"', 9) else 0
    if c == b"d":
        return DIMS if follows(t, b'".dims"', 7) else DSIZE if follows(t, b'".dsize"', 8) else 0
    return 0
