"""UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF."""

from libc.stdint cimport uint8_t

from .words cimport load_u64


cdef inline Py_ssize_t utf8_size(const uint8_t* text, Py_ssize_t size) noexcept nogil:
    """Return the number of bytes up to the first sequence that is not UTF-8, or `size` if there is none."""
    cdef Py_ssize_t i = 0, more, start
    cdef uint8_t lead, low, high
    while i < size:
        if i + 8 <= size and not load_u64(text + i, False) & 0x8080808080808080u:
            i += 8
            continue
        start = i
        lead = text[i]
        i += 1
        if lead < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= lead <= 0xDF:
            more = 1
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            if lead == 0xE0:
                low = 0xA0
            elif lead == 0xED:
                high = 0x9F
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            if lead == 0xF0:
                low = 0x90
            elif lead == 0xF4:
                high = 0x8F
        else:
            return start
        if more > size - i or not low <= text[i] <= high:
            return start
        if more > 1 and text[i + 1] & 0xC0 != 0x80:
            return start
        if more > 2 and text[i + 2] & 0xC0 != 0x80:
            return start
        i += more
    return size
