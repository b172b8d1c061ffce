"""Chunks that an index lists, and B-trees of version 1, the index that most files have."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from .known cimport Known, check, count_visit, find, grown, lack, u16, u32, u64

cdef enum:
    MAX_RANK = 32  # H5S_MAX_RANK
    NODE_HEAD = 24  # bytes of a node before its first key
    CHILDREN = 64  # of a node, as by default: so many bytes are asked for
    CHUNK_TREE = 1  # type of nodes
    UNFILTERED = 0xFFFFFFFF  # a mask


cdef struct Entry:
    int64_t number  # counted through the shape in C order
    uint64_t offset
    uint64_t size  # in the file
    uint32_t mask


cdef struct Chunks:
    int rank
    bint is_filtered
    bint has_plain_edges  # chunks that are not whole went through no filter
    uint64_t size  # bytes of a chunk in memory
    uint64_t[MAX_RANK] chunk  # values along each axis
    uint64_t[MAX_RANK] grid  # chunks along each axis
    uint64_t[MAX_RANK] n_whole  # of these, how many are inside of the shape whole
    uint64_t stored  # bytes of all chunks in the file
    Entry* entries
    Py_ssize_t n, room


cdef inline int define(Chunks* c, tuple shape, tuple chunk, uint64_t item_size, bint is_filtered,
                       bint has_plain_edges) except -1:
    """Take the shape of a dataset and that of its chunks; the product of the grid must not be more than 2**62."""
    cdef int axis
    if not 0 < len(shape) == len(chunk) <= MAX_RANK:
        raise ValueError(f"{len(shape)} and {len(chunk)} axes")
    c.rank, c.is_filtered, c.has_plain_edges, c.size = <int> len(shape), is_filtered, has_plain_edges, item_size
    c.stored, c.entries, c.n, c.room = 0, NULL, 0, 0
    for axis in range(c.rank):
        c.chunk[axis], c.grid[axis] = chunk[axis], shape[axis]
        if not c.chunk[axis]:
            raise ValueError(f"{chunk}: expected no axis without values")
        c.n_whole[axis] = c.grid[axis] // c.chunk[axis]
        c.grid[axis] = c.n_whole[axis] + (c.grid[axis] % c.chunk[axis] != 0)
        c.size *= c.chunk[axis]
    return 0


cdef inline int add(Known* k, Chunks* c, const uint64_t* position, uint64_t offset, uint64_t size,
                    uint32_t mask) except -1:
    """List a chunk, unless it is outside of the shape, as one may be that a dataset had before it was cut."""
    cdef uint64_t number = 0
    cdef bint is_whole = True
    cdef int axis
    for axis in range(c.rank):
        if position[axis] >= c.grid[axis]:
            return 0
        number = number * c.grid[axis] + position[axis]
        is_whole &= position[axis] < c.n_whole[axis]
    if c.has_plain_edges and not is_whole:
        mask = UNFILTERED
    check(k, 0 < size <= k.size and offset <= k.size - size, b"chunk", offset, b"it is not within the file")
    check(k, size == c.size or (c.is_filtered and mask != UNFILTERED), b"chunk", offset, b"it has a wrong size")
    c.stored += size
    check(k, c.stored <= k.size, b"chunk", offset, b"all chunks take more bytes than the file has")
    if c.n == c.room:
        c.entries = <Entry*> grown(c.entries, &c.room, sizeof(Entry))
    c.entries[c.n] = Entry(<int64_t> number, offset, size, mask)
    c.n += 1
    return 0


cdef inline int compare(const uint64_t* a, const uint64_t* b, int rank) noexcept nogil:
    """Compare positions."""
    cdef int axis
    for axis in range(rank):
        if a[axis] != b[axis]:
            return 1 if a[axis] > b[axis] else -1
    return 0


cdef inline int read_btree1(Known* k, Chunks* c, uint64_t address) except -1:
    """List the chunks of a tree, in their order. Nodes that were not read are recorded as missing and left out."""
    return _read_node(k, c, address, -1, NULL, NULL)


cdef inline int _read_node(Known* k, Chunks* c, uint64_t address, int level, uint64_t* low,
                           uint64_t* high) except -1:
    """Read a node, whose chunks are from `low` on and below `high`: so none is there twice.

    After its last child, a node has another key, below which all of its chunks are. A library that searches a chunk by
    its key would not find it otherwise.
    """
    cdef uint64_t[MAX_RANK + 1] first, second
    cdef uint64_t* key = first
    cdef uint64_t* following = second
    cdef uint64_t key_size = 8 * <uint64_t> c.rank + 16, size = NODE_HEAD + CHILDREN * (key_size + 8) + key_size
    cdef uint32_t n, i
    cdef const uint8_t* p
    check(k, address <= k.size and k.size - address >= NODE_HEAD, b"B-tree node", address, b"it is not within the file")
    p = find(k, address, address + NODE_HEAD)
    if p == NULL:
        return lack(k, address, size)
    check(k, memcmp(p, b"TREE", 4) == 0, b"B-tree node", address, b"it has another signature")
    check(k, p[4] == CHUNK_TREE, b"B-tree node", address, b"it is of another type")
    check(k, level < 0 or p[5] == level, b"B-tree node", address, b"its level is not that below its parent")
    level, n = p[5], u16(p + 6)
    size = NODE_HEAD + n * (key_size + 8) + key_size
    check(k, size <= k.size - address, b"B-tree node", address, b"its entries are not within the file")
    p = find(k, address, address + size)
    if p == NULL:
        return lack(k, address, size)
    count_visit(k, size, b"B-tree node", address)
    p += NODE_HEAD
    if n:
        _read_key(c, p, key)
        check(k, low == NULL or compare(key, low, c.rank + 1) >= 0, b"B-tree node", address,
              b"keys before its parent's")
    for i in range(n):
        _read_key(c, p + key_size + 8, following)
        check(k, compare(key, following, c.rank + 1) < 0, b"B-tree node", address, b"its keys do not ascend")
        if i + 1 == n and high != NULL:
            check(k, compare(key, high, c.rank + 1) < 0, b"B-tree node", address, b"keys after its parent's")
            if compare(high, following, c.rank + 1) < 0:
                following = high
        if level:
            _read_node(k, c, u64(p + key_size), level - 1, key, following)
        else:
            _add_leaf(k, c, key, p, u64(p + key_size), address)
        p += key_size + 8
        key, following = following, key
    return 0


cdef inline void _read_key(const Chunks* c, const uint8_t* p, uint64_t* key) noexcept nogil:
    cdef int axis
    for axis in range(c.rank + 1):  # the last one is that of the bytes of a value
        key[axis] = u64(p + 8 + 8 * axis)


cdef inline int _add_leaf(Known* k, Chunks* c, const uint64_t* key, const uint8_t* p, uint64_t offset,
                          uint64_t address) except -1:
    cdef uint64_t[MAX_RANK] position
    cdef int axis
    check(k, key[c.rank] == 0, b"B-tree node", address, b"a chunk is between others")
    for axis in range(c.rank):
        position[axis] = key[axis] // c.chunk[axis]
        check(k, position[axis] * c.chunk[axis] == key[axis], b"B-tree node", address, b"a chunk is between others")
    return add(k, c, position, offset, u32(p), u32(p + 4))
