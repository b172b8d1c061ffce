"""Object headers, versions 1 and 2: their messages, those of continuation blocks included."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from .known cimport Known, bytes_at, check, check_sum, count_visit, grown, note_unusual, u16, u32, u64, unusual, wide

cdef enum:
    MAX_BLOCKS = 4096
    MAX_MESSAGES = 1 << 18  # more than 65535 attributes and as many links, which have numbers of 16 bits
    # flags of a header
    TRACKED = 4  # the order of creation of attributes
    WITH_LIMITS = 0x10
    WITH_TIMES = 0x20
    # flags of a message
    SHARED = 2
    MUST_KNOW = 0x80
    # types of messages
    DATASPACE = 1
    LINK_INFO = 2
    DATATYPE = 3
    OLD_FILL = 4
    FILL = 5
    LINK = 6
    EXTERNAL = 7
    LAYOUT = 8
    FILTERS = 0xB
    ATTRIBUTE = 0xC
    SHARED_TABLE = 0xF
    CONTINUATION = 0x10
    SYMBOL_TABLE = 0x11
    DRIVER_INFO = 0x14
    ATTRIBUTE_INFO = 0x15
    CACHE_IMAGE = 0x18
    N_MESSAGES = 0x19


cdef struct Message:
    const uint8_t* data
    uint64_t address  # of the data
    uint32_t size
    uint32_t order  # of creation
    uint8_t type
    uint8_t flags


cdef struct Header:
    Message* messages
    Py_ssize_t n, room
    int32_t[N_MESSAGES] first  # number of the first message of each type, or -1
    uint64_t address
    int n_blocks
    uint8_t version
    uint8_t flags


cdef inline int read_header(Known* k, uint64_t address, Header* h) except -1:
    """Read an object header. Messages are in its memory until the next one is read."""
    cdef const uint8_t* p = bytes_at(k, address, 16, b"object header")
    cdef uint32_t size = 6, width
    cdef uint64_t length
    cdef Py_ssize_t i = 0
    cdef Message* m
    h.n, h.n_blocks, h.address, h.flags = 0, 1, address, 0
    memset(h.first, 0xFF, sizeof(h.first))
    if memcmp(p, b"OHDR", 4) == 0:
        if p[4] != 2:
            unusual(k, b"an object header of an unknown version", address)
        h.version, h.flags = 2, p[5]
        width = 1 << (h.flags & 3)
        size += (16 if h.flags & WITH_TIMES else 0) + (4 if h.flags & WITH_LIMITS else 0)
        length = wide(bytes_at(k, address, size + width, b"object header") + size, width)
        size += width
        check(k, length <= k.size, b"object header", address, b"it does not end within the file")
        p = bytes_at(k, address, size + length + 4, b"object header")
        check_sum(k, p, size + length, b"object header", address)
    else:
        check(k, p[0] == 1, b"object header", address, b"it has another signature")
        h.version, size, length = 1, 16, u32(p + 8)
        p = bytes_at(k, address, size + length, b"object header")
        count_visit(k, size + length, b"object header", address)
    take_messages(k, h, p + size, length, address + size)
    while i < h.n:
        m = &h.messages[i]
        if m.type == CONTINUATION:
            read_continuation(k, h, m)
        i += 1
    return 0


cdef inline int read_continuation(Known* k, Header* h, const Message* m) except -1:
    cdef uint64_t address, size
    cdef const uint8_t* p
    check(k, m.size >= 16, b"continuation message", m.address, b"it is too short")
    address, size = u64(m.data), u64(m.data + 8)
    h.n_blocks += 1
    check(k, h.n_blocks <= MAX_BLOCKS, b"object header", h.address, b"it has too many continuation blocks")
    if h.version == 1:
        p = bytes_at(k, address, size, b"object header continuation")
        count_visit(k, size + 1, b"object header continuation", address)
        return take_messages(k, h, p, size, address)
    check(k, size >= 8, b"object header continuation", address, b"it is too short")
    p = bytes_at(k, address, size, b"object header continuation")
    check(k, memcmp(p, b"OCHK", 4) == 0, b"object header continuation", address, b"it has another signature")
    check_sum(k, p, size - 4, b"object header continuation", address)
    return take_messages(k, h, p + 4, size - 8, address + 4)


cdef inline int take_messages(Known* k, Header* h, const uint8_t* p, uint64_t size, uint64_t address) except -1:
    """Append the messages of a block."""
    cdef uint32_t head = 8 if h.version == 1 else 6 if h.flags & TRACKED else 4, n
    cdef Message* m
    while size >= head:
        if h.n == h.room:
            check(k, h.n < MAX_MESSAGES, b"object header", h.address, b"it has too many messages")
            h.messages = <Message*> grown(h.messages, &h.room, sizeof(Message))
        m = &h.messages[h.n]
        if h.version == 1:
            if u16(p) >= N_MESSAGES:
                m.type = 0xFF
            else:
                m.type = p[0]
            n, m.flags, m.order = u16(p + 2), p[4], 0
        else:
            m.type, n, m.flags = p[0], u16(p + 1), p[3]
            m.order = u16(p + 4) if h.flags & TRACKED else 0
        check(k, n <= size - head, b"object header", h.address, b"a message does not end within its block")
        m.data, m.address, m.size = p + head, address + head, n
        if m.type < N_MESSAGES:
            if h.first[m.type] < 0:
                h.first[m.type] = <int32_t> h.n
        elif m.flags & MUST_KNOW:
            note_unusual(k, b"a message that must be understood is of an unknown type", m.address)
        h.n += m.type != 0  # a gap
        p += head + n
        address += head + n
        size -= head + n
    return 0


cdef inline Message* find_message(Header* h, uint8_t type) noexcept:
    """Return the first message of a type; NULL: there is none."""
    return &h.messages[h.first[type]] if h.first[type] >= 0 else NULL


cdef inline int check_shared(Known* k, const char* what, uint64_t address) except -1:
    """Check that a message may be in the heap of shared ones: without such a heap, it crashes the HDF5 library."""
    return check(k, k.has_shared, what, address, b"it is shared in a heap that the file does not have")


cdef inline uint64_t shared_address(Known* k, const uint8_t* p, uint64_t size, uint64_t address) except? 0:
    """Return the address of the object that has the shared message."""
    cdef uint64_t found
    cdef uint8_t version
    check(k, size >= 10, b"shared message", address, b"it is too short")
    version = p[0]
    if version == 1:
        check(k, size >= 16, b"shared message", address, b"it is too short")
        found = u64(p + 8)
    elif version == 2 or (version == 3 and p[1] == 2):
        found = u64(p + 2)
    else:
        check_shared(k, b"shared message", address)
        unusual(k, b"a message that is shared in a heap", address)
    check(k, found != 0, b"shared message", address, b"it names no object")
    return found
