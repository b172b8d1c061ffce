"""Python objects and arrays → messages of msgpack, for what most samples are made of.

Whatever is unusual or wrong is left to the msgpack library: then `pack` returns NotImplemented.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object value) except? 0xFFFFFFFFFFFFFFFF

cnp.import_array()

cdef enum:
    MAX_DEPTH = 64       # containers inside of one another
    FIRST_SIZE = 2048    # bytes of the first buffer

cdef object ndarray = cnp.ndarray


class _UnusualError(Exception):
    """What the kernel leaves to the library."""


cdef struct Buffer:
    uint8_t* data
    Py_ssize_t size
    Py_ssize_t room


cdef inline uint8_t* _reserve(Buffer* b, Py_ssize_t size) except NULL:
    """Return where some bytes can be put."""
    cdef Py_ssize_t room
    cdef void* data
    if size > b.room - b.size:
        room = max(2 * b.room, b.size + size)
        data = realloc(b.data, room)
        if data == NULL:
            raise MemoryError
        b.data, b.room = <uint8_t*> data, room
    b.size += size
    return b.data + b.size - size


cdef inline int _put(Buffer* b, const void* data, Py_ssize_t size) except -1:
    memcpy(_reserve(b, size), data, size)
    return 0


cdef inline int _header(Buffer* b, uint8_t first, uint64_t value, int width) except -1:
    """Put a byte, and a number of some bytes, big-endian."""
    cdef uint8_t* p = _reserve(b, 1 + width)
    cdef int i
    p[0] = first
    for i in range(width):
        p[1 + i] = <uint8_t> (value >> 8 * (width - 1 - i))
    return 0


cdef inline int _length(Buffer* b, uint64_t n, uint8_t fix, uint64_t n_fix, int first, int first_width) except -1:
    """Put the header of something with a length: in one byte, or with the shortest number."""
    if n < n_fix:
        return _header(b, <uint8_t> (fix | n), 0, 0)
    if n < 1 << 8 and first_width == 1:
        return _header(b, <uint8_t> first, n, 1)
    if n < 1 << 16:
        return _header(b, <uint8_t> (first + (first_width == 1)), n, 2)
    if n < <uint64_t> 1 << 32:
        return _header(b, <uint8_t> (first + 1 + (first_width == 1)), n, 4)
    raise _UnusualError


cdef int _int(Buffer* b, object value) except -1:
    cdef int overflow = 0
    cdef int64_t n = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow > 0:
        return _header(b, 0xCF, PyLong_AsUnsignedLongLong(value), 8)
    if overflow < 0:
        raise _UnusualError
    if -32 <= n < 128:
        return _header(b, <uint8_t> n, 0, 0)
    if n >= 0:
        if n < 1 << 8:
            return _header(b, 0xCC, n, 1)
        if n < 1 << 16:
            return _header(b, 0xCD, n, 2)
        if n < <int64_t> 1 << 32:
            return _header(b, 0xCE, n, 4)
        return _header(b, 0xCF, n, 8)
    if n >= -(1 << 7):
        return _header(b, 0xD0, n, 1)
    if n >= -(1 << 15):
        return _header(b, 0xD1, n, 2)
    if n >= -(<int64_t> 1 << 31):
        return _header(b, 0xD2, n, 4)
    return _header(b, 0xD3, n, 8)


cdef int _text(Buffer* b, object value) except -1:
    cdef Py_ssize_t size = 0
    cdef const char* data = PyUnicode_AsUTF8AndSize(value, &size)
    _length(b, size, 0xA0, 32, 0xD9, 1)
    return _put(b, data, size)


cdef int _array(Buffer* b, cnp.ndarray array, dict prefixes) except -1:
    """Put a contiguous array whose dtype has a prefix: all that stands before its shape."""
    cdef PyObject* prefix = PyDict_GetItem(prefixes, array.dtype)
    cdef Py_ssize_t i, size = cnp.PyArray_NBYTES(array)
    if prefix == NULL or not cnp.PyArray_IS_C_CONTIGUOUS(array):
        raise _UnusualError
    _put(b, PyBytes_AS_STRING(<bytes> prefix), PyBytes_GET_SIZE(<bytes> prefix))
    _length(b, array.ndim, 0x90, 16, 0xDC, 2)
    for i in range(array.ndim):
        _int(b, cnp.PyArray_DIM(array, <int> i))
    _put(b, b"\xc4\x04data", 6)
    _length(b, size, 0, 0, 0xC4, 1)
    return _put(b, cnp.PyArray_DATA(array), size)


cdef int _map(Buffer* b, dict entries, dict prefixes, int depth) except -1:
    cdef PyObject* key = NULL
    cdef PyObject* value = NULL
    cdef Py_ssize_t place = 0, left = len(entries)
    _length(b, left, 0x80, 16, 0xDE, 2)
    while PyDict_Next(entries, &place, &key, &value):
        if type(<object> key) is not str:
            raise _UnusualError
        left -= 1
        _text(b, <object> key)
        _value(b, <object> value, prefixes, depth + 1)
    if left:
        raise _UnusualError
    return 0


cdef int _value(Buffer* b, object value, dict prefixes, int depth) except -1:
    """Put one value."""
    cdef double number
    cdef uint64_t bits
    if depth > MAX_DEPTH:
        raise _UnusualError
    kind = type(value)
    if kind is str:
        return _text(b, value)
    if kind is int:
        return _int(b, value)
    if kind is dict:
        return _map(b, value, prefixes, depth)
    if kind is ndarray:
        return _array(b, value, prefixes)
    if isinstance(value, float):
        number = value
        memcpy(&bits, &number, 8)
        return _header(b, 0xCB, bits, 8)
    if kind is bytes:
        _length(b, PyBytes_GET_SIZE(value), 0, 0, 0xC4, 1)
        return _put(b, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    if kind is list or kind is tuple:
        _length(b, len(value), 0x90, 16, 0xDC, 2)
        for item in value:
            _value(b, item, prefixes, depth + 1)
        return 0
    if value is None or value is True or value is False:
        return _header(b, 0xC0 if value is None else 0xC3 if value else 0xC2, 0, 0)
    raise _UnusualError


def pack(object value, dict prefixes not None):
    """Encode a value.

    Parameters
    ----------
    value : object
        Anything.
    prefixes : dict
        dtypes of arrays that are encoded here → the bytes of their map up to the shape.

    Returns
    -------
    bytes
        One message; NotImplemented if something is unusual or cannot be encoded.
    """
    cdef Buffer b
    b.data, b.size, b.room = <uint8_t*> malloc(FIRST_SIZE), 0, FIRST_SIZE
    if b.data == NULL:
        raise MemoryError
    try:
        _value(&b, value, prefixes, 0)
        return PyBytes_FromStringAndSize(<char*> b.data, b.size)
    except (_UnusualError, UnicodeEncodeError, OverflowError):
        return NotImplemented
    finally:
        free(b.data)
