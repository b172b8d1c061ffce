"""A variable of a file in memory → an array in native byte order, and whether some value is in it, in one pass."""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t

from ..common.filling cimport MAX_RANK, Wanted, empty, put, rank_of, want

cnp.import_array()

cdef enum:
    SMALL = 64 << 10  # bytes for which to leave the GIL is not worth while


def decode(
    data, Py_ssize_t begin, Py_ssize_t step, tuple shape not None, cnp.dtype dtype not None, cnp.ndarray wanted,
    bint is_big=True,
):
    """Return a variable.

    Parameters
    ----------
    data : C-contiguous buffer
        All of the file.
    begin : int
        Bytes from its start to the first value.
    step : int
        Bytes from one record to the next; 0: there are no records.
    shape : tuple of int
    dtype : dtype
        Native, of 1, 2, 4 or 8 bytes.
    wanted : (N,) ndarray or None
        Values of this dtype to look for.
    is_big : bool
        Whether the file has values in big-endian order.

    Returns
    -------
    array : ndarray
    found : bool
        Whether one of the wanted ones is there.

    Raises
    ------
    EOFError
        If the data end before.
    """
    cdef Py_buffer view
    cdef Wanted w
    cdef cnp.npy_intp lengths[MAX_RANK]
    cdef Py_ssize_t n_slabs = 1, n = 1
    cdef bint is_long = False
    cdef int rank = rank_of(shape, lengths), axis
    want(&w, dtype, wanted, is_big)
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
            # one record, then what is left for the others
            if is_long or begin > view.len or n > (view.len - begin) // w.size:
                raise EOFError
            if step and n_slabs - 1 > (view.len - begin - n * w.size) // step:
                raise EOFError
        array = empty(dtype, rank, lengths)
        _fill(<const uint8_t*> view.buf + begin, step, <uint8_t*> cnp.PyArray_DATA(array), n_slabs, n, &w)
        return array, w.found
    finally:
        PyBuffer_Release(&view)


cdef void _fill(
    const uint8_t* source, Py_ssize_t step, uint8_t* target, Py_ssize_t n_slabs, Py_ssize_t n, Wanted* w
) noexcept:
    if n_slabs * n * w.size <= SMALL:
        _slabs(source, step, target, n_slabs, n, w)
    else:
        with nogil:
            _slabs(source, step, target, n_slabs, n, w)


cdef void _slabs(
    const uint8_t* source, Py_ssize_t step, uint8_t* target, Py_ssize_t n_slabs, Py_ssize_t n, Wanted* w
) noexcept nogil:
    cdef Py_ssize_t _
    for _ in range(n_slabs):
        put(source, target, n, w)
        source += step
        target += n * w.size
