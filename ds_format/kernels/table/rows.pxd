"""Bytes of a table → cells. A fault has a position and the number of its column."""

from libc.stdint cimport uint8_t
from libc.string cimport memchr, memset

from .texts cimport Cell

cdef enum End:
    CELL  # more cells follow in the row
    ROW
    OPEN  # the data end first
    WRONG

cdef enum Fault:
    COUNT  # more or fewer cells than columns
    QUOTE  # does not end
    QUOTED  # text is behind the quote that ends a cell
    ZERO  # NUL outside of quotes
    SIZE  # a cell or a comment is too long
    ENCODING  # a byte is not UTF-8
    RANGE  # a number is beyond float64
    TYPE  # a value does not have the type of its column


cdef struct Splitter:
    uint8_t delimiter
    uint8_t[256] stops
    Py_ssize_t limit  # characters of a cell
    const uint8_t* invalid  # the first byte that is not UTF-8, once it is known
    Fault fault
    const uint8_t* at  # where the fault is
    Py_ssize_t column  # which it is in, from 1; 0: a comment


cdef inline void begin_splitting(Splitter* splitter, uint8_t delimiter, Py_ssize_t limit) noexcept nogil:
    memset(splitter, 0, sizeof(Splitter))
    splitter.delimiter, splitter.limit = delimiter, limit
    splitter.stops[delimiter] = splitter.stops[10] = splitter.stops[13] = splitter.stops[0] = 1


cdef inline End fail(Splitter* splitter, Fault fault, const uint8_t* at) noexcept nogil:
    splitter.fault, splitter.at = fault, at
    return WRONG


cdef inline End next_cell(
    Splitter* splitter, const uint8_t** at, const uint8_t* end, bint is_last, Cell* cell
) noexcept nogil:
    """Take the next cell, and what is behind it."""
    cdef const uint8_t* p = at[0]
    cell.is_escaped = False
    if p < end and p[0] == c'"':
        p += 1
        cell.start = p
        while True:
            p = <const uint8_t*> memchr(p, c'"', end - p)
            if p == NULL or (p + 1 == end and not is_last):
                if _is_too_long(splitter, cell.start, end, True):
                    return fail(splitter, SIZE, cell.start)
                return fail(splitter, QUOTE, cell.start - 1) if is_last else OPEN
            if p + 1 == end or p[1] != c'"':
                break
            cell.is_escaped = True
            p += 2
        cell.end = p
        p += 1
        if p < end and not (p[0] and splitter.stops[p[0]]):
            return fail(splitter, QUOTED, p)
    else:
        cell.start = p
        while p < end and not splitter.stops[p[0]]:
            p += 1
        cell.end = p
        if p < end and not p[0]:
            return fail(splitter, ZERO, p)
        if p == end and not is_last:
            return fail(splitter, SIZE, cell.start) if _is_too_long(splitter, cell.start, end, False) else OPEN
    if _is_too_long(splitter, cell.start, cell.end, cell.is_escaped):
        return fail(splitter, SIZE, cell.start)
    if splitter.invalid != NULL and cell.end > splitter.invalid:
        return fail(splitter, ENCODING, splitter.invalid)
    if p < end and p[0] == splitter.delimiter:
        at[0] = p + 1
        return CELL
    return _end_line(at, p, end, is_last)


cdef inline End skip_line(Splitter* splitter, const uint8_t** at, const uint8_t* end, bint is_last) noexcept nogil:
    """Step behind a line that has no cells."""
    cdef const uint8_t* p = at[0]
    while p < end and p[0] != 10 and p[0] != 13:
        p += 1
    if _is_too_long(splitter, at[0], p, False):
        return fail(splitter, SIZE, at[0])
    if splitter.invalid != NULL and p > splitter.invalid:
        return fail(splitter, ENCODING, splitter.invalid)
    if p == end and not is_last:
        return OPEN
    return _end_line(at, p, end, is_last)


cdef inline End _end_line(const uint8_t** at, const uint8_t* p, const uint8_t* end, bint is_last) noexcept nogil:
    """Step behind the end of a line at `p`, or of the data."""
    if p < end and p[0] == 13:
        if p + 1 == end and not is_last:
            return OPEN
        if p + 1 < end and p[1] == 10:
            p += 1
    at[0] = p + 1 if p < end else p
    return ROW


cdef inline bint _is_too_long(
    const Splitter* splitter, const uint8_t* p, const uint8_t* end, bint is_escaped
) noexcept nogil:
    """Return whether a cell has too many characters."""
    cdef Py_ssize_t n = 0
    if end - p <= splitter.limit:
        return False
    while p < end:
        if is_escaped and p[0] == c'"':
            p += 1
        n += p[0] & 0xC0 != 0x80
        p += 1
    return n > splitter.limit
