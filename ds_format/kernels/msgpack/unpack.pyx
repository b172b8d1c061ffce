"""Messages of msgpack → Python objects and arrays, for what most samples are made of.

Whatever is unusual or wrong is left to the msgpack library: then `unpack` returns NotImplemented.
"""

cimport numpy as cnp
from cpython.dict cimport PyDict_Contains, PyDict_GetItem, PyDict_SetItem
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..common.cursor cimport Cursor, follows, number, take

cdef extern from "Python.h":
    object PyBytes_FromStringAndSize(const char* data, Py_ssize_t size)

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        PyObject* subtype, cnp.dtype descr, int nd, const cnp.npy_intp* dims, const cnp.npy_intp* strides, void* data,
        int flags, PyObject* model
    )
    PyObject PyArray_Type

cnp.import_array()

cdef enum:
    MAX_DEPTH = 64  # containers inside of one another
    MAX_DIMS = 15   # as fit a header of one byte
    RESERVED = 1024  # items up to which a list gets its size at once, before they are seen

cdef bytes ND = b"nd"
cdef bytes COMPLEX = b"complex"


class _UnusualError(Exception):
    """What the kernel leaves to the library."""


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
    """Return the array whose entries follow, in the usual order, or None; then nothing was stepped over."""
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
    """Return an array over the bytes of the message; a copy if it is to be changed, or they are not aligned."""
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
    """Read a shape and its product; False if it is unusual."""
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
        One message and nothing else.
    writable : bool
        Make arrays that can be changed.
    dtypes : dict
        Type strings of arrays that are decoded here → dtypes, without objects.
    hook : callable
        What makes something of other maps with the keys `nd` or `complex`, in bytes.

    Returns
    -------
    object
        What is in the message; NotImplemented if it is unusual or wrong.
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
