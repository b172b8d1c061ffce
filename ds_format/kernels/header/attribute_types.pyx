"""Numbers of a header as NumPy's: what attributes were, without a call of NumPy from Python for each."""

cimport numpy as cnp
from cpython.dict cimport PyDict_SetItem
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)

cnp.import_array()


def put_types(dict attributes not None, dict specs not None, dict known not None):
    """Give numbers, and lists of numbers, their NumPy types back, in place.

    Parameters
    ----------
    attributes : dict
    specs : dict
        Key of an attribute → the name of its dtype, or [name, count] of an array.
    known : dict
        Name of each dtype → dtype.

    Returns
    -------
    list of str
        Keys of the others: of other kinds, of more dimensions, or which do not fit.
    """
    cdef list left = []
    for key, spec in specs.items():
        if key not in attributes:
            continue
        made = _typed(attributes[key], spec, known)
        if made is None:
            left.append(key)
        else:
            PyDict_SetItem(attributes, key, made)
    return left


cdef object _typed(object value, object spec, dict known):
    """Return a number as a scalar, or a list as an array of one dimension; None: that is for others to do."""
    cdef uint8_t room[8]
    if type(spec) is str:
        dtype = known.get(spec)
        if dtype is None or not _put(value, dtype, room):
            return None
        return PyArray_Scalar(room, dtype, None)
    if type(spec) is not list or len(<list> spec) != 2 or type(value) is not list:
        return None
    name, n = <list> spec
    if type(name) is not str or type(n) is not int or n != len(<list> value):
        return None
    dtype = known.get(name)
    return None if dtype is None else _array(<list> value, dtype)


cdef object _array(list values, cnp.dtype dtype):
    cdef cnp.npy_intp n = len(values)
    cdef cnp.ndarray array
    cdef uint8_t* place
    if dtype.kind == b"U":
        return None
    array = cnp.PyArray_SimpleNew(1, &n, dtype.num)
    place = <uint8_t*> cnp.PyArray_DATA(array)
    for value in values:
        if not _put(value, dtype, place):
            return None
        place += cnp.PyArray_ITEMSIZE(array)
    return array


cdef bint _put(object value, cnp.dtype dtype, uint8_t* place) except -1:
    """Write a number as a dtype has it; False: it is no number of this kind, or does not fit."""
    cdef double number
    cdef float narrow
    cdef int size = dtype.itemsize
    cdef int64_t integer
    cdef int overflow = 0
    if dtype.kind == b"f":
        if type(value) is not float or size < 4:
            return False
        number = value
        narrow = <float> number
        if size == 4:
            memcpy(place, &narrow, 4)
            return isinf(number) or not isinf(narrow)
        memcpy(place, &number, 8)
        return True
    if (dtype.kind != b"i" and dtype.kind != b"u") or type(value) is not int:
        return False
    integer = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return False
    if dtype.kind == b"u":
        return integer >= 0 and (size == 8 or integer >> (8 * size) == 0) and _put_bits(integer, size, place)
    return (size == 8 or -1 <= integer >> (8 * size - 1) <= 0) and _put_bits(integer, size, place)


cdef bint _put_bits(int64_t integer, int size, uint8_t* place) noexcept:
    cdef uint8_t bits8 = <uint8_t> integer
    cdef uint16_t bits16 = <uint16_t> integer
    cdef uint32_t bits32 = <uint32_t> integer
    if size == 1:
        place[0] = bits8
    elif size == 2:
        memcpy(place, &bits16, 2)
    elif size == 4:
        memcpy(place, &bits32, 4)
    else:
        memcpy(place, &integer, 8)
    return True
