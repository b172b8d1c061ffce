"""Numbers in attributes, and the arrays of a dataset, without a call of NumPy from Python for each of them.

Numbers in attributes are converted to their NumPy types. A dataset is checked before writing for arrays that need no
conversion. Wrong and unusual data are left to the caller.
"""

cimport numpy as cnp
from cpython.dict cimport PyDict_Copy, PyDict_DelItem, PyDict_SetItem
from cpython.object cimport PyObject
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from ..common.words cimport LITTLE_HOST

cnp.import_array()

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArray_Descr
    object PyArray_FromScalar(object scalar, PyArray_Descr* dtype)
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)


def put_types(dict attributes not None, dict specs not None, dict dtypes not None):
    """Convert numbers, and lists of numbers, to their NumPy types, in place.

    Parameters
    ----------
    attributes : dict
    specs : dict
        Key of an attribute → the name of its dtype, or [name, count] of an array.
    dtypes : dict
        Name of each dtype → dtype.

    Returns
    -------
    list of str
        Keys of attributes that the caller converts: they have other types or more dimensions, or do not fit.
    """
    cdef list remaining = []
    for key, spec in specs.items():
        if key not in attributes:
            continue
        typed = _typed(attributes[key], spec, dtypes)
        if typed is None:
            remaining.append(key)
        else:
            PyDict_SetItem(attributes, key, typed)
    return remaining


cdef object _typed(object value, object spec, dict dtypes):
    """Return a number as a scalar, or a list as a 1-d array; None if the caller has to convert it."""
    cdef uint8_t number[8]
    if type(spec) is str:
        dtype = dtypes.get(spec)
        if dtype is None or not _put_number(value, dtype, number):
            return None
        return PyArray_Scalar(number, dtype, None)
    if type(spec) is not list or len(<list> spec) != 2 or type(value) is not list:
        return None
    name, n = <list> spec
    if type(name) is not str or type(n) is not int or n != len(<list> value):
        return None
    dtype = dtypes.get(name)
    return None if dtype is None else _typed_array(<list> value, dtype)


cdef object _typed_array(list values, cnp.dtype dtype):
    cdef cnp.npy_intp n = len(values)
    cdef cnp.ndarray array
    cdef uint8_t* target
    if dtype.kind == b"U":
        return None
    array = cnp.PyArray_SimpleNew(1, &n, dtype.num)
    target = <uint8_t*> cnp.PyArray_DATA(array)
    for value in values:
        if not _put_number(value, dtype, target):
            return None
        target += cnp.PyArray_ITEMSIZE(array)
    return array


cdef bint _put_number(object value, cnp.dtype dtype, uint8_t* target) except -1:
    """Write a number in a dtype. Return False if it is not an integer or float like the dtype, or does not fit."""
    cdef double number
    cdef float narrow
    cdef int size = dtype.itemsize
    cdef int64_t integer
    cdef int overflow = 0
    cdef bint fits
    if dtype.kind == b"f":
        if type(value) is not float or size < 4:
            return False
        number = value
        narrow = <float> number
        if size == 4:
            memcpy(target, &narrow, 4)
            return isinf(number) or not isinf(narrow)
        memcpy(target, &number, 8)
        return True
    if (dtype.kind != b"i" and dtype.kind != b"u") or type(value) is not int:
        return False
    integer = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return False
    if dtype.kind == b"u":
        fits = integer >= 0 and (size == 8 or integer >> (8 * size) == 0)
    else:
        fits = size == 8 or -1 <= integer >> (8 * size - 1) <= 0
    if fits:
        memcpy(target, <uint8_t*> &integer + (0 if LITTLE_HOST else 8 - size), size)
    return fits


cdef object _as_array(object data):
    """Return data as an array: itself if it needs no conversion; None if the caller has to convert or check it.

    `np.ma.masked` is left to the caller: it has no dimensions.
    """
    cdef cnp.ndarray made
    if cnp.PyArray_Check(data):
        if cnp.PyArray_TYPE(data) == cnp.NPY_OBJECT and not _has_only_strings(data):
            return None
        if cnp.PyArray_TYPE(data) in (cnp.NPY_DATETIME, cnp.NPY_TIMEDELTA):
            return None
        return data if cnp.PyArray_CheckExact(data) or cnp.PyArray_NDIM(data) > 0 else None
    if type(data) is str or type(data) is bytes:
        made = cnp.PyArray_SimpleNew(0, NULL, cnp.NPY_OBJECT)
        made[()] = data
        return made
    if isinstance(data, cnp.generic):
        made = PyArray_FromScalar(data, NULL)
        return made if cnp.PyArray_TYPE(made) <= cnp.NPY_LONGDOUBLE else None  # numbers and booleans
    return None


cdef bint _has_only_strings(cnp.ndarray array) noexcept:
    """Return whether all objects of a contiguous array are `str` or `bytes`."""
    cdef PyObject** objects = <PyObject**> cnp.PyArray_DATA(array)
    cdef Py_ssize_t i
    if not cnp.PyArray_IS_C_CONTIGUOUS(array):
        return False
    for i in range(cnp.PyArray_SIZE(array)):
        if objects[i] == NULL:
            return False
        if type(<object> objects[i]) is not str and type(<object> objects[i]) is not bytes:
            return False
    return True


cdef bint _is_property(object key) except -1:
    """Return whether a key begins with a dot, or is not a str."""
    return type(key) is not str or (len(<str> key) and PyUnicode_READ_CHAR(key, 0) == c".")


cdef bint _fits(object names, cnp.ndarray array, dict sizes) except -1:
    """Return whether names of dimensions match an array: in their number, and in their sizes in other arrays."""
    cdef object name, size
    cdef Py_ssize_t i, n
    if type(names) is not list or len(<list> names) != cnp.PyArray_NDIM(array):
        return False
    for i in range(cnp.PyArray_NDIM(array)):
        name, n = (<list> names)[i], cnp.PyArray_DIM(array, i)
        if type(name) is not str:
            return False
        size = sizes.get(name)
        if size is None:
            PyDict_SetItem(sizes, name, n)
        elif <Py_ssize_t> size != n:
            return False
    return True


def plain_arrays(dataset not None):
    """Return the arrays of a dataset if they need no conversion, and its metadata match them.

    Parameters
    ----------
    dataset : dict
        Or an instance of a subclass that behaves like a dict.

    Returns
    -------
    dict or None
        Key → array; strings and NumPy's scalars become arrays without dimensions.
        None if the caller has to convert or check data.
    """
    cdef dict arrays, entries, sizes = {}
    cdef object key, data, array, entry, names
    if not isinstance(dataset, dict):
        raise TypeError("dataset: expected a dict")
    arrays = PyDict_Copy(<dict> <PyObject*> dataset)
    meta = arrays.get(".")
    if type(meta) is not dict:
        return None
    entries = <dict> meta
    for key, entry in entries.items():
        if type(entry) is not dict or (_is_property(key) and key != "."):
            return None
    PyDict_DelItem(arrays, ".")
    for key, data in arrays.items():
        array = _as_array(data)
        if array is None or _is_property(key):
            return None
        if array is not data:
            PyDict_SetItem(arrays, key, array)
        entry = entries.get(key)
        names = None if entry is None else (<dict> entry).get(".dims")
        if names is not None and not _fits(names, array, sizes):
            return None
    return arrays
