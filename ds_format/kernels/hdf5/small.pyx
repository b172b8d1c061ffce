"""A variable in chunks, of a file in memory → an array, in one pass. It serves small files, of which there are many."""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from ..common.filling cimport Wanted, empty, rank_of, seek, want
from ..common.inflate cimport inflate_short
from .btree1 cimport MAX_RANK, Chunks, define, read_btree1
from .known cimport Known, Segment
from .placing cimport Form, put_part

cnp.import_array()

cdef enum:
    MAX_RATIO = 1032  # bytes to which one byte of deflate expands at most
    SHORT = 512  # bytes of a stream for which a library takes longer than this package


def read_chunked(
    data, uint64_t address, tuple shape not None, tuple chunk not None, cnp.dtype dtype not None, bint is_big,
    bint is_shuffled, inflate, bytes fill, cnp.ndarray wanted,
):
    """Return a variable whose chunks a B-tree of version 1 lists.

    Parameters
    ----------
    data : C-contiguous buffer
        All of the file.
    address : int
        Of the index.
    shape : tuple of int
        In values, with at most 2**62 chunks.
    chunk : tuple of int
        Shape of a chunk, in values; not 0.
    dtype : dtype
        Native, of 1, 2, 4 or 8 bytes.
    is_big : bool
        Whether the file has values in big-endian order.
    is_shuffled : bool
        Whether chunks went through the filter "shuffle".
    inflate : callable or None
        (bytes, size) → buffer of that size. None: they did not go through the filter "deflate", which is the last one.
    fill : bytes or None
        Value of what was not written, as the file has it; None: zeros.
    wanted : (N,) ndarray or None
        Values of this dtype to look for.

    Returns
    -------
    array : ndarray
    found : bool
        Whether one of the wanted ones is there.
        None instead of both: something is damaged, or not as described here.
    """
    cdef Py_buffer view
    cdef Segment all_of_it
    cdef Known k
    cdef Chunks c
    cdef Wanted w
    cdef cnp.npy_intp lengths[MAX_RANK]
    cdef uint8_t* buffer = NULL
    cdef Py_ssize_t i
    cdef int axis
    cdef uint64_t n = 1
    if len(shape) > MAX_RANK:
        raise ValueError(f"{len(shape)} axes, expected at most {MAX_RANK}")
    want(&w, dtype, wanted, is_big)
    define(&c, shape, chunk, w.size, inflate is not None, False)
    rank_of(shape, lengths)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    memset(&k, 0, sizeof(Known))
    all_of_it = Segment(0, view.len, <const uint8_t*> view.buf)
    k.segments, k.n, k.size = &all_of_it, 1, view.len
    try:
        try:
            read_btree1(&k, &c, address)
        except EOFError:
            return None
        array = empty(dtype, c.rank, lengths)
        for axis in range(c.rank):
            n *= c.grid[axis]
        if <uint64_t> c.n < n:
            _fill(array, fill, w.size, w.swapped)
        for i in range(c.n):
            if c.entries[i].mask or not _put_chunk(&c, i, all_of_it.data, &buffer, inflate, is_shuffled, array, &w):
                return None
        seek(&w, <const uint8_t*> cnp.PyArray_DATA(array), cnp.PyArray_SIZE(array))
        return array, w.found
    finally:
        free(buffer)
        free(c.entries)
        free(k.needed)
        PyBuffer_Release(&view)


cdef int _fill(cnp.ndarray array, bytes fill, int size, bint swapped) except -1:
    cdef uint8_t* p = <uint8_t*> cnp.PyArray_DATA(array)
    cdef uint8_t[8] value
    cdef const uint8_t* given
    cdef Py_ssize_t i
    if fill is None:
        memset(p, 0, cnp.PyArray_NBYTES(array))
        return 0
    if len(fill) != size:
        raise ValueError(f"fill: found {len(fill)} bytes, expected {size}")
    given = fill
    for i in range(size):
        value[i] = given[size - 1 - i if swapped else i]
    for i in range(cnp.PyArray_SIZE(array)):
        memcpy(p + i * size, value, size)
    return 0


cdef bint _put_chunk(
    const Chunks* c, Py_ssize_t i, const uint8_t* file, uint8_t** buffer, inflate, bint is_shuffled, cnp.ndarray array,
    const Wanted* w,
) except -1:
    """Put the values of a chunk to their places; return whether the chunk is right."""
    cdef const uint8_t* start = file + c.entries[i].offset
    cdef uint64_t size = c.entries[i].size
    cdef Py_buffer view
    cdef bint is_right
    if inflate is None:
        _place(c, i, start, is_shuffled, array, w)
        return True
    if c.size // MAX_RATIO > size:
        return False
    if size <= SHORT:
        if buffer[0] == NULL:
            buffer[0] = <uint8_t*> malloc(c.size)
            if buffer[0] == NULL:
                raise MemoryError
        is_right = inflate_short(start, size, buffer[0], c.size)
        if is_right:
            _place(c, i, buffer[0], is_shuffled, array, w)
        return is_right
    try:
        inflated = inflate(PyMemoryView_FromMemory(<char*> start, size, PyBUF_READ), c.size)
    except Exception:
        return False  # whoever reads it again says what is wrong
    PyObject_GetBuffer(inflated, &view, PyBUF_SIMPLE)
    is_right = <uint64_t> view.len == c.size
    if is_right:
        _place(c, i, <const uint8_t*> view.buf, is_shuffled, array, w)
    PyBuffer_Release(&view)
    return is_right


cdef void _place(
    const Chunks* c, Py_ssize_t i, const uint8_t* chunk, bint is_shuffled, cnp.ndarray array, const Wanted* w
) noexcept:
    cdef int64_t[MAX_RANK] shape, lengths
    cdef int64_t[3 * MAX_RANK] part
    cdef uint64_t number = c.entries[i].number
    cdef int64_t first
    cdef int axis
    for axis in range(c.rank - 1, -1, -1):
        shape[axis], lengths[axis] = c.chunk[axis], cnp.PyArray_DIM(array, axis)
        first = (number % c.grid[axis]) * c.chunk[axis]
        number //= c.grid[axis]
        part[axis], part[c.rank + axis] = 0, min(shape[axis], lengths[axis] - first)
        part[2 * c.rank + axis] = first
    put_part(chunk, shape, <uint8_t*> cnp.PyArray_DATA(array), lengths, part, c.rank,
             Form(c.size // w.size, w.size, is_shuffled, w.swapped))
