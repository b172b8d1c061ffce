"""The items of a header, one after another, and a check of the extents of variables.

See `classic.format` and `classic.header`. Functions raise EOFError for wrong and unusual headers.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..common.words cimport big_endian

cdef extern from *:
    """
    #define DS_MAX_SIZE ((uint64_t) 1 << 61)
    """
    const uint64_t MAX_SIZE "DS_MAX_SIZE"  # bytes; sums of such sizes do not overflow, and no file is as large

cdef enum:
    MAX_NAME = 255  # bytes
    MAX_RANK = 64  # dimensions of an array
    N_TYPES = 12


cdef struct Items:
    const uint8_t* start  # of the file
    const uint8_t* p
    const uint8_t* end  # of the bytes in memory
    uint64_t file_size
    uint64_t needed  # bytes from the start that are necessary, if more than those in memory; else 0
    int width  # bytes of counts and sizes


cdef inline const uint8_t* take(Items* c, uint64_t size) except NULL:
    """Return a pointer to the next `size` bytes, and advance."""
    cdef const uint8_t* start = c.p
    cdef uint64_t end
    if size > <uint64_t> (c.end - c.p):
        end = <uint64_t> (c.p - c.start) + size
        if size <= end <= c.file_size:
            c.needed = end
        raise EOFError
    c.p += size
    return start


cdef inline uint64_t number(Items* c, int width) except? 0xFFFFFFFFFFFFFFFF:
    """Read a number."""
    return big_endian(take(c, width), width)


cdef inline uint64_t count(Items* c, uint64_t item_size) except? 0xFFFFFFFFFFFFFFFF:
    """Read a count of items of at least `item_size` bytes each."""
    cdef uint64_t n = number(c, c.width)
    if n > (c.file_size - <uint64_t> (c.p - c.start)) // item_size:
        raise EOFError
    return n


cdef inline size_t capacity(const Items* c, uint64_t n, uint64_t item_size) noexcept:
    """Return how many of `n` items can be in the bytes in memory, plus one, so that it is never 0.

    Memory is allocated for this number of items. Reading stops at the end of the bytes, before another item.
    """
    return <size_t> min(n, <uint64_t> (c.end - c.p) // item_size) + 1


cdef inline uint64_t listed(Items* c, uint32_t tag, uint64_t item_size) except? 0xFFFFFFFFFFFFFFFF:
    """Read tag and count of a list."""
    cdef uint64_t actual = number(c, 4), n = count(c, item_size)
    if actual != tag and (actual or n):
        raise EOFError
    return n


cdef inline const uint8_t* padded(Items* c, uint64_t size) except NULL:
    """Return a pointer to the next `size` bytes, and advance to the next multiple of 4."""
    return take(c, (size + 3) & ~<uint64_t> 3)


cdef inline str name(Items* c):
    """Read a name, which must be ASCII."""
    cdef uint64_t n = count(c, 1), i
    cdef const uint8_t* text
    cdef uint8_t seen = 0
    cdef bint is_wrong = n == 0 or n > MAX_NAME
    if is_wrong:
        raise EOFError
    text = padded(c, n)
    for i in range(n):
        seen |= text[i]
        is_wrong |= text[i] == 0 or text[i] == c"/"
    if is_wrong or seen & 0x80:
        raise EOFError
    return PyUnicode_DecodeUTF8(<const char*> text, <Py_ssize_t> n, NULL)


cdef inline uint32_t type_number(Items* c) except 0:
    """Read the number of a type."""
    cdef uint64_t type_ = number(c, 4)
    if not 0 < type_ < N_TYPES:
        raise EOFError
    return <uint32_t> type_


cdef struct Extent:
    uint64_t begin
    uint64_t size  # bytes of a variable, or of one record of a record variable
    bint is_record


cdef inline uint64_t check_extents(
    const Extent* extents, uint64_t n, uint64_t n_records, uint64_t header_end
) except? 0:
    """Return the bytes of a record, after a check that variables are in file order and do not overlap."""
    cdef uint64_t i, step = 0, n_variables = 0, end = header_end, first = 0, last = 0
    cdef const Extent* extent
    for i in range(n):
        extent = &extents[i]
        if extent.is_record:
            n_variables += 1
            step += (extent.size + 3) & ~<uint64_t> 3
            last = extent.size
        else:
            if extent.begin < end:
                raise EOFError
            end = extent.begin + extent.size
        if step > MAX_SIZE or end > MAX_SIZE:
            raise EOFError
    if n_variables == 1:
        step = last
    if n_records == 0:
        return step
    for i in range(n):
        extent = &extents[i]
        if extent.is_record:
            if extent.begin < end:
                raise EOFError
            if first == 0:
                first = extent.begin
            end = extent.begin + extent.size
            if end > first + step:
                raise EOFError
    return step
