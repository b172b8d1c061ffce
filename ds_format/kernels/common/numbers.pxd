"""Numbers of attributes → a scalar or an array of NumPy, or numbers of Python.

NumPy is imported for the first array or scalar that is made, so that headers can be listed without it.
"""

from cpython.unicode cimport PyUnicode_READ_CHAR
from libc.stdint cimport int64_t, uint8_t, uint64_t

from .words cimport LITTLE_HOST, native

cdef extern from "Python.h":
    double PyFloat_Unpack2(const char* p, int is_little) except? -1
    double PyFloat_Unpack4(const char* p, int is_little) except? -1
    double PyFloat_Unpack8(const char* p, int is_little) except? -1

cdef extern from "numpy/arrayobject.h":
    # NumPy is not cimported, which would import it
    """
    static int ds_load_numpy(void) { return PyArray_API == NULL ? _import_array() : 0; }
    static PyObject *ds_scalar(void *data, PyObject *dtype) {
        return PyArray_Scalar(data, (PyArray_Descr *)dtype, NULL);
    }
    static PyObject *ds_array(PyObject *dtype, Py_ssize_t n) {
        npy_intp shape = n;
        Py_INCREF(dtype);
        return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)dtype, 1, &shape, NULL, NULL, 0, NULL);
    }
    static void *ds_data(PyObject *array) { return PyArray_DATA((PyArrayObject *)array); }
    static int ds_is_array(PyObject *value) { return PyArray_API != NULL && PyArray_Check(value); }
    """
    int load_numpy "ds_load_numpy"() except -1
    object scalar "ds_scalar"(void* data, object dtype)
    object array_of "ds_array"(object dtype, Py_ssize_t n)
    uint8_t* data_of "ds_data"(object array)
    bint is_numpy_array "ds_is_array"(object value)  # False for arrays that another module made, if this one made none


cdef inline object dtype_of(str code):
    """Return the NumPy dtype of a code, kind and bytes (`f4`), as `numpy_numbers` needs it."""
    load_numpy()
    import numpy
    return numpy.dtype(code)


cdef inline object numpy_numbers(const uint8_t* p, Py_ssize_t n, bint is_one, object dtype, int size, bint is_swapped):
    """Return numbers as an array, or as a scalar; their dtype is one of `dtype_of`."""
    cdef uint64_t one
    if is_one:
        native(p, <uint8_t*> &one, 1, size, is_swapped)
        return scalar(&one, dtype)
    array = array_of(dtype, n)
    native(p, data_of(array), n, size, is_swapped)
    return array


cdef inline object integer_of(const uint8_t* p, int size, bint is_signed, bint is_swapped):
    """Return an integer of at most 8 bytes."""
    cdef uint64_t value = 0
    cdef int i
    cdef bint is_big = is_swapped == LITTLE_HOST
    for i in range(size):
        value = value << 8 | p[i if is_big else size - 1 - i]
    if is_signed and size < 8 and value >> (8 * size - 1):
        value |= ~<uint64_t> 0 << 8 * size
    return <int64_t> value if is_signed else value


cdef inline object _number_of(const uint8_t* p, Py_UCS4 kind, int size, bint is_swapped):
    cdef int is_little = is_swapped != LITTLE_HOST
    if kind != c"f":
        return integer_of(p, size, kind == c"i", is_swapped)
    if size == 2:
        return PyFloat_Unpack2(<const char*> p, is_little)
    if size == 4:
        return PyFloat_Unpack4(<const char*> p, is_little)
    return PyFloat_Unpack8(<const char*> p, is_little)


cdef inline object made_numbers(const uint8_t* p, Py_ssize_t n, bint is_one, str code, bint is_swapped, make):
    """Return what `make` makes of a number of Python or a list of them, and the code of one."""
    cdef Py_UCS4 kind = PyUnicode_READ_CHAR(code, 0)
    cdef int size = <int> PyUnicode_READ_CHAR(code, 1) - c"0"
    cdef Py_ssize_t i
    values = [_number_of(p + i * size, kind, size, is_swapped) for i in range(n)]
    return make(values[0] if is_one else values, code)
