"""A variable of a file in memory → an array in native byte order, searched for sentinels in the same pass."""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t

from ..common.finishing cimport MAX_FINISHED, Finisher
from ..common.filling cimport MAX_RANK, Search, copy_and_search, empty, rank_of, start_search

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

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
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        array = _decoded(&view, begin, step, shape, dtype, sentinels, is_big, PY_SSIZE_T_MAX, &search)
        if array is None:
            raise EOFError
        return array, search.found
    finally:
        PyBuffer_Release(&view)


def decode_each(data, list variables not None, list finishers not None, dict dtypes not None, bint masked):
    """Return several variables, as they are returned to users.

    Parameters
    ----------
    data : C-contiguous buffer
        All bytes of the file.
    variables : list of ClassicVariable
    finishers : list of (Finisher or None)
        One for the values of each. None: the variable is not read here.
    dtypes : dict
        Code of a variable → dtype.
    masked : bool
        As of `Finisher.apply`.

    Returns
    -------
    values : list
        None: it was not read here, since it is not within the data or very large, or the finisher leaves it to the
        caller.
    left : list of int
        Which these are.
    """
    cdef Py_buffer view
    cdef Search search
    cdef Py_ssize_t i, n = len(variables)
    cdef list values = [None] * n, left = []
    cdef tuple variable
    cdef Finisher finisher
    if len(finishers) != n:
        raise ValueError(f"{n} variables and {len(finishers)} finishers")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        for i in range(n):
            finisher, value = finishers[i], None
            if finisher is not None:
                variable = <tuple> (<object> variables[i])
                array = _decoded(
                    &view, variable[5], variable[6], variable[4], dtypes[variable[3]], finisher.sought, True,
                    MAX_FINISHED, &search
                )
                if array is not None:
                    value = finisher.finish(array, search.found, masked)
            if value is None:
                left.append(i)
            else:
                values[i] = value
    finally:
        PyBuffer_Release(&view)
    return values, left


cdef cnp.ndarray _decoded(
    Py_buffer* view, Py_ssize_t begin, Py_ssize_t step, tuple shape, cnp.dtype dtype, cnp.ndarray sentinels,
    bint is_big, Py_ssize_t most, Search* search
):
    """Return a variable; None if the data end before the last value, or it has more than `most` values."""
    cdef cnp.npy_intp lengths[MAX_RANK]
    cdef Py_ssize_t n_slabs = 1, n = 1
    cdef bint is_long = False
    cdef int rank = rank_of(shape, lengths), axis
    start_search(search, dtype, sentinels, is_big)
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
        if is_long or begin > view.len or n > (view.len - begin) // search.size or n_slabs > most // n:
            return None
        if step and n_slabs - 1 > (view.len - begin - n * search.size) // step:
            return None
    array = empty(dtype, rank, lengths)
    _fill(<const uint8_t*> view.buf + begin, step, <uint8_t*> cnp.PyArray_DATA(array), n_slabs, n, search)
    return array


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
