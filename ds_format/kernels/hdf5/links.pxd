"""Links of a group: in messages, in a heap, or in a symbol table."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memchr, memcmp

from .headers cimport LINK, LINK_INFO, SHARED, SYMBOL_TABLE, Header, Message
from .heaps cimport HEAP_SIZE, Bytes, Heap, close_heap, heap_object, open_dense
from .known cimport (
    UNDEFINED, Known, bytes_at, check, count_visit, expect, go_on, grown, is_seen, note_unusual, signed, u16, u32,
    u64, unusual, wide,
)
from .trees cimport Records, read_tree

cdef enum:
    NAME_TREE = 5  # type of a B-tree of version 2
    ENTRY = 40  # bytes of a symbol
    SOFT_SYMBOL = 2  # type of a symbol
    SOFT_LINK = 1  # type of a link
    # flags of a link
    WITH_ORDER = 4
    WITH_TYPE = 8
    WITH_ENCODING = 16


cdef struct Link:
    uint64_t order  # of creation
    uint64_t address
    const uint8_t* name
    uint64_t size  # of the name
    const uint8_t* target  # path of a soft link; NULL: the link has an address
    uint64_t target_size


cdef struct Links:
    Link* items
    Py_ssize_t n, room
    bint is_tracked  # by order of creation


cdef inline int add_link(Links* links, Link link) except -1:
    if links.n == links.room:
        links.items = <Link*> grown(links.items, &links.room, sizeof(Link))
    links.items[links.n] = link
    links.n += 1
    return 0


cdef inline int _by_order(const void* a, const void* b) noexcept nogil:
    cdef uint64_t one = (<const Link*> a).order, other = (<const Link*> b).order
    return (one > other) - (one < other)


cdef inline int _by_name(const void* a, const void* b) noexcept nogil:
    cdef const Link* one = <const Link*> a
    cdef const Link* other = <const Link*> b
    cdef int sign = memcmp(one.name, other.name, min(one.size, other.size))
    return sign if sign else (one.size > other.size) - (one.size < other.size)


cdef inline int read_links(Known* k, Header* h, Links* links) except -1:
    """Read the links of a group, in their order of creation if that is tracked, else by name."""
    cdef Py_ssize_t i
    cdef Message* m
    cdef bint is_sorted = True
    links.is_tracked = False
    for i in range(h.n):
        m = &h.messages[i]
        if m.type not in (LINK, LINK_INFO, SYMBOL_TABLE):
            continue
        if m.flags & SHARED:
            note_unusual(k, b"a shared link", m.address)
        elif m.type == LINK:
            _read_link(k, m.data, m.size, m.address, links)
        elif m.type == LINK_INFO:
            _read_dense(k, m, links)
        else:
            check(k, m.size >= 16, b"symbol table message", m.address, b"it is too short")
            _read_symbols(k, u64(m.data), u64(m.data + 8), links)
    if links.n < 2:
        return 0
    for i in range(1, links.n):
        if links.items[i].order <= links.items[i - 1].order:
            is_sorted = False
    if not links.is_tracked:
        qsort(links.items, links.n, sizeof(Link), &_by_name)
    elif not is_sorted:
        qsort(links.items, links.n, sizeof(Link), &_by_order)
        for i in range(1, links.n):
            check(k, links.items[i].order != links.items[i - 1].order, b"group", h.address,
                  b"links have the same order")
    return 0


cdef inline int _read_link(Known* k, const uint8_t* p, uint64_t size, uint64_t address, Links* links) except -1:
    """Read a link message."""
    cdef Link link
    cdef uint8_t flags
    cdef bint is_soft = False
    cdef uint64_t at = 2
    cdef uint32_t width
    check(k, size >= 3, b"link", address, b"it is too short")
    flags, width, link.order, link.address, link.target = p[1], 1 << (p[1] & 3), 0, UNDEFINED, NULL
    if p[0] != 1 or flags & 0xE0:
        unusual(k, b"a link of an unknown version", address)
    if flags & WITH_TYPE:
        is_soft = p[at] == SOFT_LINK
        if p[at] > SOFT_LINK:
            note_unusual(k, b"an external link", address)
            return 0
        at += 1
    if flags & WITH_ORDER:
        check(k, at + 8 <= size, b"link", address, b"it is too short")
        link.order = u64(p + at)
        at += 8
    if flags & WITH_ENCODING:
        at += 1
    check(k, at + width <= size, b"link", address, b"it is too short")
    link.size = wide(p + at, width)
    at += width
    check(k, link.size <= size - at and size - at - link.size >= (2 if is_soft else 8), b"link", address,
          b"it is too short")
    link.name = p + at
    at += link.size
    if is_soft:
        link.target, link.target_size = p + at + 2, u16(p + at)
        check(k, link.target_size <= size - at - 2, b"link", address, b"it is too short")
    else:
        link.address = u64(p + at)
    return add_link(links, link)


cdef inline int _read_dense(Known* k, const Message* m, Links* links) except -1:
    """Read a link info message, and the heap of links if there is one."""
    cdef uint64_t tree_address, i
    cdef Heap heap
    cdef Records records
    cdef Bytes found
    cdef bint has_heap = open_dense(k, m, b"link info message", 8, 7, &heap, &tree_address)
    links.is_tracked = m.data[1] & 1
    if not has_heap:
        return 0
    records.owned = NULL
    try:
        read_tree(k, tree_address, NAME_TREE, 11, &records)
        for i in range(records.n):
            try:
                heap_object(k, &heap, records.data + 11 * i + 4, &found)
                _read_link(k, found.data, found.size, found.address, links)
            except EOFError:
                go_on(k)  # other blocks may be lacking, too
    finally:
        free(records.owned)
        close_heap(&heap)
    return 0


cdef inline int _read_symbols(Known* k, uint64_t tree, uint64_t heap, Links* links) except -1:
    """Read the links of a symbol table."""
    cdef const uint8_t* p
    cdef Bytes names
    expect(k, tree, 24)
    p = signed(k, heap, 32, b"HEAP", 0, b"local heap")
    names.size, names.address = u64(p + 8), u64(p + 24)
    names.data = bytes_at(k, names.address, names.size, b"local heap")
    # two groups with the same names crash the HDF5 library
    check(k, not is_seen(k, names.address), b"local heap", heap, b"it has the names of another group")
    count_visit(k, names.size, b"local heap", heap)
    p = bytes_at(k, tree, 24, b"B-tree")
    return _read_symbol_tree(k, tree, p[5], &names, links)


cdef inline int _read_symbol_tree(Known* k, uint64_t address, uint8_t level, const Bytes* names,
                                  Links* links) except -1:
    """Read a node of a B-tree of version 1, and all below."""
    cdef uint64_t n, i
    cdef const uint8_t* p = bytes_at(k, address, 24, b"B-tree")
    check(k, memcmp(p, b"TREE", 4) == 0 and p[4] == 0 and p[5] == level, b"B-tree", address,
          b"it has another signature, type or level")
    n = u16(p + 6)
    p = bytes_at(k, address, 32 + 16 * n, b"B-tree")
    count_visit(k, 32 + 16 * n, b"B-tree", address)
    for i in range(n):
        if level:
            _read_symbol_tree(k, u64(p + 32 + 16 * i), level - 1, names, links)
        else:
            _read_symbol_node(k, u64(p + 32 + 16 * i), names, links)
    return 0


cdef inline int _read_symbol_node(Known* k, uint64_t address, const Bytes* names, Links* links) except -1:
    cdef const uint8_t* p = signed(k, address, 8, b"SNOD", 1, b"symbol table node")
    cdef uint64_t n = u16(p + 6), i
    cdef Link link
    p = bytes_at(k, address, 8 + ENTRY * n, b"symbol table node")
    count_visit(k, 8 + ENTRY * n, b"symbol table node", address)
    link.order = 0
    for i in range(n):
        link.name = _text(k, u64(p + 8 + ENTRY * i), names, address, &link.size)
        link.address, link.target = u64(p + 8 + ENTRY * i + 8), NULL
        if u32(p + 8 + ENTRY * i + 16) == SOFT_SYMBOL:
            link.target = _text(k, u32(p + 8 + ENTRY * i + 24), names, address, &link.target_size)
        add_link(links, link)
    return 0


cdef inline const uint8_t* _text(Known* k, uint64_t at, const Bytes* names, uint64_t address,
                                 uint64_t* size) except NULL:
    """Return a text of a local heap, which ends with a NUL."""
    cdef const uint8_t* end
    check(k, at < names.size, b"symbol table node", address, b"a name is not within its heap")
    end = <const uint8_t*> memchr(names.data + at, 0, names.size - at)
    check(k, end != NULL, b"symbol table node", address, b"a name has no end")
    size[0] = end - names.data - at
    count_visit(k, size[0], b"symbol table node", address)  # many may have the same text
    return names.data + at
