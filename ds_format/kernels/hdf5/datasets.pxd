"""Messages of a dataset: where its values are, how they are filtered, and the fill value."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .headers cimport EXTERNAL, FILL, LAYOUT, OLD_FILL, SHARED, Header, Message, find_message
from .known cimport UNDEFINED, Known, check, u16, u32, u64, unusual, wide
from .spaces cimport MAX_RANK, MOST, Space

cdef enum:
    COMPACT = 0  # classes of layouts
    CONTIGUOUS = 1
    CHUNKED = 2
    VIRTUAL = 3
    # indexes of chunks
    BTREE1 = 0
    SINGLE = 1
    IMPLICIT = 2
    FIXED = 3
    EXTENSIBLE = 4
    BTREE2 = 5
    FILTERED_SINGLE = 2  # flag
    NEVER = 1  # when fill values are written


cdef struct Layout:
    int kind
    uint64_t address
    uint64_t size
    int rank  # of chunks
    uint64_t[MAX_RANK] chunk
    int index
    uint64_t[5] parameters
    int n_parameters
    uint8_t flags


cdef inline int need(Known* k, const Message* m, uint64_t size) except -1:
    """Check that a message has some bytes."""
    return check(k, size <= m.size, b"layout message", m.address, b"it is too short")


cdef inline int read_layout(Known* k, const Message* m, const Space* space, uint32_t size, Layout* layout) except -1:
    """Read a layout message of a dataset whose values have `size` bytes each."""
    cdef const uint8_t* p = m.data
    cdef uint64_t total
    need(k, m, 2)
    if m.flags & SHARED or not 1 <= p[0] <= 5:
        unusual(k, b"a layout of an unknown version", m.address)
    layout.address, layout.size, layout.rank, layout.n_parameters, layout.flags = UNDEFINED, 0, 0, 0, 0
    if p[0] < 3:
        _read_old(k, m, layout)
    else:
        layout.kind = p[1]
        if layout.kind == COMPACT:
            need(k, m, 4)
            layout.address, layout.size = m.address + 4, u16(p + 2)
            need(k, m, 4 + layout.size)
        elif layout.kind == CONTIGUOUS:
            need(k, m, 18)
            layout.address, layout.size = u64(p + 2), u64(p + 10)
        elif layout.kind == CHUNKED and p[0] == 3:
            need(k, m, 15)
            layout.index, layout.address = BTREE1, u64(p + 3)
            _read_chunk(k, m, 11, p[2], 4, layout)
        elif layout.kind == CHUNKED:
            _read_new_chunks(k, m, layout)
        elif layout.kind != VIRTUAL:
            unusual(k, b"a layout of an unknown class", m.address)
    if layout.kind == CHUNKED:
        check(k, layout.size == size and layout.rank == space.rank and not space.is_null, b"layout message", m.address,
              b"chunks do not fit the type or rank of the dataset")
        return 0
    if layout.kind == VIRTUAL:
        return 0
    check(k, space.n <= MOST // size, b"dataspace", m.address, b"too many values")
    total = space.n * size
    if p[0] < 3 and layout.kind == CONTIGUOUS:
        layout.size = total
    if layout.address == UNDEFINED:
        return 0
    check(k, layout.size >= total, b"layout message", m.address, b"fewer bytes than the values of the dataset")
    layout.size = total
    check(k, layout.address <= k.size and total <= k.size - layout.address, b"layout message", m.address,
          b"values do not end within the file")
    return 0


cdef inline int _read_chunk(Known* k, const Message* m, uint64_t at, int rank, uint32_t width,
                            Layout* layout) except -1:
    """Read the shape of chunks, behind which is the size of a value."""
    cdef uint64_t product = 1
    cdef int i
    check(k, 2 <= rank <= MAX_RANK + 1, b"layout message", m.address, b"chunks of a wrong rank")
    need(k, m, at + <uint64_t> rank * width)
    layout.rank, layout.size = rank - 1, wide(m.data + at + (rank - 1) * width, width)
    for i in range(rank - 1):
        layout.chunk[i] = wide(m.data + at + i * width, width)
        check(k, 0 < layout.chunk[i] <= MOST // product, b"layout message", m.address, b"chunks of a wrong size")
        product *= layout.chunk[i]
    check(k, 0 < layout.size <= MOST // product, b"layout message", m.address, b"chunks of a wrong size")
    return 0


cdef inline int _read_new_chunks(Known* k, const Message* m, Layout* layout) except -1:
    """Read the chunks of a layout of version 4 or 5."""
    cdef const uint8_t* p = m.data
    cdef uint64_t at
    cdef int i
    need(k, m, 5)
    layout.flags = p[2]
    check(k, 1 <= p[4] <= 8, b"layout message", m.address, b"dimensions of a wrong size")
    _read_chunk(k, m, 5, p[3], p[4], layout)
    at = 5 + <uint64_t> p[3] * p[4] + 1
    need(k, m, at)
    layout.index = p[at - 1]
    if layout.index == SINGLE:
        if layout.flags & FILTERED_SINGLE:
            need(k, m, at + 12)
            layout.parameters[0], layout.parameters[1], layout.n_parameters = u64(p + at), u32(p + at + 8), 2
            at += 12
    elif layout.index == FIXED or layout.index == EXTENSIBLE:
        layout.n_parameters = 1 if layout.index == FIXED else 5
        need(k, m, at + layout.n_parameters)
        for i in range(layout.n_parameters):
            layout.parameters[i] = p[at + i]
        at += layout.n_parameters
    elif layout.index == BTREE2:
        need(k, m, at + 6)
        layout.parameters[0], layout.parameters[1], layout.parameters[2] = u32(p + at), p[at + 4], p[at + 5]
        layout.n_parameters = 3
        at += 6
    elif layout.index != IMPLICIT:
        unusual(k, b"an index of chunks of an unknown type", m.address)
    need(k, m, at + 8)
    layout.address = u64(p + at)
    return 0


cdef inline int _read_old(Known* k, const Message* m, Layout* layout) except -1:
    """Read a layout of version 1 or 2."""
    cdef const uint8_t* p = m.data
    cdef uint64_t at = 8, rank
    need(k, m, 8)
    rank, layout.kind = p[1], p[2]
    if layout.kind > CHUNKED:
        unusual(k, b"a layout of an unknown class", m.address)
    if layout.kind != COMPACT:
        need(k, m, 16)
        layout.address = u64(p + 8)
        at = 16
    if layout.kind == CHUNKED:
        layout.index = BTREE1
        # the last of the dimensions is the size of a value
        return _read_chunk(k, m, at, <int> rank, 4, layout)
    at += 4 * rank
    if layout.kind == COMPACT:
        need(k, m, at + 4)
        layout.address, layout.size = m.address + at + 4, u32(p + at)
        need(k, m, at + 4 + layout.size)
    return 0


cdef inline object read_fill(Known* k, Header* h, uint32_t size, bint* is_written):
    """Return the bytes of the fill value, or None, and say whether it is written before values are."""
    cdef const Message* m = find_message(h, FILL)
    cdef const uint8_t* p
    cdef uint32_t at = 4, n, time
    cdef bint has_value
    is_written[0] = True
    if m == NULL:
        m = find_message(h, OLD_FILL)
        if m == NULL:
            return None
        at, has_value = 0, True
    else:
        check(k, m.size >= 2, b"fill value message", m.address, b"it is too short")
        p = m.data
        if p[0] == 3:
            at, time, has_value = 2, p[1] >> 2 & 3, p[1] & 0x20 != 0
        else:
            check(k, m.size >= 4, b"fill value message", m.address, b"it is too short")
            time, has_value = p[2], p[0] == 1 or p[3] != 0
            if p[0] not in (1, 2):
                unusual(k, b"a fill value message of an unknown version", m.address)
        is_written[0] = time != NEVER
    if m.flags & SHARED:
        unusual(k, b"a shared fill value", m.address)
    if not has_value:
        return None
    check(k, m.size >= at + 4, b"fill value message", m.address, b"it is too short")
    n = u32(m.data + at)
    if n == 0 or n == 0xFFFFFFFF:
        return None
    check(k, n <= m.size - at - 4, b"fill value message", m.address, b"it is too short")
    if n != size:
        unusual(k, b"a fill value of another size than values", m.address)
    return PyBytes_FromStringAndSize(<const char*> m.data + at + 4, n)


cdef inline tuple read_filters(Known* k, const Message* m, type record):
    """Read a filter pipeline."""
    cdef const uint8_t* p = m.data
    cdef uint64_t size = m.size, at, head, name_size, n
    cdef uint32_t number, _, j
    cdef list found = []
    check(k, size >= 2, b"filter message", m.address, b"it is too short")
    if p[0] not in (1, 2) or m.flags & SHARED:
        unusual(k, b"a filter message of an unknown version", m.address)
    at = 8 if p[0] == 1 else 2
    for _ in range(p[1]):
        check(k, at + 8 <= size or (p[0] == 2 and at + 6 <= size), b"filter message", m.address, b"it is too short")
        number = u16(p + at)
        name_size, head = 0, 6
        if p[0] == 1 or number >= 256:
            check(k, at + 8 <= size, b"filter message", m.address, b"it is too short")
            name_size, head = u16(p + at + 2), 8
        flags, n = u16(p + at + head - 4), u16(p + at + head - 2)
        if p[0] == 1:
            name_size = (name_size + 7) & ~<uint64_t> 7
        at += head + name_size
        check(k, at + 4 * n <= size, b"filter message", m.address, b"it is too short")
        found.append(record(number, bool(flags & 1), tuple([u32(p + at + 4 * j) for j in range(n)])))
        at += 4 * n + (4 if p[0] == 1 and n % 2 else 0)
    return tuple(found)
