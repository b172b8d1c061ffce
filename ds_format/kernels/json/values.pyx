"""Python values → JSON text, always the same, floats as repr has them.

It is compact with not more escapes than needed, or what `json.dumps` makes of them: see `Room.like_python`.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.mem cimport PyMem_Free, PyMem_RawFree
from cpython.object cimport PyObject
from libc.math cimport isfinite, isnan
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport strlen

from ..common.room cimport Room, make_room, put_byte, put_bytes
from .scan cimport MAX_DEPTH as DEEPEST
from .text cimport copy_ascii, copy_escaped, copy_plain, put_decimal, put_integer

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    bint PyUnicode_IS_COMPACT_ASCII(object text) noexcept
    void* PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept
    int PyUnicode_KIND(object text) noexcept
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    char* PyOS_double_to_string(double value, char format, int precision, int flags, int* kind) except NULL
    int Py_DTSF_ADD_DOT_0

cdef enum:
    NUMBER = 32    # bytes that any float needs at most, with a comma
    DELETE = 0x7F

MAX_DEPTH = DEEPEST

cdef str ID = "_id"


cdef int put_text(Room* room, object text) except -1:
    """Append a string in quotes."""
    cdef Py_ssize_t size = 0
    cdef const uint8_t* data
    cdef uint8_t* out
    if PyUnicode_IS_COMPACT_ASCII(text):
        data, size = <const uint8_t*> PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)
    elif room.like_python:
        return _put_ascii(room, text)
    else:
        data = <const uint8_t*> PyUnicode_AsUTF8AndSize(text, &size)
    if size + 2 > room.room - room.size:
        make_room(room, size + 2)
    out = room.data + room.size
    out[0] = c'"'
    if copy_plain(out + 1, data, size, DELETE) if room.like_python else copy_plain(out + 1, data, size, c'"'):
        out[size + 1] = c'"'
        room.size += size + 2
        return 0
    if room.like_python:
        return _put_ascii(room, text)
    make_room(room, 6 * size + 2)
    out = copy_escaped(room.data + room.size + 1, data, size)
    out[0] = c'"'
    room.size = out + 1 - room.data
    return 0


cdef int _put_ascii(Room* room, object text) except -1:
    """Append a string in quotes, with escapes for all that is no printable character of ASCII."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef uint8_t* out
    make_room(room, (12 if PyUnicode_KIND(text) == 4 else 6) * size + 2)
    out = room.data + room.size
    out[0] = c'"'
    out = copy_ascii(out + 1, PyUnicode_KIND(text), PyUnicode_DATA(text), size)
    out[0] = c'"'
    room.size = out + 1 - room.data
    return 0


cdef int put_int64(Room* room, int64_t value) except -1:
    """Append an integer."""
    make_room(room, NUMBER)
    room.size = put_integer(room.data + room.size, value) - room.data
    return 0


cdef int _put_integer(Room* room, object value) except -1:
    cdef int overflow = 0
    cdef long long small = PyLong_AsLongLongAndOverflow(value, &overflow)
    cdef bytes digits
    if overflow:
        digits = int.__repr__(value).encode()
        return put_bytes(room, PyBytes_AS_STRING(digits), PyBytes_GET_SIZE(digits))
    return put_int64(room, small)


cdef int _put_float(Room* room, double value) except -1:
    cdef uint8_t* end
    cdef char* digits
    if not isfinite(value):
        return _put_constant(room, value)
    make_room(room, NUMBER)
    end = put_decimal(room.data + room.size, value)
    if end != NULL:
        room.size = end - room.data
        return 0
    digits = PyOS_double_to_string(value, c"r", 0, Py_DTSF_ADD_DOT_0, NULL)
    try:
        return put_bytes(room, digits, strlen(digits))
    finally:
        PyMem_Free(digits)


cdef int _put_constant(Room* room, double value) except -1:
    if not room.like_python:
        raise ValueError(f"JSON has no number {value!r}")
    if isnan(value):
        return put_bytes(room, "NaN", 3)
    return put_bytes(room, "Infinity", 8) if value > 0 else put_bytes(room, "-Infinity", 9)


cdef inline int _put_mark(Room* room, uint8_t mark) except -1:
    """Append a comma or colon."""
    return put_bytes(room, ", " if mark == c"," else ": ", 2) if room.like_python else put_byte(room, mark)


cdef int _deeper(int depth) except -1:
    if depth >= DEEPEST:
        raise ValueError(f"more than {DEEPEST} dicts and lists are inside of one another")
    return 0


cdef int put_name(Room* room, object name, bint is_first) except -1:
    """Append the name of a member and its colon, behind a comma unless it is the first."""
    if not isinstance(name, str):
        raise TypeError(f"found the key {name!r} of type {type(name).__name__}, expected str")
    if not is_first:
        _put_mark(room, c",")
    put_text(room, name)
    return _put_mark(room, c":")


cdef inline bint _is_id(object key) except -1:
    return key is ID or (isinstance(key, str) and PyUnicode_GET_LENGTH(key) == 3 and key == ID)


cdef int put_items(Room* room, dict items, int depth, bint is_document) except -1:
    """Append the items of a dict and the brace that closes it; of a document all but `_id`, which stands in front."""
    cdef object key, value
    cdef bint first = not is_document
    for key, value in items.items():
        if is_document and _is_id(key):
            continue
        put_name(room, key, first)
        first = False
        put_value(room, value, depth)
    return put_byte(room, c"}")


cdef int _put_list(Room* room, object values, int depth) except -1:
    cdef object value
    cdef bint first = True
    _deeper(depth)
    put_byte(room, c"[")
    if type(values) is list:
        for value in <list> values:
            if not first:
                _put_mark(room, c",")
            first = False
            put_value(room, value, depth + 1)
    else:
        for value in tuple(values):
            if not first:
                _put_mark(room, c",")
            first = False
            put_value(room, value, depth + 1)
    return put_byte(room, c"]")


cdef int put_value(Room* room, object value, int depth) except -1:
    """Append a value; `depth` is how many dicts and lists are around it."""
    cdef object kind = type(value)
    if kind is str:
        return put_text(room, value)
    if kind is int:
        return _put_integer(room, value)
    if kind is float:
        return _put_float(room, PyFloat_AS_DOUBLE(value))
    if value is None:
        return put_bytes(room, "null", 4)
    if value is True:
        return put_bytes(room, "true", 4)
    if value is False:
        return put_bytes(room, "false", 5)
    if kind is dict:
        _deeper(depth)
        put_byte(room, c"{")
        return put_items(room, value, depth + 1, False)
    if kind is list or kind is tuple:
        return _put_list(room, value, depth)
    return _put_other(room, value, depth)


cdef int _put_other(Room* room, object value, int depth) except -1:
    """Append a value of a subclass, or what the fallback makes of it."""
    if isinstance(value, str):
        return put_text(room, value)
    if isinstance(value, int):
        return _put_integer(room, value)
    if isinstance(value, float):
        return _put_float(room, PyFloat_AS_DOUBLE(value))
    if isinstance(value, dict):
        return put_value(room, dict(value.items()), depth)
    if isinstance(value, (list, tuple)):
        return _put_list(room, value, depth)
    if <object> room.fallback is None:
        raise TypeError(f"JSON has nothing for {value!r} of type {type(value).__name__}")
    _deeper(depth)
    return put_value(room, (<object> room.fallback)(value), depth + 1)


def dumps(object value, object fallback=None, bint like_python=False):
    """Return a value as JSON text, in UTF-8.

    Parameters
    ----------
    value : object
        Of str, int, float, bool, None, dict, list and tuple, and what `fallback` makes such values of.
    fallback : callable, optional
        Gets a value of another type, and returns what is to be written in its place, or raises TypeError.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        For NaN, an infinity or half a surrogate pair, unless `like_python`; for more than MAX_DEPTH dicts and lists
        inside of one another.
    TypeError
        For a key that is not str, or a value of another type.
    """
    cdef Room room = Room(NULL, 0, 0, <PyObject*> fallback, like_python)
    try:
        put_value(&room, value, 0)
        return PyBytes_FromStringAndSize(<const char*> room.data, room.size)
    finally:
        PyMem_RawFree(room.data)
