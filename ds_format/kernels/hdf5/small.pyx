"""Chunks in memory → an array, in one pass: all of a small variable.

The filters are at most "shuffle", then "deflate". Whatever else there is, damage included, is left to others.
"""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from ..common.filling cimport Search, empty, rank_of, search_values, start_search
from ..common.inflate cimport inflate_short
from .btree1 cimport MAX_RANK, Chunks, Entry, define, read_btree1
from .known cimport Known, Segment
from .placing cimport Form, put_part

cnp.import_array()

cdef enum:
    MAX_RATIO = 1032  # bytes to which one byte of deflate expands at most
    SHORT = 512  # bytes of a stream for which a library takes longer than this package
    LITTLE = 32 << 10  # bytes for which to leave the GIL is not worth while

cdef struct Job:
    uint8_t* target  # of the array
    uint8_t* buffer  # for one chunk, or NULL
    uint64_t size  # bytes of a chunk in memory
    int rank
    Form form
    int64_t[MAX_RANK] shape, target_shape  # of a chunk, and of the array
    int64_t[3 * MAX_RANK] part  # that is copied


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
        Position of the index.
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
    cdef Search search
    cdef cnp.npy_intp lengths[MAX_RANK]
    _define(&c, &search, lengths, shape, chunk, dtype, is_big, inflate is not None, wanted)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    memset(&k, 0, sizeof(Known))
    all_of_it = Segment(0, view.len, <const uint8_t*> view.buf)
    k.segments, k.n, k.size = &all_of_it, 1, view.len
    try:
        read_btree1(&k, &c, address)
        return _assemble(&c, &search, all_of_it.data, dtype, lengths, is_shuffled, inflate, fill)
    except EOFError:
        return None
    finally:
        free(c.entries)
        free(k.needed)
        PyBuffer_Release(&view)


def read_listed(
    const uint8_t[::1] data not None, const int64_t[::1] numbers not None, const int64_t[::1] sizes not None,
    const uint32_t[::1] masks not None, tuple shape not None, tuple chunk not None, cnp.dtype dtype not None,
    bint is_big, bint is_shuffled, inflate, bytes fill, cnp.ndarray wanted,
):
    """Return a variable whose chunks were listed and read before.

    Parameters
    ----------
    data : (n,) uint8
        Chunks as in the file, one after another.
    numbers : (N,) int64
        Which chunk each is, counted through the shape in C order; ascending.
    sizes : (N,) int64
        Bytes of each.
    masks : (N,) uint32
        A bit for each filter that a chunk did not go through.
    shape, chunk, dtype, is_big, is_shuffled, inflate, fill, wanted
        As of `read_chunked`.

    Returns
    -------
    array, found
        As of `read_chunked`.

    Raises
    ------
    ValueError
        If the chunks are not those of this shape, or lengths do not fit each other.
    """
    cdef Chunks c
    cdef Search search
    cdef cnp.npy_intp lengths[MAX_RANK]
    cdef Py_ssize_t n = numbers.shape[0], i, at = 0
    cdef int64_t before = -1
    if sizes.shape[0] != n or masks.shape[0] != n:
        raise ValueError(f"found {n} numbers, {sizes.shape[0]} sizes and {masks.shape[0]} masks")
    _define(&c, &search, lengths, shape, chunk, dtype, is_big, inflate is not None, wanted)
    c.entries = <Entry*> malloc((n + 1) * sizeof(Entry))
    if c.entries == NULL:
        raise MemoryError
    try:
        for i in range(n):
            if numbers[i] <= before or <uint64_t> numbers[i] >= _count(&c):
                raise ValueError(f"the chunk {numbers[i]} after {before}, expected those of {_count(&c)}, in order")
            if not 0 <= sizes[i] <= data.shape[0] - at:
                raise ValueError(f"{data.shape[0]} bytes, expected at least {sizes[i]} from {at} on")
            c.entries[i] = Entry(numbers[i], at, sizes[i], masks[i])
            before = numbers[i]
            at += sizes[i]
        c.n = n
        return _assemble(&c, &search, &data[0] if data.shape[0] else NULL, dtype, lengths, is_shuffled, inflate, fill)
    finally:
        free(c.entries)


cdef int _define(
    Chunks* c, Search* search, cnp.npy_intp* lengths, tuple shape, tuple chunk, cnp.dtype dtype, bint is_big,
    bint is_deflated, cnp.ndarray wanted,
) except -1:
    if len(shape) > MAX_RANK:
        raise ValueError(f"{len(shape)} axes, expected at most {MAX_RANK}")
    start_search(search, dtype, wanted, is_big)
    define(c, shape, chunk, search.size, is_deflated, False)
    rank_of(shape, lengths)
    return 0


cdef uint64_t _count(const Chunks* c) noexcept:
    """Return how many chunks a shape has."""
    cdef uint64_t n = 1
    cdef int axis
    for axis in range(c.rank):
        n *= c.grid[axis]
    return n


cdef object _assemble(
    const Chunks* c, Search* search, const uint8_t* data, cnp.dtype dtype, const cnp.npy_intp* lengths,
    bint is_shuffled, inflate, bytes fill,
):
    """Return the array, and whether a wanted value is there; None if a chunk is damaged, or has a mask."""
    cdef Job job
    cdef Py_ssize_t i
    cdef int axis
    cdef cnp.ndarray array = empty(dtype, c.rank, lengths)
    if <uint64_t> c.n < _count(c):
        _fill(array, fill, search.size, search.swapped)
    job.target, job.size, job.rank, job.buffer = <uint8_t*> cnp.PyArray_DATA(array), c.size, c.rank, NULL
    job.form = Form(c.size // search.size, search.size, is_shuffled, search.swapped)
    for axis in range(c.rank):
        job.shape[axis], job.target_shape[axis] = c.chunk[axis], lengths[axis]
    try:
        for i in range(c.n):
            _set_part(c, c.entries[i].number, &job)
            if c.entries[i].mask or not _put_chunk(&job, data + c.entries[i].offset, c.entries[i].size, inflate):
                return None
    finally:
        free(job.buffer)
    search_values(search, <const uint8_t*> cnp.PyArray_DATA(array), cnp.PyArray_SIZE(array))
    return array, search.found


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


cdef void _set_part(const Chunks* c, uint64_t number, Job* job) noexcept:
    """Say which part of a chunk is in the array, and where."""
    cdef int64_t first
    cdef int axis
    for axis in range(c.rank - 1, -1, -1):
        first = (number % c.grid[axis]) * c.chunk[axis]
        number //= c.grid[axis]
        job.part[axis], job.part[c.rank + axis] = 0, min(job.shape[axis], job.target_shape[axis] - first)
        job.part[2 * c.rank + axis] = first


cdef bint _put_chunk(Job* job, const uint8_t* start, uint64_t size, inflate) except -1:
    """Put the values of a chunk to their places; return whether the chunk is right."""
    cdef Py_buffer view
    cdef bint is_right
    if inflate is None:
        if size == job.size:
            _place(job, start)
        return size == job.size
    if job.size // MAX_RATIO > size:
        return False
    if size <= SHORT:
        if job.buffer == NULL:
            job.buffer = <uint8_t*> malloc(job.size)
            if job.buffer == NULL:
                raise MemoryError
        is_right = inflate_short(start, size, job.buffer, job.size)
        if is_right:
            _place(job, job.buffer)
        return is_right
    try:
        inflated = inflate(PyMemoryView_FromMemory(<char*> start, size, PyBUF_READ), job.size)
    except Exception:
        return False  # the general way reads it again and names the fault
    PyObject_GetBuffer(inflated, &view, PyBUF_SIMPLE)
    is_right = <uint64_t> view.len == job.size
    if is_right:
        _place(job, <const uint8_t*> view.buf)
    PyBuffer_Release(&view)
    return is_right


cdef void _place(const Job* job, const uint8_t* chunk) noexcept:
    if job.size <= LITTLE:
        put_part(chunk, job.shape, job.target, job.target_shape, job.part, job.rank, job.form, NULL)
    else:
        with nogil:
            put_part(chunk, job.shape, job.target, job.target_shape, job.part, job.rank, job.form, NULL)
