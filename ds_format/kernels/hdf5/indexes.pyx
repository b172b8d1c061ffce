"""The index of chunks of a dataset → where each chunk is; see Appendix C of the HDF5 File Format Specification 3.0."""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from .btree1 cimport MAX_RANK, Chunks, add, compare, define, read_btree1
from .chunk_arrays cimport Numbering, add_numbered, number, read_extensible, read_fixed
from .known cimport LACKING, UNDEFINED, Known, check, structure, u16, u32, u64, wide
from .segments cimport Segments
from .trees cimport TREE_SIZE, Records, read_tree

cnp.import_array()

cdef enum:
    PLAIN_CHUNKS = 10  # types of B-trees of version 2
    FILTERED_CHUNKS = 11

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
