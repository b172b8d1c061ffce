"""Small files in a row that differ in little but their values: what is the same is not looked at once more.

What a header says is read by `header`; here it is compared with that of the file before, and values are collected.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp, memcpy

from ..common.words cimport LITTLE_HOST
from ..json.decode cimport expect, next_byte, take_value
from ..json.strings cimport Text, borrow_names, give_back
from .entry cimport Header, Variable, check_name

from ..json.strings import Unusual


def take_attributes(data not None, Py_ssize_t start, Header header not None):
    """Read the rest of a header line that begins as that of another file: attributes of the dataset, and no more.

    Parameters
    ----------
    data : buffer
        The whole file.
    start : int
        Where the value of the last member begins, the attributes of the dataset, in bytes.
    header : Header
        Of the other file.

    Returns
    -------
    (dict, int) or None
        Attributes, as plain JSON values, and where the body starts, in bytes. None: something else is there, or
        something unusual.
    """
    cdef Text t
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    names = borrow_names()
    try:
        if not 0 <= start < view.len:
            return None
        t.p = <const uint8_t*> view.buf + start
        t.end = <const uint8_t*> memchr(t.p, b"\n", view.len - start)
        if t.end == NULL or next_byte(&t) != b"{":
            return None
        t.depth = 0
        attributes = take_value(&t, names)
        for name in <dict> attributes:
            check_name(name, header)
        expect(&t, b"}")
        next_byte(&t)
        return (attributes, t.end + 1 - <const uint8_t*> view.buf) if t.p == t.end else None
    except (Unusual, UnicodeDecodeError):
        return None
    finally:
        give_back(names)
        PyBuffer_Release(&view)


cdef bint _same(object left, object right) except -1:
    """Whether two JSON values are the same, types of numbers and signs of zeros included."""
    cdef double first, second
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if type(left) is float:
        first, second = left, right
        return not memcmp(&first, &second, sizeof(double))
    if type(left) is list:
        if len(left) != len(right):
            return False
        for one, other in zip(left, right):
            if not _same(one, other):
                return False
        return True
    if type(left) is dict:
        if len(left) != len(right):
            return False
        for name, one in (<dict> left).items():
            if name not in right or not _same(one, right[name]):
                return False
        return True
    return left == right


def are_alike(dict left not None, dict right not None, tuple keys not None, tuple names not None):
    """Return whether in two metadata some members of some entries are the same, or absent from both."""
    cdef PyObject* one
    cdef PyObject* other
    cdef dict first, second
    for key in keys:
        first, second = left[key], right[key]
        for name in names:
            one, other = PyDict_GetItem(first, name), PyDict_GetItem(second, name)
            if one != other and (one == NULL or other == NULL or not _same(<object> one, <object> other)):
                return False
    return True


cdef void _copy(char* target, const char* source, Py_ssize_t n, Py_ssize_t size, bint swapped) noexcept nogil:
    """Copy `n` values of `size` bytes."""
    cdef Py_ssize_t i, k
    if not swapped:
        memcpy(target, source, n * size)
        return
    for i in range(n):
        for k in range(size):
            target[i * size + k] = source[(i + 1) * size - 1 - k]


def append_numbers(Header header not None, Py_ssize_t body, data not None, list sizes not None, list rooms not None):
    """Append the numbers of a file to those of others, in native byte order.

    Parameters
    ----------
    header : Header
    body : int
        Where the body starts, in bytes.
    data : buffer
        The whole file.
    sizes : list of int
        Bytes of a value, by the number of its type; 0: no number.
    rooms : list of bytearray or None
        For each variable of the header what its values are appended to; None: they are not wanted.

    Returns
    -------
    list of int
        Which of the wanted variables are no plain numbers, have a mask, or are not inside of the file. If there are
        some, nothing has been appended.
    """
    cdef list left = []
    cdef Py_buffer view
    cdef Variable* var
    cdef Py_ssize_t i, n, size, before
    if body < 0 or len(rooms) != len(header.keys):
        raise ValueError(f"{len(rooms)} rooms for {len(header.keys)} variables, body at {body}")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        for i in range(len(rooms)):
            var = &header.variables[i]
            if rooms[i] is None or var.ndim < 0 or var.n == 0:
                continue
            size = sizes[var.type]
            if size <= 0 or var.missing or var.offset > view.len - body or var.n > (view.len - body - var.offset) // size:
                left.append(i)
        if left:
            return left
        for i in range(len(rooms)):
            var = &header.variables[i]
            if rooms[i] is None or var.ndim < 0 or var.n == 0:
                continue
            room, size = <bytearray?> rooms[i], sizes[var.type]
            before, n = PyByteArray_GET_SIZE(room), var.n * size
            PyByteArray_Resize(room, before + n)
            _copy(
                PyByteArray_AS_STRING(room) + before, <const char*> view.buf + body + var.offset, var.n, size,
                size > 1 and var.big == LITTLE_HOST
            )
    finally:
        PyBuffer_Release(&view)
    return left
