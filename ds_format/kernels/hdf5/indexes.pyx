"""The index of chunks of a dataset → where each chunk is; see Appendix C of the HDF5 File Format Specification 3.0.

Fixed and extensible arrays number chunks through the largest shape.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from .btree1 cimport MAX_RANK, Chunks, add, compare, define, read_btree1
from .known cimport (
    LACKING, UNDEFINED, Known, check, check_sum, find, lack, log2_of, structure, u16, u32, u64, unusual as is_unusual,
    wide,
)
from .segments cimport Segments
from .trees cimport TREE_SIZE, Records, read_tree

cnp.import_array()

cdef enum:
    PLAIN_CHUNKS = 10  # types of B-trees of version 2
    FILTERED_CHUNKS = 11
    FIXED_SIZE = 28  # bytes of the header of a fixed array
    EXTENSIBLE_SIZE = 72
    BLOCK_HEAD = 14  # bytes of a block: signature, version, client, address of the header
    SUM = 4  # bytes of a checksum
    MAX_PAGE_BITS = 32
    MAX_BITS = 64

cdef extern from *:
    """
    #define DS_MAX_CHUNKS ((uint64_t) 1 << 62)
    #define DS_ANY ((uint64_t) -1)
    """
    const uint64_t MAX_CHUNKS "DS_MAX_CHUNKS"
    const uint64_t ANY "DS_ANY"


cdef struct Numbering:
    int[MAX_RANK] axes  # the slowest one first
    uint64_t[MAX_RANK] counts  # chunks along each of these; of the first one it is not looked at
    uint64_t total  # chunks, at most `MAX_CHUNKS`


cdef struct Array:
    uint64_t address  # of its header
    uint8_t client
    uint32_t entry  # bytes of an entry


cdef tuple NAMES = ("btree1", "single", "implicit", "fixed", "extensible", "btree2")


def find_chunks(
    list segments not None, uint64_t file_size, str index not None, uint64_t address, tuple parameters not None,
    tuple shape not None, tuple max_shape not None, tuple chunk not None, uint64_t item_size, bint is_filtered,
    bint has_plain_edges, unusual,
):
    """Return where the chunks of a dataset are.

    Parameters
    ----------
    segments : list of (int, C-contiguous buffer)
        Bytes of the file and where they begin, in order and apart from each other.
    file_size : int
        Bytes of the whole file.
    index : str
        As in `hdf5.records.HDF5Layout`.
    address : int
        Position of the index, or of the single chunk.
    parameters : tuple of int
        Size and mask of a single chunk that is filtered.
    shape : tuple of int
        Shape of the dataset.
    max_shape : tuple of int
        -1: unlimited.
    chunk : tuple of int
        Shape of a chunk, in values; not 0. The shape has at most 2**62 chunks.
    item_size : int
        Bytes of a value.
    is_filtered : bool
        Whether the dataset has filters.
    has_plain_edges : bool
        Whether chunks that are not inside of the shape whole went through no filter.
    unusual : type
        The exception for files that are left to the libraries. It takes a reason.

    Returns
    -------
    list of (int, int), or (numbers, offsets, sizes, masks) : of (N,) int64, uint64, uint64, uint32
        A list: offsets and sizes of bytes that are needed as well. Else of each chunk, in the order of the index: its
        number, counted through the shape in C order; where it begins in the file; its bytes in the file; a bit for each
        filter that it did not go through.

    Raises
    ------
    FormatError
        If the index is damaged: with the structure and its position.
    Exception
        The one that was given, if the file is left to the libraries.
    """
    cdef Segments known = Segments()
    cdef Known* k = &known.k
    cdef Chunks c
    define(&c, shape, chunk, item_size, is_filtered, has_plain_edges)
    known.take(segments, file_size)
    try:
        _read(k, &c, index, address, parameters, max_shape)
        return known.needed() if k.n_needed else _arrays(&c)
    except EOFError:
        if k.fault != LACKING:
            raise known.error(unusual) from None
        return known.needed()
    finally:
        free(c.entries)


cdef int _read(Known* k, Chunks* c, str index, uint64_t address, tuple parameters, tuple max_shape) except -1:
    cdef uint64_t[MAX_RANK] limits, position
    cdef Numbering numbering
    cdef int axis, slowest = 0
    cdef uint64_t i
    if len(max_shape) != c.rank:
        raise ValueError(f"{len(max_shape)} axes, expected {c.rank}")
    for axis in range(c.rank):
        limits[axis] = UNDEFINED if max_shape[axis] < 0 else <uint64_t> max_shape[axis]
        position[axis] = 0
        if limits[axis] == UNDEFINED and limits[slowest] != UNDEFINED and index == "extensible":
            slowest = axis
    number(&numbering, c, limits, slowest)
    if index == "btree1":
        read_btree1(k, c, address)
    elif index == "single":
        if parameters:
            add(k, c, position, address, parameters[0], parameters[1])
        else:
            add(k, c, position, address, c.size, 0)
    elif index == "implicit":
        check(k, not c.is_filtered, b"implicit index", address, b"its chunks are filtered")
        check(k, numbering.total == 0 or c.size <= k.size // numbering.total, b"implicit index", address,
              b"its chunks are not within the file")
        for i in range(numbering.total):
            add_numbered(k, c, &numbering, i, address + i * c.size, c.size, 0)
    elif index == "fixed":
        read_fixed(k, c, &numbering, address)
    elif index == "extensible":
        read_extensible(k, c, &numbering, address)
    elif index == "btree2":
        _read_btree2(k, c, address)
    else:
        raise ValueError(f"index: found {index!r}, expected one of {', '.join(NAMES)}")
    return 0


cdef int _read_btree2(Known* k, Chunks* c, uint64_t address) except -1:
    """List the chunks of a B-tree of version 2, which has their positions, in the order of these."""
    cdef const uint8_t* p = structure(k, address, TREE_SIZE, b"BTHD", 0, b"B-tree")
    cdef uint32_t size = u16(p + 10), least = 8 + 8 * c.rank, i
    cdef uint8_t type = FILTERED_CHUNKS if c.is_filtered else PLAIN_CHUNKS
    cdef uint64_t[MAX_RANK] first, second
    cdef uint64_t* position = first
    cdef uint64_t* before = second
    cdef Records records
    cdef uint64_t n
    cdef int axis
    check(k, least + 5 <= size <= least + 12 if c.is_filtered else size == least, b"B-tree", address,
          b"records of a wrong size")
    read_tree(k, address, type, size, &records)
    try:
        p = records.data
        for n in range(records.n):
            for axis in range(c.rank):
                position[axis] = u64(p + size - 8 * (c.rank - axis))
            check(k, n == 0 or compare(before, position, c.rank) < 0, b"B-tree", address, b"its records do not ascend")
            if c.is_filtered:
                i = size - 8 * c.rank - 4
                add(k, c, position, u64(p), wide(p + 8, i - 8), u32(p + i))
            else:
                add(k, c, position, u64(p), c.size, 0)
            p += size
            position, before = before, position
    finally:
        free(records.owned)
    return 0


cdef tuple _arrays(const Chunks* c):
    cdef cnp.npy_intp n = c.n
    cdef cnp.ndarray numbers = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT64, 0)
    cdef cnp.ndarray offsets = cnp.PyArray_EMPTY(1, &n, cnp.NPY_UINT64, 0)
    cdef cnp.ndarray sizes = cnp.PyArray_EMPTY(1, &n, cnp.NPY_UINT64, 0)
    cdef cnp.ndarray masks = cnp.PyArray_EMPTY(1, &n, cnp.NPY_UINT32, 0)
    cdef Py_ssize_t i
    for i in range(n):
        (<int64_t*> cnp.PyArray_DATA(numbers))[i] = c.entries[i].number
        (<uint64_t*> cnp.PyArray_DATA(offsets))[i] = c.entries[i].offset
        (<uint64_t*> cnp.PyArray_DATA(sizes))[i] = c.entries[i].size
        (<uint32_t*> cnp.PyArray_DATA(masks))[i] = c.entries[i].mask
    return numbers, offsets, sizes, masks


cdef inline void number(Numbering* numbering, const Chunks* c, const uint64_t* limits, int slowest) noexcept nogil:
    """Number chunks through a shape, `UNDEFINED` along an axis without limit, which must be the slowest one."""
    cdef int axis, i = 1
    cdef uint64_t count
    numbering.total = 1
    numbering.axes[0] = slowest
    for axis in range(c.rank):
        if axis != slowest:
            numbering.axes[i] = axis
            i += 1
    for i in range(c.rank):
        axis = numbering.axes[i]
        count = limits[axis] // c.chunk[axis] + (limits[axis] % c.chunk[axis] != 0)
        numbering.counts[i] = count
        if count and numbering.total > MAX_CHUNKS // count:
            numbering.total = MAX_CHUNKS
        else:
            numbering.total *= count


cdef inline int add_numbered(Known* k, Chunks* c, const Numbering* numbering, uint64_t number, uint64_t offset,
                             uint64_t size, uint32_t mask) except -1:
    cdef uint64_t[MAX_RANK] position
    cdef int i
    for i in range(c.rank - 1, 0, -1):
        position[numbering.axes[i]] = number % numbering.counts[i]
        number //= numbering.counts[i]
    position[numbering.axes[0]] = number
    return add(k, c, position, offset, size, mask)


cdef inline int _add_entries(Known* k, Chunks* c, const Numbering* numbering, const Array* array, const uint8_t* p,
                             uint64_t first, uint64_t n) except -1:
    """List the chunks of entries, of which the first one has a number."""
    cdef uint64_t i, offset
    for i in range(n):
        offset = u64(p)
        if offset != UNDEFINED:
            if array.client:
                add_numbered(k, c, numbering, first + i, offset, wide(p + 8, array.entry - 12),
                             u32(p + array.entry - 4))
            else:
                add_numbered(k, c, numbering, first + i, offset, c.size, 0)
        p += array.entry
    return 0


cdef inline const uint8_t* _block(Known* k, const Array* array, uint64_t address, uint64_t size, const char* signature,
                                  const char* what) except? NULL:
    """Return a block of an array, with a checksum after its head; NULL, and recorded as missing, if not read."""
    cdef const uint8_t* p = _known(k, address, size, what)
    if p == NULL:
        return NULL
    p = structure(k, address, size, signature, 0, what)
    check(k, p[5] == array.client and u64(p + 6) == array.address, what, address, b"it is of another array")
    return p


cdef inline const uint8_t* _known(Known* k, uint64_t address, uint64_t size, const char* what) except? NULL:
    cdef const uint8_t* p
    check(k, address <= k.size and size <= k.size - address, what, address, b"it is not within the file")
    p = find(k, address, address + size)
    if p == NULL:
        lack(k, address, size)
    return p


cdef inline int _check_array(Known* k, const Chunks* c, const Array* array, const char* what) except -1:
    check(k, array.client == c.is_filtered, what, array.address, b"it is for chunks of another kind")
    check(k, 13 <= array.entry <= 20 if array.client else array.entry == 8, what, array.address,
          b"entries of a wrong size")
    return 0


cdef inline bint _is_set(const uint8_t* bits, uint64_t i) noexcept nogil:
    return bits[i // 8] >> (7 - i % 8) & 1


cdef inline int _add_page(Known* k, Chunks* c, const Numbering* numbering, const Array* array, uint64_t address,
                          uint64_t first, uint64_t n, const char* what) except -1:
    cdef const uint8_t* p = _known(k, address, n * array.entry + SUM, what)
    if p == NULL:
        return 0
    check_sum(k, p, n * array.entry, what, address)
    return _add_entries(k, c, numbering, array, p, first, n)


cdef inline int read_fixed(Known* k, Chunks* c, const Numbering* numbering, uint64_t address) except -1:
    """List the chunks of a fixed array. Blocks that were not read are recorded as missing and left out."""
    cdef const char* what = b"fixed array"
    cdef const uint8_t* p = structure(k, address, FIXED_SIZE, b"FAHD", 0, what)
    cdef Array array
    cdef uint64_t n = u64(p + 8), block = u64(p + 16), page, n_pages, n_bits, at, i
    cdef uint8_t page_bits = p[7]
    array.address, array.client, array.entry = address, p[5], p[6]
    _check_array(k, c, &array, what)
    check(k, n == numbering.total, what, address, b"another number of entries than of chunks")
    check(k, page_bits <= MAX_PAGE_BITS, what, address, b"too large pages")
    if block == UNDEFINED or n == 0:
        return 0
    check(k, n <= k.size // array.entry, what, address, b"more entries than the file can have")
    page = <uint64_t> 1 << page_bits
    what = b"data block of a fixed array"
    if n <= page:
        p = _block(k, &array, block, BLOCK_HEAD + n * array.entry + SUM, b"FADB", what)
        return 0 if p == NULL else _add_entries(k, c, numbering, &array, p + BLOCK_HEAD, 0, n)
    n_pages = (n - 1) // page + 1
    n_bits = (n_pages - 1) // 8 + 1
    p = _block(k, &array, block, BLOCK_HEAD + n_bits + SUM, b"FADB", what)
    if p == NULL:
        return 0
    at = block + BLOCK_HEAD + n_bits + SUM
    for i in range(n_pages):
        if _is_set(p + BLOCK_HEAD, i):
            _add_page(k, c, numbering, &array, at, i * page, min(page, n - i * page), b"page of a fixed array")
        at += page * array.entry + SUM
    return 0


cdef struct Extensible:
    Array array
    uint64_t n  # entries that are in use, about
    uint64_t n_first  # entries in the index block
    uint64_t page  # entries of a page
    uint32_t number_size  # bytes of the number of an entry


cdef inline int read_extensible(Known* k, Chunks* c, const Numbering* numbering, uint64_t address) except -1:
    """List the chunks of an extensible array. Blocks that were not read are recorded as missing and left out.

    After the entries in the index block, entries are in data blocks. These belong to levels: each second level has
    twice as many blocks, and the others have blocks of twice the size. The index block leads to the data blocks of the
    first levels; each further level has a super block that leads to its data blocks.
    """
    cdef const char* what = b"extensible array"
    cdef const uint8_t* p = structure(k, address, EXTENSIBLE_SIZE, b"EAHD", 0, what)
    cdef Extensible e
    cdef uint32_t max_bits = p[7], n_pointers = p[10], n_levels, n_direct, level
    cdef uint64_t block = u64(p + 60), smallest = p[9], first, n_blocks, n, i
    cdef uint8_t page_bits = p[11]
    e.array.address, e.array.client, e.array.entry = address, p[5], p[6]
    e.n, e.n_first, e.number_size = u64(p + 44), p[8], (max_bits + 7) // 8
    _check_array(k, c, &e.array, what)
    check(k, 0 < max_bits <= MAX_BITS and page_bits <= MAX_PAGE_BITS, what, address, b"too many entries")
    check(k, smallest and smallest & (smallest - 1) == 0 and n_pointers and n_pointers & (n_pointers - 1) == 0,
          what, address, b"sizes of blocks are no powers of two")
    check(k, log2_of(smallest) <= <int> max_bits, what, address, b"too large blocks")
    check(k, e.n <= MAX_CHUNKS, what, address, b"too many entries")
    e.page = <uint64_t> 1 << page_bits
    if block == UNDEFINED or numbering.total == 0:
        return 0
    n_levels = 1 + max_bits - log2_of(smallest)
    n_direct = min(<uint32_t> (2 * log2_of(n_pointers)), n_levels)
    n_blocks = 2 * (n_pointers - 1)
    what = b"index block of an extensible array"
    p = _block(k, &e.array, block, BLOCK_HEAD + e.n_first * e.array.entry + 8 * (n_blocks + n_levels - n_direct) + SUM,
               b"EAIB", what)
    if p == NULL:
        return 0
    p += BLOCK_HEAD
    _add_entries(k, c, numbering, &e.array, p, 0, min(e.n_first, e.n))
    p += e.n_first * e.array.entry
    first = e.n_first
    for level in range(n_levels):
        if first >= e.n:
            break
        n_blocks, n = <uint64_t> 1 << level // 2, smallest << (level + 1) // 2
        if level >= n_direct:
            _read_super_block(k, c, numbering, &e, u64(p), first, n_blocks, n)
            p += 8
        elif n > e.page:
            is_unusual(k, b"an extensible array with pages in its first blocks", address)
        else:
            for i in range(n_blocks):
                _read_data_block(k, c, numbering, &e, u64(p), first + i * n, n, NULL, 0, False)
                p += 8
        first += n_blocks * n
    return 0


cdef inline int _read_super_block(Known* k, Chunks* c, const Numbering* numbering, const Extensible* e,
                                  uint64_t address, uint64_t first, uint64_t n_blocks, uint64_t n) except -1:
    cdef const char* what = b"super block of an extensible array"
    cdef uint64_t n_bits = 0, i
    cdef const uint8_t* p
    cdef const uint8_t* bits
    if address == UNDEFINED:
        return 0
    if n > e.page:
        n_bits = (n // e.page - 1) // 8 + 1
    check(k, n_blocks <= k.size // 8 and n_bits <= k.size // n_blocks, what, address,
          b"more blocks than the file can have")
    p = _numbered_block(k, e, address, n_blocks * (n_bits + 8) + SUM, first, b"EASB", what)
    if p == NULL:
        return 0
    bits = p
    p += n_blocks * n_bits
    for i in range(n_blocks):
        _read_data_block(k, c, numbering, e, u64(p + 8 * i), first + i * n, n, bits if n_bits else NULL,
                         i * (n // e.page), True)
    return 0


cdef inline int _read_data_block(Known* k, Chunks* c, const Numbering* numbering, const Extensible* e,
                                 uint64_t address, uint64_t first, uint64_t n, const uint8_t* pages,
                                 uint64_t first_page, bint is_numbered) except -1:
    """List the chunks of a data block of `n` entries.

    Which of its pages are there is in the bits `pages` from `first_page` on; NULL: it has no pages. Blocks that the
    index block names say another number than that of their first entry.
    """
    cdef const char* what = b"data block of an extensible array"
    cdef const uint8_t* p
    cdef uint64_t i, at
    if address == UNDEFINED or first >= e.n:
        return 0
    if pages == NULL:
        check(k, n <= k.size // e.array.entry, what, address, b"more entries than the file can have")
        p = _numbered_block(k, e, address, n * e.array.entry + SUM, first if is_numbered else ANY, b"EADB", what)
        return 0 if p == NULL else _add_entries(k, c, numbering, &e.array, p, first, min(n, e.n - first))
    p = _numbered_block(k, e, address, SUM, first, b"EADB", what)
    if p == NULL:
        return 0
    at = address + BLOCK_HEAD + e.number_size + SUM
    for i in range(n // e.page):
        if first + i * e.page >= e.n:
            break
        if _is_set(pages, first_page + i):
            _add_page(k, c, numbering, &e.array, at, first + i * e.page, e.page, b"page of an extensible array")
        at += e.page * e.array.entry + SUM
    return 0


cdef inline const uint8_t* _numbered_block(Known* k, const Extensible* e, uint64_t address, uint64_t size,
                                           uint64_t first, const char* signature, const char* what) except? NULL:
    """Return what follows the head of a block, which says the number of its first entry; NULL if it is not known."""
    cdef const uint8_t* p = _block(k, &e.array, address, BLOCK_HEAD + e.number_size + size, signature, what)
    if p == NULL:
        return NULL
    check(k, first == ANY or wide(p + BLOCK_HEAD, e.number_size) == first - e.n_first, what, address,
          b"it is for other entries")
    return p + BLOCK_HEAD + e.number_size
