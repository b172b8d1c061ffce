"""Attributes → the text that a header has of them, in one pass.

This is `codec.attributes.to_json` and what `json.dumps` makes of it, for values of the usual kind; whatever is wrong or
unusual is left to these.
"""

cimport numpy as cnp
from cpython.object cimport PyObject

from ..json.room cimport Room, put_byte, put_bytes
from ..json.scan cimport MAX_DEPTH
from ..json.values cimport put_int64, put_name, put_value

from ..json.strings import Unusual

cdef extern from "Python.h":
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cnp.import_array()

cdef enum:
    AROUND = MAX_DEPTH - 100  # lists as if around an attribute, so that no more are in it than `nesting.DEPTH`


cdef inline bint _is_numpy(object value) noexcept:
    if type(value) is str or type(value) is list or type(value) is float:
        return False
    return isinstance(value, cnp.generic) or cnp.PyArray_CheckExact(value)


cdef inline cnp.dtype _dtype_of(object value):
    return <cnp.dtype> cnp.PyArray_DESCR(value) if cnp.PyArray_CheckExact(value) else value.dtype


cdef inline bint _is_left_out(object key, frozenset without) except -1:
    if type(key) is not str:
        raise Unusual
    return PyUnicode_GET_LENGTH(key) and PyUnicode_READ_CHAR(key, 0) == "." and key in without


cdef int _put_dtype(Room* room, cnp.dtype dtype) except -1:
    """Append the name of a dtype of numbers, booleans or strings."""
    cdef Py_UCS4 kind = dtype.kind
    if kind == "U":
        return put_bytes(room, b'"str"', 5)
    if kind == "b":
        return put_bytes(room, b'"bool"', 6)
    if kind == "f" and dtype.itemsize <= 8:
        put_bytes(room, b'"float', 6)
    elif kind == "i":
        put_bytes(room, b'"int', 4)
    elif kind == "u":
        put_bytes(room, b'"uint', 5)
    else:
        raise Unusual
    put_int64(room, 8 * dtype.itemsize)
    return put_byte(room, c'"')


cdef int _put_dtypes(Room* room, dict attributes, frozenset without) except -1:
    """Append the dtypes of all NumPy values: of scalars the names, of arrays lists with the shapes, too."""
    cdef object key, value
    cdef bint is_first = True
    cdef int i
    put_bytes(room, b'".dtypes": {', 12)
    for key, value in attributes.items():
        if not _is_numpy(value) or _is_left_out(key, without):
            continue
        put_name(room, key, is_first)
        is_first = False
        if not cnp.PyArray_CheckExact(value) or cnp.PyArray_NDIM(value) == 0:
            _put_dtype(room, _dtype_of(value))
            continue
        put_byte(room, c"[")
        _put_dtype(room, _dtype_of(value))
        for i in range(cnp.PyArray_NDIM(value)):
            put_bytes(room, b", ", 2)
            put_int64(room, cnp.PyArray_DIM(value, i))
        put_byte(room, c"]")
    return put_byte(room, c"}")


cdef object _as_python(object value):
    """Return a NumPy value as one of Python."""
    cdef char kind = _dtype_of(value).kind
    if kind != c"f" and kind != c"i" and kind != c"u" and kind != c"b" and kind != c"U":
        raise Unusual
    return value.tolist()


def _inner_as_python(value):
    """Do the same for a value inside of a list or dict."""
    if not _is_numpy(value):
        raise Unusual
    return _as_python(value)


cdef int put_attributes(Room* room, dict attributes, frozenset without) except -1:
    """Append attributes but for some, and `.dtypes` where one has a NumPy type, as the items of an object.

    Raises Unusual, TypeError or ValueError for what is left to others.
    """
    cdef object key, value
    cdef bint is_first = True, is_numpy, has_numpy = False
    room.fallback = <PyObject*> _inner_as_python
    for key, value in attributes.items():
        if _is_left_out(key, without):
            continue
        put_name(room, key, is_first)
        is_first = False
        is_numpy = _is_numpy(value)
        has_numpy |= is_numpy
        put_value(room, _as_python(value) if is_numpy else value, AROUND)
    if has_numpy:
        put_bytes(room, b", ", 2)
        _put_dtypes(room, attributes, without)
    return not is_first
