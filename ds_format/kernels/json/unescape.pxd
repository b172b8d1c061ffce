"""Decoding of escapes in JSON strings that were checked."""

from libc.stdint cimport uint8_t, uint32_t


cdef inline uint32_t _hex4(const uint8_t* p) noexcept nogil:
    cdef uint32_t value = 0
    cdef int i
    for i in range(4):
        value = value << 4 | ((p[i] & 0xF) + (9 if p[i] > 64 else 0))
    return value


cdef inline int _store_utf8(uint32_t code, uint8_t* out) noexcept nogil:
    cdef int more = (code >= 0x80) + (code >= 0x800) + (code >= 0x10000), i
    if more == 0:
        out[0] = <uint8_t> code
        return 1
    for i in range(more, 0, -1):
        out[i] = <uint8_t> (0x80 | (code & 0x3F))
        code >>= 6
    out[0] = <uint8_t> ((0xFF00 >> (more + 1)) | code)
    return more + 1


cdef inline Py_ssize_t unescape(const uint8_t* p, Py_ssize_t size, uint8_t* out) noexcept nogil:
    """Decode the escapes of a string that was checked, and return the number of bytes in `out`, at most `size`."""
    cdef Py_ssize_t i = 0, n = 0
    cdef uint32_t code
    while i < size:
        if p[i] != b"\\":
            out[n] = p[i]
            n += 1
            i += 1
            continue
        i += 2
        if p[i - 1] == b"u":
            code = _hex4(p + i)
            i += 4
            if code & 0xF800 == 0xD800:
                code = 0x10000 + ((code & 0x3FF) << 10) + (_hex4(p + i + 2) & 0x3FF)
                i += 6
        elif p[i - 1] == b"b":
            code = 8
        elif p[i - 1] == b"f":
            code = 12
        elif p[i - 1] == b"n":
            code = 10
        elif p[i - 1] == b"r":
            code = 13
        elif p[i - 1] == b"t":
            code = 9
        else:
            code = p[i - 1]
        n += _store_utf8(code, out + n)
    return n
