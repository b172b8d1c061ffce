"""Fractal heaps, which hold dense links and attributes."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

from .headers cimport SHARED, Message
from .known cimport (
    UNDEFINED, Known, bytes_at, check, check_sum, expect, is_seen, log2_of, signed, u16, u32, u64, unusual, wide,
)
from .trees cimport TREE_SIZE, Records, read_tree

cdef enum:
    HEAP_SIZE = 146  # bytes of the header of a heap without filters
    MAX_BITS = 64
    # kinds of objects, in the first byte of an id
    KINDS = 0xF0
    MANAGED = 0
    HUGE = 0x10
    # types of B-trees
    HUGE_TREE = 1


cdef struct Bytes:
    const uint8_t* data
    uint64_t size
    uint64_t address


cdef struct Heap:
    uint64_t address
    uint64_t first  # bytes of a block in the first two rows
    uint64_t max_direct  # bytes of the largest block that has objects
    uint64_t root
    uint64_t huge_tree
    uint32_t id_size
    uint32_t rows  # of the root; 0: it has objects itself
    uint32_t width  # blocks in a row
    uint32_t offset_size  # bytes of an offset
    uint32_t length_size
    bint has_sums  # blocks of objects have checksums
    Records huge
    uint64_t base  # where the block of the last object begins in the heap
    Bytes block  # that one


cdef inline bint _is_power(uint64_t value) noexcept nogil:
    return value != 0 and value & (value - 1) == 0


cdef inline int open_heap(Known* k, uint64_t address, Heap* heap) except -1:
    """Read the header of a heap."""
    cdef const uint8_t* p = bytes_at(k, address, HEAP_SIZE, b"fractal heap")
    cdef uint32_t bits = u16(p + 128), largest = u32(p + 10)
    if u16(p + 7) != 0:
        unusual(k, b"a heap with filters", address)
    p = signed(k, address, HEAP_SIZE, b"FRHP", 0, b"fractal heap")
    check_sum(k, p, HEAP_SIZE - 4, b"fractal heap", address)
    heap.address, heap.huge_tree, heap.root = address, u64(p + 22), u64(p + 132)
    heap.id_size, heap.width, heap.rows = u16(p + 5), u16(p + 110), u16(p + 140)
    heap.first, heap.max_direct, heap.has_sums = u64(p + 112), u64(p + 120), p[9] & 2 != 0
    check(k, _is_power(heap.width) and _is_power(heap.first) and _is_power(heap.max_direct)
          and 64 <= heap.first <= heap.max_direct <= <uint64_t> 1 << 32 and 0 < bits <= MAX_BITS,
          b"fractal heap", address, b"blocks of a wrong size")
    heap.offset_size = (bits + 7) // 8
    heap.length_size = min((log2_of(heap.max_direct) + 7) // 8, log2_of(largest) // 8 + 1)
    check(k, heap.id_size > heap.offset_size + heap.length_size, b"fractal heap", address, b"ids of a wrong size")
    heap.huge.data = heap.huge.owned = NULL
    heap.base = heap.block.size = 0
    return 0


cdef inline void close_heap(Heap* heap) noexcept:
    free(heap.huge.owned)
    heap.huge.owned = NULL


cdef inline int heap_object(Known* k, Heap* heap, const uint8_t* id, Bytes* found) except -1:
    """Find an object by its id, which has the bytes that the heap says."""
    cdef uint64_t offset
    cdef uint32_t head = 13 + heap.offset_size + (4 if heap.has_sums else 0)
    if id[0] & KINDS == HUGE:
        return _huge_object(k, heap, id, found)
    if id[0] & KINDS != MANAGED:
        unusual(k, b"an object of a heap that is tiny", heap.address)
    offset = wide(id + 1, heap.offset_size)
    if offset - heap.base >= heap.block.size:
        _open_block(k, heap, offset)
    offset -= heap.base
    found.size = wide(id + 1 + heap.offset_size, heap.length_size)
    check(k, head <= offset and offset < heap.block.size and 0 < found.size <= heap.block.size - offset,
          b"fractal heap block", heap.block.address, b"an object is not within it")
    found.data, found.address = heap.block.data + offset, heap.block.address + offset
    return 0


cdef inline int _open_block(Known* k, Heap* heap, uint64_t offset) except -1:
    """Find the block that has the objects at an offset."""
    cdef uint64_t base = 0, size = 0, address
    heap.block.size = 0
    address = _direct_block(k, heap, offset, &base, &size)
    heap.block.data = _block(k, heap, address, size, base)
    heap.base, heap.block.address, heap.block.size = base, address, size
    return 0


cdef inline uint64_t _direct_block(Known* k, Heap* heap, uint64_t offset, uint64_t* base, uint64_t* size) except? 0:
    """Return the address of the block that has the objects at an offset in the heap, where it begins, and its size."""
    cdef uint64_t address = heap.root, row_size = heap.first * heap.width, row, column, inside
    cdef uint64_t n_direct = log2_of(heap.max_direct) - log2_of(heap.first) + 2, rows = heap.rows
    cdef const uint8_t* p
    size[0] = heap.first
    if rows == 0:
        return address
    while True:
        inside = offset - base[0]
        row = 0 if inside < row_size else log2_of(inside // row_size) + 1
        check(k, row < rows <= MAX_BITS, b"fractal heap", heap.address, b"an object is not within it")
        p = _indirect_block(k, heap, address, rows, base[0])
        if row:
            inside -= row_size << (row - 1)
            base[0] += row_size << (row - 1)
        size[0] = heap.first << (row - 1 if row else 0)
        column = inside // size[0]
        base[0] += column * size[0]
        address = u64(p + 8 * (row * heap.width + column))
        if row < n_direct:
            return address
        rows = log2_of(size[0]) - log2_of(row_size) + 1


cdef inline const uint8_t* _indirect_block(Known* k, Heap* heap, uint64_t address, uint64_t rows,
                                           uint64_t base) except NULL:
    """Return the addresses of the blocks of a block."""
    cdef uint64_t head = 13 + heap.offset_size, size = head + 8 * rows * heap.width + 4
    cdef const uint8_t* p = signed(k, address, size, b"FHIB", 0, b"fractal heap block")
    if not is_seen(k, address):
        check_sum(k, p, size - 4, b"fractal heap block", address)
    _check_block(k, heap, p, address, base)
    return p + head


cdef inline const uint8_t* _block(Known* k, Heap* heap, uint64_t address, uint64_t size, uint64_t base) except NULL:
    """Return a block of objects."""
    cdef const uint8_t* p = signed(k, address, size, b"FHDB", 0, b"fractal heap block")
    if heap.has_sums and not is_seen(k, address):
        check_sum(k, p, size, b"fractal heap block", address, 13 + heap.offset_size)
    _check_block(k, heap, p, address, base)
    return p


cdef inline int _check_block(Known* k, Heap* heap, const uint8_t* p, uint64_t address, uint64_t base) except -1:
    return check(k, u64(p + 5) == heap.address and wide(p + 13, heap.offset_size) == base,
                 b"fractal heap block", address, b"it is of another heap or place")


cdef inline int _huge_object(Known* k, Heap* heap, const uint8_t* id, Bytes* found) except -1:
    cdef uint64_t key, low = 0, high, middle
    cdef const uint8_t* record
    if heap.id_size > 16:
        found.address, found.size = u64(id + 1), u64(id + 9)
    else:
        if heap.huge.data == NULL:
            read_tree(k, heap.huge_tree, HUGE_TREE, 24, &heap.huge)
        key, high = wide(id + 1, min(heap.id_size - 1, 8)), heap.huge.n
        while low < high:
            middle = (low + high) // 2
            if u64(heap.huge.data + 24 * middle + 16) < key:
                low = middle + 1
            else:
                high = middle
        record = heap.huge.data + 24 * low
        check(k, low < heap.huge.n and u64(record + 16) == key, b"fractal heap", heap.address, b"an object is missing")
        found.address, found.size = u64(record), u64(record + 8)
    found.data = bytes_at(k, found.address, found.size, b"huge object")
    return 0


cdef inline bint open_dense(
    Known* k, const Message* m, const char* what, uint64_t order_size, int id_size, Heap* heap, uint64_t* tree_address,
) except -1:
    """Read an info message of links or attributes, and open the heap of these; return whether there is one.

    `order_size` is the size of the maximum creation order in the message, if the order is tracked.
    """
    cdef uint64_t at = 2, heap_address
    check(k, m.size >= at + 16, what, m.address, b"it is too short")
    if m.data[0] != 0 or m.flags & SHARED:
        unusual(k, b"an info message of an unknown version", m.address)
    if m.data[1] & 1:
        at += order_size
        check(k, m.size >= at + 16, what, m.address, b"it is too short")
    heap_address, tree_address[0] = u64(m.data + at), u64(m.data + at + 8)
    if heap_address == UNDEFINED:
        return False
    expect(k, tree_address[0], TREE_SIZE)
    open_heap(k, heap_address, heap)
    check(k, heap.id_size == id_size, b"fractal heap", heap_address, b"ids of a wrong size")
    return True
