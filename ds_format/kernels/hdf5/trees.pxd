"""B-trees of version 2: all records of a tree, in their order."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy

from .known cimport LACKING, UNUSUAL, Known, check, expect, fail, go_on, log2_of, structure, u16, u32, u64, wide

cdef enum:
    MAX_DEPTH = 16
    TREE_SIZE = 38  # bytes of the header
    NODE_FRAME = 10  # bytes of a node besides records and children: signature, version, type, checksum


cdef struct Records:
    const uint8_t* data
    uint64_t n
    uint32_t size  # bytes of each
    uint8_t* owned  # memory to free, or NULL


cdef struct Tree:
    uint32_t node_size
    uint32_t record_size
    uint64_t total
    uint64_t[MAX_DEPTH + 1] most  # records of a node, by its depth; leaves have 0
    uint32_t[MAX_DEPTH + 1] total_size  # bytes of the number of all records below a node
    uint32_t count_size  # bytes of the number of records of a node
    uint8_t type


cdef inline uint32_t _bytes_of(uint64_t value) noexcept nogil:
    return log2_of(value) // 8 + 1


cdef inline int read_tree(Known* k, uint64_t address, uint8_t type, uint32_t record_size, Records* records) except -1:
    """Read the records of a tree; the caller frees `owned`."""
    cdef const uint8_t* p = structure(k, address, TREE_SIZE, b"BTHD", 0, b"B-tree")
    cdef uint32_t depth = u16(p + 12), d, pointer
    cdef uint64_t n = u16(p + 24), all_below
    cdef Tree tree
    tree.type, tree.record_size, tree.node_size, tree.total = type, record_size, u32(p + 6), u64(p + 26)
    check(k, p[5] == type and u16(p + 10) == record_size, b"B-tree", address, b"it is of another type")
    check(k, depth <= MAX_DEPTH, b"B-tree", address, b"it is too deep")
    check(k, NODE_FRAME + record_size <= tree.node_size <= k.size, b"B-tree", address, b"nodes of a wrong size")
    check(k, tree.total <= k.size // record_size, b"B-tree", address, b"too many records")
    check(k, (n > 0) == (tree.total > 0), b"B-tree", address, b"another number of records in its root than in all")
    records.data, records.n, records.size, records.owned = NULL, 0, record_size, NULL
    if n == 0:
        return 0
    tree.most[0] = all_below = (tree.node_size - NODE_FRAME) // record_size
    tree.total_size[0] = 0
    tree.count_size = _bytes_of(all_below)
    for d in range(1, depth + 1):
        pointer = 8 + tree.count_size + tree.total_size[d - 1]
        check(k, tree.node_size >= NODE_FRAME + 2 * pointer + record_size, b"B-tree", address, b"nodes of a wrong size")
        tree.most[d] = (tree.node_size - NODE_FRAME - pointer) // (record_size + pointer)
        if all_below < <uint64_t> 1 << 32:  # else it has more than any file
            all_below = (tree.most[d] + 1) * all_below + tree.most[d]
        tree.total_size[d] = _bytes_of(all_below)
    if depth == 0:
        records.data = _leaf(k, &tree, u64(p + 16), n)
        records.n = n
    else:
        records.owned = <uint8_t*> malloc(tree.total * record_size)
        if records.owned == NULL:
            raise MemoryError
        records.data = records.owned
        _collect(k, &tree, u64(p + 16), depth, n, records)
    check(k, records.n == tree.total, b"B-tree", address, b"another number of records than it says")
    return 0


cdef inline const uint8_t* _leaf(Known* k, const Tree* tree, uint64_t address, uint64_t n) except NULL:
    cdef const uint8_t* p
    check(k, n <= tree.most[0], b"B-tree leaf", address, b"too many records")
    p = structure(k, address, NODE_FRAME + n * tree.record_size, b"BTLF", 0, b"B-tree leaf")
    check(k, p[5] == tree.type, b"B-tree leaf", address, b"it is of another type")
    return p + 6


cdef inline int _append(Known* k, const Tree* tree, const uint8_t* p, uint64_t n, Records* records) except -1:
    check(k, n <= tree.total - records.n, b"B-tree", 0, b"more records than it says")
    memcpy(records.owned + records.n * tree.record_size, p, n * tree.record_size)
    records.n += n
    return 0


cdef inline int _collect(Known* k, const Tree* tree, uint64_t address, uint32_t depth, uint64_t n,
                         Records* records) except -1:
    """Append the records of a node and of all below."""
    cdef uint32_t pointer, i
    cdef uint64_t n_records
    cdef bint is_lacking = False
    cdef const uint8_t* p
    cdef const uint8_t* child
    if depth == 0:
        return _append(k, tree, _leaf(k, tree, address, n), n, records)
    check(k, n <= tree.most[depth], b"B-tree node", address, b"too many records")
    pointer = 8 + tree.count_size + tree.total_size[depth - 1]
    p = structure(
        k, address, NODE_FRAME + n * tree.record_size + (n + 1) * pointer, b"BTIN", 0, b"B-tree node")
    check(k, p[5] == tree.type, b"B-tree node", address, b"it is of another type")
    p += 6
    child = p + n * tree.record_size
    for i in range(n + 1):
        # one miss of all children instead of one after another
        n_records = wide(child + i * pointer + 8, tree.count_size)
        expect(k, u64(child + i * pointer), NODE_FRAME + n_records * tree.record_size)
    for i in range(n + 1):
        try:
            _collect(k, tree, u64(child), depth - 1, wide(child + 8, tree.count_size), records)
        except EOFError:
            go_on(k)
            is_lacking = True
        if i < n:
            _append(k, tree, p + i * tree.record_size, 1, records)
        child += pointer
    return fail(k, LACKING if k.odd == NULL else UNUSUAL, b"B-tree node", address, b"") if is_lacking else 0
