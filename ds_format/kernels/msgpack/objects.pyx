"""Usual messages of msgpack ↔ Python objects and arrays.

Wrong and unusual values are left to the msgpack library: `pack` and `unpack` return NotImplemented.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Contains, PyDict_GetItem, PyDict_Next, PyDict_SetItem
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..common.cursor cimport Cursor, follows, number, take
from ..common.output cimport Output, grow, put_bytes

cnp.import_array()

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object value) except? 0xFFFFFFFFFFFFFFFF

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        PyObject* subtype, cnp.dtype descr, int nd, const cnp.npy_intp* dims, const cnp.npy_intp* strides, void* data,
        int flags, PyObject* model
    )
    PyObject PyArray_Type

cdef enum:
    MAX_DEPTH = 64  # nested containers
    MAX_DIMS = 15   # the maximum for a header of one byte
    RESERVED = 1024  # maximum number of items for which a list is allocated before they are read

cdef bytes ND = b"nd"
cdef bytes COMPLEX = b"complex"


class _UnusualError(Exception):
    """The value is left to the library."""


cdef struct State:
    Cursor at
    PyObject* message
    PyObject* dtypes
    PyObject* hook
    bint writable


cdef inline object _text(State* s, uint64_t size):
    return PyUnicode_DecodeUTF8(<const char*> take(&s.at, size), <Py_ssize_t> size, NULL)


cdef inline object _bytes(State* s, uint64_t size):
    return PyBytes_FromStringAndSize(<const char*> take(&s.at, size), <Py_ssize_t> size)


cdef object _float(State* s, int width):
    cdef uint64_t bits = number(&s.at, width)
    cdef uint32_t half = <uint32_t> bits
    cdef double value
    cdef float single
    if width == 4:
        memcpy(&single, &half, 4)
        return <double> single
    memcpy(&value, &bits, 8)
    return value


cdef object _list(State* s, uint64_t n, int depth):
    cdef list values
    cdef uint64_t i, _
    cdef object value
    if n > <uint64_t> (s.at.end - s.at.p) or depth == MAX_DEPTH:
        raise _UnusualError
    if n > RESERVED:
        values = []
        for _ in range(n):
            values.append(_value(s, depth + 1))
        return values
    values = PyList_New(<Py_ssize_t> n)
    for i in range(n):
        value = _value(s, depth + 1)
        Py_INCREF(value)
        PyList_SET_ITEM(values, <Py_ssize_t> i, value)
    return values


cdef object _map(State* s, uint64_t n, int depth):
    cdef dict entries
    cdef uint64_t _
    cdef object key, array
    cdef bint has_bytes = False
    if n > <uint64_t> (s.at.end - s.at.p) or depth == MAX_DEPTH:
        raise _UnusualError
    if n == 5:
        array = _array(s)
        if array is not None:
            return array
    entries = {}
    for _ in range(n):
        key = _value(s, depth + 1)
        has_bytes |= type(key) is bytes
        PyDict_SetItem(entries, key, _value(s, depth + 1))
    if has_bytes and (PyDict_Contains(entries, ND) or PyDict_Contains(entries, COMPLEX)):
        return (<object> s.hook)(entries)
    return entries


cdef object _array(State* s):
    """Return the array whose entries follow in the usual order. Otherwise, return None without advancing."""
    cdef const uint8_t* start = s.at.p
    cdef const uint8_t* data
    cdef cnp.npy_intp dims[MAX_DIMS]
    cdef PyObject* dtype = NULL
    cdef uint64_t size, count
    cdef int nd = 0
    if follows(&s.at, b"\xc4\x02nd\xc3\xc4\x04type", 11) and s.at.p < s.at.end and s.at.p[0] & 0xE0 == 0xA0:
        s.at.p += 1
        dtype = PyDict_GetItem(<dict> s.dtypes, _text(s, s.at.p[-1] & 0x1F))
    if (
        dtype != NULL and follows(&s.at, b"\xc4\x04kind\xc4\x00\xc4\x05shape", 15) and _shape(s, dims, &nd, &count)
        and follows(&s.at, b"\xc4\x04data", 6) and s.at.p < s.at.end and 0xC4 <= s.at.p[0] <= 0xC6
    ):
        s.at.p += 1
        size = number(&s.at, 1 << (s.at.p[-1] - 0xC4))
        data = take(&s.at, size)
        if (<cnp.dtype> dtype).itemsize > 0 and count <= size // <uint64_t> (<cnp.dtype> dtype).itemsize:
            return _view(s, <cnp.dtype> dtype, nd, dims, data, count * (<cnp.dtype> dtype).itemsize)
    s.at.p = start
    return None


cdef object _view(
    State* s, cnp.dtype dtype, int nd, const cnp.npy_intp* dims, const uint8_t* data, uint64_t size
):
    """Return an array that is a view of the message, or a copy if it must be writable or aligned."""
    cdef object array
    cdef bint is_view = not s.writable and <size_t> data % <size_t> dtype.alignment == 0
    Py_INCREF(dtype)  # the array takes it
    array = PyArray_NewFromDescr(&PyArray_Type, dtype, nd, dims, NULL, <void*> data if is_view else NULL, 0, NULL)
    if is_view:
        cnp.set_array_base(array, <object> s.message)
        return array
    memcpy(cnp.PyArray_DATA(array), data, size)
    if not s.writable:
        cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


cdef bint _shape(State* s, cnp.npy_intp* dims, int* nd, uint64_t* count) except -1:
    """Read a shape, and compute its product. Return False if it is unusual."""
    cdef int i
    cdef uint64_t n
    count[0] = 1
    if s.at.p >= s.at.end or s.at.p[0] & 0xF0 != 0x90:
        return False
    nd[0] = s.at.p[0] & 0x0F
    s.at.p += 1
    for i in range(nd[0]):
        if s.at.p >= s.at.end:
            return False
        s.at.p += 1
        if s.at.p[-1] < 0x80:
            n = s.at.p[-1]
        elif 0xCC <= s.at.p[-1] <= 0xCE:
            n = number(&s.at, 1 << (s.at.p[-1] - 0xCC))
        else:
            return False
        if n == 0 or count[0] > (<uint64_t> 1 << 62) // n:
            return False
        dims[i] = <cnp.npy_intp> n
        count[0] *= n
    return True


cdef object _value(State* s, int depth):
    """Read one value."""
    cdef uint8_t first = take(&s.at, 1)[0]
    if first < 0x80:
        return first
    if first < 0x90:
        return _map(s, first & 0x0F, depth)
    if first < 0xA0:
        return _list(s, first & 0x0F, depth)
    if first < 0xC0:
        return _text(s, first & 0x1F)
    if first >= 0xE0:
        return <int8_t> first
    if first == 0xC0:
        return None
    if first == 0xC2 or first == 0xC3:
        return first == 0xC3
    if 0xC4 <= first <= 0xC6:
        return _bytes(s, number(&s.at, 1 << (first - 0xC4)))
    if first == 0xCA or first == 0xCB:
        return _float(s, 4 << (first - 0xCA))
    if 0xCC <= first <= 0xCF:
        return number(&s.at, 1 << (first - 0xCC))
    if first == 0xD0:
        return <int8_t> number(&s.at, 1)
    if first == 0xD1:
        return <int16_t> number(&s.at, 2)
    if first == 0xD2:
        return <int32_t> number(&s.at, 4)
    if first == 0xD3:
        return <int64_t> number(&s.at, 8)
    if 0xD9 <= first <= 0xDB:
        return _text(s, number(&s.at, 1 << (first - 0xD9)))
    if first == 0xDC or first == 0xDD:
        return _list(s, number(&s.at, 2 << (first - 0xDC)), depth)
    if first == 0xDE or first == 0xDF:
        return _map(s, number(&s.at, 2 << (first - 0xDE)), depth)
    raise _UnusualError


def unpack(bytes message not None, bint writable, dict dtypes not None, object hook):
    """Decode a message.

    Parameters
    ----------
    message : bytes
        Exactly one message.
    writable : bool
        Whether arrays are writable.
    dtypes : dict
        Type strings of arrays that are decoded here → dtypes, without objects.
    hook : callable
        Converts other maps that have the keys `nd` or `complex`, in bytes.

    Returns
    -------
    object
        The decoded message; NotImplemented if it is wrong or unusual.
    """
    cdef State s
    cdef object value
    s.at.p = message
    s.at.end = s.at.p + len(message)
    s.message, s.dtypes, s.hook, s.writable = <PyObject*> message, <PyObject*> dtypes, <PyObject*> hook, writable
    try:
        value = _value(&s, 0)
    except (EOFError, _UnusualError, UnicodeDecodeError, TypeError):
        return NotImplemented
    return value if s.at.p == s.at.end else NotImplemented


cdef enum:
    FIRST_SIZE = 2048  # bytes of the first buffer

cdef object ndarray = cnp.ndarray


cdef inline int _put_header(Output* b, uint8_t first, uint64_t value, int width) except -1:
    """Put a byte, and a big-endian number of `width` bytes."""
    cdef uint8_t* p
    cdef int i
    grow(b, 1 + width)
    p = b.data + b.size
    b.size += 1 + width
    p[0] = first
    for i in range(width):
        p[1 + i] = <uint8_t> (value >> 8 * (width - 1 - i))
    return 0


cdef inline int _put_length(Output* b, uint64_t n, uint8_t fix, uint64_t n_fix, int first, int first_width) except -1:
    """Put the header of a value with a length: in one byte, or with the shortest number."""
    if n < n_fix:
        return _put_header(b, <uint8_t> (fix | n), 0, 0)
    if n < 1 << 8 and first_width == 1:
        return _put_header(b, <uint8_t> first, n, 1)
    if n < 1 << 16:
        return _put_header(b, <uint8_t> (first + (first_width == 1)), n, 2)
    if n < <uint64_t> 1 << 32:
        return _put_header(b, <uint8_t> (first + 1 + (first_width == 1)), n, 4)
    raise _UnusualError


cdef int _put_int(Output* b, object value) except -1:
    cdef int overflow = 0
    cdef int64_t n = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow > 0:
        return _put_header(b, 0xCF, PyLong_AsUnsignedLongLong(value), 8)
    if overflow < 0:
        raise _UnusualError
    if -32 <= n < 128:
        return _put_header(b, <uint8_t> n, 0, 0)
    if n >= 0:
        if n < 1 << 8:
            return _put_header(b, 0xCC, n, 1)
        if n < 1 << 16:
            return _put_header(b, 0xCD, n, 2)
        if n < <int64_t> 1 << 32:
            return _put_header(b, 0xCE, n, 4)
        return _put_header(b, 0xCF, n, 8)
    if n >= -(1 << 7):
        return _put_header(b, 0xD0, n, 1)
    if n >= -(1 << 15):
        return _put_header(b, 0xD1, n, 2)
    if n >= -(<int64_t> 1 << 31):
        return _put_header(b, 0xD2, n, 4)
    return _put_header(b, 0xD3, n, 8)


cdef int _put_text(Output* b, object value) except -1:
    cdef Py_ssize_t size = 0
    cdef const char* data = PyUnicode_AsUTF8AndSize(value, &size)
    _put_length(b, size, 0xA0, 32, 0xD9, 1)
    return put_bytes(b, data, size)


cdef int _put_array(Output* b, cnp.ndarray array, dict prefixes) except -1:
    """Put a contiguous array, whose dtype has a prefix: the bytes before its shape."""
    cdef PyObject* prefix = PyDict_GetItem(prefixes, array.dtype)
    cdef Py_ssize_t i, size = cnp.PyArray_NBYTES(array)
    if prefix == NULL or not cnp.PyArray_IS_C_CONTIGUOUS(array):
        raise _UnusualError
    put_bytes(b, PyBytes_AS_STRING(<bytes> prefix), PyBytes_GET_SIZE(<bytes> prefix))
    _put_length(b, array.ndim, 0x90, 16, 0xDC, 2)
    for i in range(array.ndim):
        _put_int(b, cnp.PyArray_DIM(array, <int> i))
    put_bytes(b, b"\xc4\x04data", 6)
    _put_length(b, size, 0, 0, 0xC4, 1)
    return put_bytes(b, cnp.PyArray_DATA(array), size)


cdef int _put_map(Output* b, dict entries, dict prefixes, int depth) except -1:
    cdef PyObject* key = NULL
    cdef PyObject* value = NULL
    cdef Py_ssize_t position = 0, n = len(entries)
    _put_length(b, n, 0x80, 16, 0xDE, 2)
    while PyDict_Next(entries, &position, &key, &value):
        if type(<object> key) is not str:
            raise _UnusualError
        n -= 1
        _put_text(b, <object> key)
        _put_value(b, <object> value, prefixes, depth + 1)
    if n:
        raise _UnusualError
    return 0


cdef int _put_value(Output* b, object value, dict prefixes, int depth) except -1:
    """Put one value."""
    cdef double real
    cdef uint64_t bits
    if depth > MAX_DEPTH:
        raise _UnusualError
    kind = type(value)
    if kind is str:
        return _put_text(b, value)
    if kind is int:
        return _put_int(b, value)
    if kind is dict:
        return _put_map(b, value, prefixes, depth)
    if kind is ndarray:
        return _put_array(b, value, prefixes)
    if isinstance(value, float):
        real = value
        memcpy(&bits, &real, 8)
        return _put_header(b, 0xCB, bits, 8)
    if kind is bytes:
        _put_length(b, PyBytes_GET_SIZE(value), 0, 0, 0xC4, 1)
        return put_bytes(b, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    if kind is list or kind is tuple:
        _put_length(b, len(value), 0x90, 16, 0xDC, 2)
        for item in value:
            _put_value(b, item, prefixes, depth + 1)
        return 0
    if value is None or value is True or value is False:
        return _put_header(b, 0xC0 if value is None else 0xC3 if value else 0xC2, 0, 0)
    raise _UnusualError


def pack(object value, dict prefixes not None):
    """Encode a value.

    Parameters
    ----------
    value : object
    prefixes : dict
        Dtypes of arrays that are encoded here → the bytes of their map up to the shape.

    Returns
    -------
    bytes
        One message; NotImplemented if the value is unusual or cannot be encoded.
    """
    cdef Output b = Output(NULL, 0, 0, NULL, False)
    try:
        grow(&b, FIRST_SIZE)
        _put_value(&b, value, prefixes, 0)
        return PyBytes_FromStringAndSize(<char*> b.data, b.size)
    except (_UnusualError, UnicodeEncodeError, OverflowError):
        return NotImplemented
    finally:
        PyMem_RawFree(b.data)
