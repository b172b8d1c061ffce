"""A variable of a file in memory → an array in native byte order, searched for sentinels in the same pass."""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t

from ..common.filling cimport MAX_RANK, Search, copy_and_search, empty, rank_of, start_search

cnp.import_array()

cdef enum:
    SMALL = 64 << 10  # bytes up to which releasing the GIL costs more than it gains


def decode(
    data, Py_ssize_t begin, Py_ssize_t step, tuple shape not None, cnp.dtype dtype not None, cnp.ndarray sentinels,
    bint is_big=True,
):
    """Return a variable.

    Parameters
    ----------
    data : C-contiguous buffer
        All bytes of the file.
    begin : int
        Bytes from its start to the first value.
    step : int
        Bytes from one record to the next; 0 without records.
    shape : tuple of int
    dtype : dtype
        Native, of 1, 2, 4 or 8 bytes.
    sentinels : (N,) ndarray or None
        Values of this dtype to search for.
    is_big : bool
        Whether the values in the file are big-endian.

    Returns
    -------
    array : ndarray
    found : bool
        Whether the array contains a sentinel.

    Raises
    ------
    EOFError
        If the data end before the last value.
    """
    cdef Py_buffer view
    cdef Search search
    cdef cnp.npy_intp lengths[MAX_RANK]
    cdef Py_ssize_t n_slabs = 1, n = 1
    cdef bint is_long = False
    cdef int rank = rank_of(shape, lengths), axis
    start_search(&search, dtype, sentinels, is_big)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if begin < 0 or step < 0 or (step and not rank):
            raise ValueError("begin, step: expected no negative number, and records of a variable with dimensions")
        for axis in range(rank):
            if axis == 0 and step:
                n_slabs = lengths[0]
            elif lengths[axis] and n > view.len // lengths[axis]:
                is_long = True
            else:
                n *= lengths[axis]
        if n and n_slabs:
            # the first record fits, and the remaining bytes are enough for the others
            if is_long or begin > view.len or n > (view.len - begin) // search.size:
                raise EOFError
            if step and n_slabs - 1 > (view.len - begin - n * search.size) // step:
                raise EOFError
        array = empty(dtype, rank, lengths)
        _fill(<const uint8_t*> view.buf + begin, step, <uint8_t*> cnp.PyArray_DATA(array), n_slabs, n, &search)
        return array, search.found
    finally:
        PyBuffer_Release(&view)


cdef void _fill(
    const uint8_t* source, Py_ssize_t step, uint8_t* target, Py_ssize_t n_slabs, Py_ssize_t n, Search* search
) noexcept:
    if n_slabs * n * search.size <= SMALL:
        _slabs(source, step, target, n_slabs, n, search)
    else:
        with nogil:
            _slabs(source, step, target, n_slabs, n, search)


cdef void _slabs(
    const uint8_t* source, Py_ssize_t step, uint8_t* target, Py_ssize_t n_slabs, Py_ssize_t n, Search* search
) noexcept nogil:
    cdef Py_ssize_t _
    for _ in range(n_slabs):
        copy_and_search(source, target, n, search)
        source += step
        target += n * search.size
