"""The index of chunks of a composed file: B-trees 1, whose nodes of one level lie side by side."""

from libc.stdint cimport int64_t, uint64_t

from ..common.output cimport Output, put_bytes
from .composed cimport File, align, put, put_values, put_zeros
from .known cimport UNDEFINED


cdef inline int _put_key(File* file, tuple offsets, uint64_t size, uint64_t byte) except -1:
    """Append a key of a B-tree: stored bytes of a chunk, no skipped filters, its first indices and byte of a value."""
    cdef uint64_t offset
    put(&file.out, size, 8)
    for offset in offsets:
        put(&file.out, offset, 8)
    return put(&file.out, byte, 8)


cdef inline int64_t _begin_node(
    File* file, int level, Py_ssize_t i, Py_ssize_t n, Py_ssize_t used, Py_ssize_t size
) except -1:
    """Begin the node i of the n nodes of a level, which lie side by side; return its position."""
    cdef Output* out = &file.out
    cdef int64_t node = out.size, address = node + file.shift
    put_bytes(out, b"TREE\1", 5)
    put(out, level, 1)
    put(out, used, 2)
    put(out, address - size if i else UNDEFINED, 8)
    put(out, address + size if i + 1 < n else UNDEFINED, 8)
    return node


cdef inline list _put_level(File* file, int level, list entries, tuple end, uint64_t item_size, int half):
    """Append the nodes of a level of a B-tree.

    Parameters
    ----------
    entries : list of (tuple, int, int)
        For each child its first indices, the stored bytes of its first chunk, and its address.
    end : tuple of int
        Indices past the last chunk.

    Returns
    -------
    list
        The nodes as entries of the next level.
    """
    cdef Py_ssize_t most = 2 * half, key = 8 * (len(end) + 2), size = 24 + most * (key + 8) + key
    cdef Py_ssize_t n = (len(entries) + most - 1) // most, i
    cdef int64_t node
    cdef list nodes = [], own
    cdef uint64_t address
    for i in range(n):
        own = entries[i * most:(i + 1) * most]
        node = _begin_node(file, level, i, n, len(own), size)
        for offsets, stored, address in own:
            if len(<tuple?> offsets) != len(end):
                raise ValueError(f"chunks: found {len(offsets)} indices, expected {len(end)}")
            _put_key(file, offsets, stored, 0)
            put(&file.out, address, 8)
        if i + 1 < n:
            offsets, stored, _ = entries[(i + 1) * most]
            _put_key(file, offsets, stored, 0)
        else:
            _put_key(file, end, 0, item_size)
        put_zeros(&file.out, node + size - file.out.size)
        nodes.append((own[0][0], own[0][1], node + file.shift))
    return nodes


cdef inline uint64_t put_tree(File* file, tuple chunk, uint64_t item_size, list entries, int half) except? 0:
    """Append the B-tree of a dataset; return its address.

    Parameters
    ----------
    entries : list of (tuple, int, int)
        First indices, stored bytes and address of each chunk, in C order.
    """
    cdef int level = 0
    end = tuple([offset + n for offset, n in zip(entries[len(entries) - 1][0], chunk, strict=True)])
    while level == 0 or len(entries) > 1:
        align(file)
        entries = _put_level(file, level, entries, end, item_size, half)
        level += 1
    return entries[0][2]


cdef inline uint64_t put_chunks(
    File* file, tuple chunk, uint64_t item_size, list chunks, int half
) except? 0:
    """Append chunks, which are in C order, and their B-tree; return its address."""
    cdef list entries = []
    for offsets, values in chunks:
        align(file)
        position = file.out.size
        entries.append((offsets, put_values(file, values), position + file.shift))
    return put_tree(file, chunk, item_size, entries, half)
