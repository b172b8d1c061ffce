"""The numbers of a small ds file as arrays, without a call of NumPy from Python for each."""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_WRITABLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_SetItem
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.string cimport memcpy

from ..common.words cimport LITTLE_HOST
from ..header.header cimport Header, Variable

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        PyTypeObject* kind, cnp.dtype dtype, int ndim, const cnp.npy_intp* sizes, const cnp.npy_intp* strides,
        void* data, int flags, PyObject* obj
    )
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)

cnp.import_array()


cpdef list put_numbers(Header header, list dtypes, data, Py_ssize_t body, bint share, out, keys):
    """Put variables into a dataset: all arrays of numbers of this machine's byte order that have no mask.

    Parameters
    ----------
    header : Header
    dtypes : list of dtype or None
        By the number of their type; None: no numbers.
    data : writable buffer
        The whole file, or its end.
    body : int
        Where in it the body starts, in bytes.
    share : bool
        Whether arrays may be views of `data`.
    out : dict
        Gets all variables in their order; None in the place of those that are left, and of those without data.
    keys : collection of str or None
        Which variables; None: all.

    Returns
    -------
    list of str
        The keys of those that are left: of other kinds, without values, or not inside of the file.
    """
    cdef list left = []
    cdef Py_buffer view
    cdef Variable* var
    cdef Py_ssize_t i
    cdef object key, array
    if not isinstance(out, dict):
        raise TypeError("out: expected a dict")
    PyObject_GetBuffer(data, &view, PyBUF_WRITABLE)
    try:
        for i in range(len(header.keys)):
            key = header.keys[i]
            if keys is not None and key not in keys:
                continue
            var = &header.variables[i]
            array = _array(header, var, dtypes, data, &view, body, share) if var.ndim >= 0 else None
            PyDict_SetItem(<dict> <PyObject*> out, key, array)
            if array is None and var.ndim >= 0:
                left.append(key)
    finally:
        PyBuffer_Release(&view)
    return left


cdef object _array(
    Header header, Variable* var, list dtypes, object data, Py_buffer* view, Py_ssize_t body, bint share
):
    """Return the array of a variable, or the scalar; None: it is not that simple."""
    cdef cnp.dtype dtype
    cdef Py_ssize_t size, room = view.len - body - var.offset
    cdef char* first
    found = dtypes[var.type]
    if found is None or var.missing or var.n == 0:
        return None
    dtype = <cnp.dtype> found
    size = dtype.itemsize
    if (var.big == LITTLE_HOST and size > 1) or room < 0 or var.n > room // size:
        return None
    first = <char*> view.buf + body + var.offset
    if var.ndim == 0:
        return PyArray_Scalar(first, dtype, None)
    Py_INCREF(dtype)
    if not share or <size_t> first % <size_t> size:
        array = PyArray_NewFromDescr(
            <PyTypeObject*> cnp.ndarray, dtype, var.ndim, <cnp.npy_intp*> &header.sizes[var.first], NULL, NULL, 0, NULL
        )
        memcpy(cnp.PyArray_DATA(array), first, var.n * size)
        return array
    array = PyArray_NewFromDescr(
        <PyTypeObject*> cnp.ndarray, dtype, var.ndim, <cnp.npy_intp*> &header.sizes[var.first], NULL, first,
        cnp.NPY_ARRAY_WRITEABLE, NULL
    )
    cnp.set_array_base(array, data)
    return array
