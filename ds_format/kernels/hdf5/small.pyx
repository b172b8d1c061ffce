"""Values and strings in memory → arrays, in one pass: all of a small variable, or of several.

The filters of chunks are at most "shuffle", then "deflate". Whatever else there is, damage included, is left to others.
Strings of variable length are references into collections of the global heap.
"""

import math

cimport cython
cimport numpy as cnp
from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

from ..common.filling cimport Search, copy_and_search, empty, rank_of, search_values, start_search
from ..common.finishing cimport MAX_FINISHED, STRINGS, Finisher
from .btree1 cimport MAX_RANK, Chunks, Entry, define, read_btree1
from .collections cimport Collections, free_collections, variable_value
from .heaps cimport Bytes
from .known cimport LACKING, Known, Segment, u64, unusual as is_unusual
from .placing cimport Form, Job, put_chunk
from .segments cimport Segments

cnp.import_array()

cdef enum:
    LITTLE = 32 << 10  # bytes for which to leave the GIL is not worth while
    REFERENCE = 16  # bytes: the length of a string, the address of a collection, the number of an object in it

cdef cnp.dtype _object = cnp.PyArray_DescrFromType(cnp.NPY_OBJECT)


@cython.final
cdef class SmallArray:
    """How all values of a dataset are stored, wherever they are in a file.

    Parameters
    ----------
    shape : tuple of int
        In values, with at most 2**62 chunks.
    chunk : tuple of int or None
        Shape of a chunk, in values; not 0. None: the values lie in one piece.
    dtype : dtype
        Native, of 1, 2, 4 or 8 bytes; V16: references to strings, which are read as bytes along a last axis.
    is_big : bool
        Whether the file has values in big-endian order.
    is_shuffled, is_deflated : bool
        Filters of chunks. "deflate" is the last one.
    fill : bytes or None
        Value of what was not written, as the file has it; None: zeros.
    """

    cdef readonly tuple shape
    cdef tuple arguments
    cdef cnp.dtype dtype
    cdef object fill
    cdef bint is_big, is_shuffled, is_deflated, is_in_chunks, has_bytes
    cdef int rank
    cdef uint64_t n  # values; at most 2**62
    cdef cnp.npy_intp[MAX_RANK] lengths
    cdef Chunks chunks

    def __init__(self, tuple shape not None, tuple chunk, cnp.dtype dtype not None, bint is_big, bint is_shuffled,
                 bint is_deflated, bytes fill):
        cdef Search search
        self.arguments = shape, chunk, dtype, is_big, is_shuffled, is_deflated, fill
        self.has_bytes = dtype.kind == c"V"
        if self.has_bytes:
            shape, chunk = (*shape, REFERENCE), None if chunk is None else (*chunk, REFERENCE)
            dtype = cnp.PyArray_DescrFromType(cnp.NPY_UINT8)
        if len(shape) > MAX_RANK:
            raise ValueError(f"{len(shape)} axes, expected at most {MAX_RANK}")
        self.shape, self.dtype, self.fill, self.is_big = shape, dtype, fill, is_big
        self.is_shuffled, self.is_deflated, self.is_in_chunks = is_shuffled, is_deflated, chunk is not None
        self.rank, self.n = rank_of(shape, self.lengths), min(math.prod(shape), 1 << 62)
        start_search(&search, dtype, None, is_big)
        if fill is not None and len(fill) != search.size:
            raise ValueError(f"fill: found {len(fill)} bytes, expected {search.size}")
        if chunk is not None:
            define(&self.chunks, shape, chunk, search.size, is_deflated, False)

    def __reduce__(self):
        return SmallArray, self.arguments

    def read(self, data, uint64_t address, cnp.ndarray wanted):
        """Return the array, and whether one of some values is in it.

        Parameters
        ----------
        data : C-contiguous buffer
            All of the file.
        address : int
            Position of the values, or of the B-tree of version 1 that lists the chunks.
        wanted : (N,) ndarray or None
            Values of the dtype of the array to look for.

        Returns
        -------
        array : ndarray
        found : bool
            Whether one of the wanted ones is there.
            None instead of both: something is damaged, or not as this class describes it.
        """
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            return self.at(<const uint8_t*> view.buf, view.len, address, wanted)
        finally:
            PyBuffer_Release(&view)

    def read_listed(
        self, const uint8_t[::1] data not None, const int64_t[::1] numbers not None, const int64_t[::1] sizes not None,
        const uint32_t[::1] masks not None, cnp.ndarray wanted,
    ):
        """Return the array of chunks that were listed and read before.

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
        wanted
            As of `read`.

        Returns
        -------
        array, found
            As of `read`.

        Raises
        ------
        ValueError
            If the chunks are not those of this shape, or lengths do not fit each other.
        """
        cdef Chunks c = self.chunks
        cdef Py_ssize_t n = numbers.shape[0], i, at = 0
        cdef int64_t before = -1
        if not self.is_in_chunks or sizes.shape[0] != n or masks.shape[0] != n:
            raise ValueError(f"found {n} numbers, {sizes.shape[0]} sizes and {masks.shape[0]} masks")
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
            return self.assembled(&c, &data[0] if data.shape[0] else NULL, wanted)
        finally:
            free(c.entries)

    cdef object at(self, const uint8_t* data, uint64_t size, uint64_t address, cnp.ndarray wanted):
        """Do what `read` does."""
        cdef Segment all_of_it = Segment(0, size, data)
        cdef Known k
        cdef Chunks c
        if wanted is not None and self.dtype.itemsize == 2 and self.dtype.kind == c"f":
            return None  # no search compares such numbers by value
        if not self.is_in_chunks:
            return self.copied(data, size, address, wanted)
        c = self.chunks
        memset(&k, 0, sizeof(Known))
        k.segments, k.n, k.size = &all_of_it, 1, size
        try:
            c.rank -= self.has_bytes  # the index has no such axis
            read_btree1(&k, &c, address)
            c.rank += self.has_bytes
            return self.assembled(&c, data, wanted)
        except EOFError:
            return None
        finally:
            free(c.entries)
            free(k.needed)

    cdef object copied(self, const uint8_t* data, uint64_t size, uint64_t address, cnp.ndarray wanted):
        """Return values that lie in one piece; None if the file ends before they do."""
        cdef Search search
        cdef Py_ssize_t count = self.n
        cdef cnp.ndarray array
        if address > size or self.n > (size - address) // <uint64_t> self.dtype.itemsize:
            return None
        start_search(&search, self.dtype, wanted, self.is_big)
        array = empty(self.dtype, self.rank, self.lengths)
        if count * search.size <= LITTLE:
            copy_and_search(data + address, <uint8_t*> cnp.PyArray_DATA(array), count, &search)
        else:
            with nogil:
                copy_and_search(data + address, <uint8_t*> cnp.PyArray_DATA(array), count, &search)
        return array, search.found

    cdef object assembled(self, const Chunks* c, const uint8_t* data, cnp.ndarray wanted):
        """Return the array, and whether a wanted value is there; None if a chunk is damaged, or has a mask."""
        cdef Search search
        cdef Job job
        cdef Entry one
        cdef Py_ssize_t i
        cdef int axis
        cdef cnp.ndarray array
        cdef int64_t[3 * MAX_RANK] part
        cdef bint is_right
        start_search(&search, self.dtype, wanted, self.is_big)
        array = empty(self.dtype, self.rank, self.lengths)
        if <uint64_t> c.n < _count(c):
            _fill(array, self.fill, search.size, search.swapped)
        job.target, job.inflated, job.search = <uint8_t*> cnp.PyArray_DATA(array), NULL, NULL
        job.size, job.rank = c.size, c.rank
        job.form = Form(c.size // search.size, search.size, self.is_shuffled, search.swapped)
        for axis in range(c.rank):
            job.shape[axis], job.target_shape[axis] = c.chunk[axis], self.lengths[axis]
        if self.is_deflated and c.n:
            job.inflated = <uint8_t*> malloc(c.size)
            if job.inflated == NULL:
                raise MemoryError
        try:
            for i in range(c.n):
                one = c.entries[i]
                _set_part(c, one.number, &job, part)
                if c.size <= LITTLE:
                    is_right = not one.mask and put_chunk(&job, data + one.offset, one.size, part)
                else:
                    with nogil:
                        is_right = not one.mask and put_chunk(&job, data + one.offset, one.size, part)
                if not is_right:
                    return None
        finally:
            free(job.inflated)
        search_values(&search, <const uint8_t*> cnp.PyArray_DATA(array), cnp.PyArray_SIZE(array))
        return array, search.found


def read_small(data, list forms not None, list addresses not None, list requests not None, bint masked):
    """Read several datasets of a file in one call, as they are returned.

    Parameters
    ----------
    data : C-contiguous buffer
        All of the file.
    forms : list of (SmallArray or None)
        None: it is not read here.
    addresses : list of (int or None)
        As of `SmallArray.read`. None: nothing was written, and it is not read here.
    requests : list of ((tuple, Finisher) or None)
        The shape that the dataset must have, and what becomes of the values. None: it is not read here.
    masked : bool
        As of `Finisher.apply`.

    Returns
    -------
    values : list
        None: it was not read here, for these reasons, or since it is damaged, or not as its form describes it, or the
        finisher leaves it to the caller.
    left : list of int
        Which these are.
    """
    cdef Py_buffer view
    cdef Py_ssize_t i, n = len(forms)
    cdef list values = [None] * n, left = []
    cdef tuple request
    cdef SmallArray form
    cdef Finisher finisher
    if len(addresses) != n or len(requests) != n:
        raise ValueError(f"{n} forms, {len(addresses)} addresses and {len(requests)} requests")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        for i in range(n):
            form, request, value = forms[i], requests[i], None
            if form is not None and request is not None and addresses[i] is not None:
                finisher = <Finisher?> request[1]
                if form.shape[: len(form.shape) - (finisher.kind == STRINGS)] != request[0]:
                    left.append(i)
                    continue
                value = _finished(form, <const uint8_t*> view.buf, view.len, addresses[i], finisher, masked)
            if value is None:
                left.append(i)
            else:
                values[i] = value
    finally:
        PyBuffer_Release(&view)
    return values, left


cdef object _finished(
    SmallArray form, const uint8_t* data, uint64_t size, uint64_t address, Finisher finisher, bint masked
):
    """Return a dataset as it is returned, or None if it is left to the caller."""
    if form.n > <uint64_t> MAX_FINISHED * (REFERENCE if finisher.kind == STRINGS else 1):
        return None
    cdef tuple read = form.at(data, size, address, finisher.sought)
    if read is None:
        return None
    if finisher.kind != STRINGS:
        return finisher.finish(read[0], read[1], masked)
    strings = _strings(read[0], data, size, finisher.is_text)
    return None if strings is None else finisher.finish(strings, False, masked)


cdef cnp.ndarray _strings(cnp.ndarray references, const uint8_t* data, uint64_t size, bint is_text):
    """Return the strings of references, whose bytes are along the last axis; None if something is wrong with them."""
    cdef Segment all_of_it = Segment(0, size, data)
    cdef Known k
    cdef int rank = cnp.PyArray_NDIM(references) - 1
    if rank < 0 or cnp.PyArray_DIM(references, rank) != REFERENCE or cnp.PyArray_ITEMSIZE(references) != 1:
        return None
    memset(&k, 0, sizeof(Known))
    k.segments, k.n, k.size = &all_of_it, 1, size
    strings = empty(_object, rank, cnp.PyArray_DIMS(references))
    try:
        put_strings(
            &k, <const uint8_t*> cnp.PyArray_DATA(references), cnp.PyArray_SIZE(strings), is_text,
            <PyObject**> cnp.PyArray_DATA(strings)
        )
        return None if k.n_needed else strings
    except (EOFError, UnicodeDecodeError):
        return None
    finally:
        free(k.needed)
        free(k.seen)


cdef uint64_t _count(const Chunks* c) noexcept:
    """Return how many chunks a shape has."""
    cdef uint64_t n = 1
    cdef int axis
    for axis in range(c.rank):
        n *= c.grid[axis]
    return n


cdef int _fill(cnp.ndarray array, bytes fill, int size, bint swapped) except -1:
    cdef uint8_t* p = <uint8_t*> cnp.PyArray_DATA(array)
    cdef uint8_t[8] value
    cdef const uint8_t* given
    cdef Py_ssize_t i
    if fill is None:
        memset(p, 0, cnp.PyArray_NBYTES(array))
        return 0
    given = fill
    for i in range(size):
        value[i] = given[size - 1 - i if swapped else i]
    for i in range(cnp.PyArray_SIZE(array)):
        memcpy(p + i * size, value, size)
    return 0


cdef void _set_part(const Chunks* c, uint64_t number, const Job* job, int64_t* part) noexcept:
    """Say which part of a chunk is in the array, and where."""
    cdef int64_t first
    cdef int axis
    for axis in range(c.rank - 1, -1, -1):
        first = (number % c.grid[axis]) * c.chunk[axis]
        number //= c.grid[axis]
        part[axis], part[c.rank + axis] = 0, min(job.shape[axis], job.target_shape[axis] - first)
        part[2 * c.rank + axis] = first


cdef enum:
    SPARE = 65536  # bytes of strings that any file may have


def read_strings(
    list segments not None, uint64_t file_size, const uint8_t[::1] references not None, bint as_text, unusual
):
    """Return strings, each up to its first NUL.

    Parameters
    ----------
    segments : list of (int, C-contiguous buffer)
        Bytes of the file and where they begin, in order and apart from each other.
    file_size : int
        Bytes of the whole file.
    references : (16 * N,) uint8
    as_text : bool
        Whether to return `str`, or `bytes`.
    unusual : type
        The exception for files that are left to the libraries. It takes a reason.

    Returns
    -------
    (N,) ndarray of objects, or list of (int, int)
        Strings; or a list: offsets and sizes of bytes that are needed as well.

    Raises
    ------
    FormatError
        If a collection is damaged, or has no such string.
    UnicodeDecodeError
        If one is not UTF-8.
    Exception
        The one that was given, if so many strings are the same bytes of the file that they take far more memory.
    """
    cdef Segments known = Segments()
    cdef Py_ssize_t n = references.shape[0] // REFERENCE
    cdef cnp.npy_intp shape = n
    known.take(segments, file_size)
    found = empty(cnp.PyArray_DescrFromType(cnp.NPY_OBJECT), 1, &shape)
    try:
        put_strings(&known.k, &references[0] if n else NULL, n, as_text, <PyObject**> cnp.PyArray_DATA(found))
    except EOFError:
        raise known.error(unusual) from None
    return known.needed() if known.k.n_needed else found


cdef int put_strings(
    Known* k, const uint8_t* p, Py_ssize_t n, bint as_text, PyObject** out
) except -1:
    """Put strings of references, which are new, to places that hold nothing; see `read_strings`."""
    cdef Collections collections
    cdef Bytes one
    cdef Py_ssize_t i
    cdef uint64_t decoded = 0, lacking = 0
    cdef const uint8_t* before = NULL
    cdef object string = "" if as_text else b""
    collections.items, collections.n, collections.room, collections.last = NULL, 0, 0, 0
    try:
        for i in range(n):
            # what was not written has the same reference everywhere
            if before == NULL or memcmp(p, before, REFERENCE):
                try:
                    if not lacking or u64(p + 4) != lacking:
                        variable_value(k, &collections, p, 1, &one)
                        string = _string(&one, as_text)
                        decoded += one.size
                except EOFError:
                    if k.fault != LACKING:
                        raise
                    # others may lack bytes, too: these are read together
                    lacking = u64(p + 4)
                if decoded > 8 * k.size + SPARE:
                    is_unusual(k, b"strings that share their bytes")
            before = p
            p += REFERENCE
            Py_INCREF(string)
            out[i] = <PyObject*> string
    finally:
        free_collections(&collections)
    return 0


cdef object _string(const Bytes* one, bint as_text):
    cdef const void* end = memchr(one.data, 0, one.size) if one.size else NULL
    cdef Py_ssize_t size = one.size if end == NULL else <const uint8_t*> end - one.data
    if as_text:
        return PyUnicode_DecodeUTF8(<const char*> one.data, size, NULL)
    return PyBytes_FromStringAndSize(<const char*> one.data, size)
