"""Small files in a row that differ in little but their values: what is the same is not read once more.

What a header says is found out by `header`; here it is compared with that of the file before, and values are collected.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp, memcpy

from ..common.words cimport LITTLE_HOST
from ..header.alike cimport same_member
from ..header.header cimport Header, Variable
from ..json.decode cimport expect, next_byte, take_value
from ..json.strings cimport Text, borrow_names, give_back

from ..json.strings import Unusual

cdef extern from "Python.h":
    ctypedef struct PyByteArrayObject:
        Py_ssize_t ob_alloc
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef str DTYPES = ".dtypes"


cdef void _copy(char* target, const char* source, Py_ssize_t n, Py_ssize_t size, bint swapped) noexcept nogil:
    """Copy `n` values of `size` bytes."""
    cdef Py_ssize_t i, k
    if not swapped:
        memcpy(target, source, n * size)
        return
    for i in range(n):
        for k in range(size):
            target[i * size + k] = source[(i + 1) * size - 1 - k]


cdef char* _more(bytearray room, Py_ssize_t size) except NULL:
    """Lengthen an array of bytes, and return where the new ones are."""
    cdef Py_ssize_t before = PyByteArray_GET_SIZE(room)
    if before + size >= (<PyByteArrayObject*> room).ob_alloc:
        PyByteArray_Resize(room, 2 * (before + size))  # by itself it grows by an eighth, and is moved each time
    PyByteArray_Resize(room, before + size)
    return PyByteArray_AS_STRING(room) + before


cdef list _append(Header header, Py_ssize_t body, Py_buffer* view, list sizes, list rooms):
    """Append the numbers of a file to those of others; or append nothing, and return which variables prevent it."""
    cdef list left = []
    cdef Variable* var
    cdef Py_ssize_t i, size, room_size = view.len - body
    for i in range(len(rooms)):
        var = &header.variables[i]
        if rooms[i] is None or var.ndim < 0 or var.n == 0:
            continue
        size = sizes[var.type]
        if size <= 0 or var.missing or var.offset > room_size or var.n > (room_size - var.offset) // size:
            left.append(i)
    if left:
        return left
    for i in range(len(rooms)):
        var = &header.variables[i]
        if rooms[i] is None or var.ndim < 0 or var.n == 0:
            continue
        room, size = <bytearray?> rooms[i], sizes[var.type]
        _copy(
            _more(room, var.n * size), <const char*> view.buf + body + var.offset, var.n, size,
            size > 1 and var.big == LITTLE_HOST
        )
    return left


def append_numbers(Header header not None, data not None, list sizes not None, list rooms not None):
    """Append the numbers of a file to those of others, in native byte order.

    Parameters
    ----------
    header : Header
    data : buffer
        The whole file.
    sizes : list of int
        Bytes of a value, by the number of its type; 0: no number.
    rooms : list of bytearray or None
        For each variable of the header what its values are appended to; None: they are not wanted.

    Returns
    -------
    list of int
        Which of the wanted variables are no numbers, have a mask, or are not inside of the file. If there are some,
        nothing has been appended.
    """
    cdef Py_buffer view
    if len(rooms) != len(header.keys):
        raise ValueError(f"{len(rooms)} rooms for {len(header.keys)} variables")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return _append(header, header.body, &view, sizes, rooms)
    finally:
        PyBuffer_Release(&view)


cdef class Model:
    """A file which the next one may follow: that differs in attributes of the dataset, and in values, only.

    Parameters
    ----------
    line : bytes
        All before the body.
    last : int
        Where the value of the last member of the header may begin, if that are the attributes of the dataset, in bytes;
        0: nowhere.
    header : Header
        What the kernel has found in it.
    attributes : dict
        Those of the dataset, plain JSON values.
    """

    cdef bytes line
    cdef Py_ssize_t last
    cdef bint is_sure
    cdef Header header
    cdef dict attributes

    def __init__(self, bytes line not None, Py_ssize_t last, Header header not None, dict attributes not None):
        self.line, self.last, self.header, self.attributes = line, last, header, attributes
        self.is_sure = False

    def take(self, data not None, list sizes not None, list rooms not None, dict attributes not None):
        """Take a file that follows.

        Parameters
        ----------
        data : buffer
            The whole file.
        sizes, rooms
            As `append_numbers`.
        attributes : dict
            Those of the files before, plain JSON values; `.dtypes` among them has to be the same.

        Returns
        -------
        dict or None
            The attributes of the dataset in this file, plain JSON values; those of the model itself if the headers are
            equal. None if the file has not been taken: it does not follow, is unusual or damaged, or a requested
            variable is not of plain numbers.
        """
        cdef Py_buffer view
        cdef Py_ssize_t body = 0, size = PyBytes_GET_SIZE(self.line)
        cdef dict found = self.attributes
        if len(rooms) != len(self.header.keys):
            raise ValueError(f"{len(rooms)} rooms for {len(self.header.keys)} variables")
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if view.len >= size and not memcmp(view.buf, PyBytes_AS_STRING(self.line), size):
                body = size
            elif self.last and view.len > self.last and not memcmp(view.buf, PyBytes_AS_STRING(self.line), self.last):
                if not self.is_sure:
                    self.is_sure = self._attributes(PyBytes_AS_STRING(self.line), size, &body) is not None
                    self.last = self.last if self.is_sure else 0
                if self.is_sure:
                    found = self._attributes(<const char*> view.buf, view.len, &body)
            if not body or (found is not self.attributes and not same_member(attributes, found, DTYPES)):
                return None
            if _append(self.header, body, &view, sizes, rooms):
                return None
            return found
        finally:
            PyBuffer_Release(&view)

    cdef dict _attributes(self, const char* data, Py_ssize_t size, Py_ssize_t* body):
        """Return the last member of a header, and where the body begins; None: there is something else, or unusual."""
        cdef Text t
        cdef dict found
        cdef Py_UCS4 first
        t.p = <const uint8_t*> data + self.last
        t.end = <const uint8_t*> memchr(t.p, b"\n", size - self.last)
        t.depth = 0
        body[0] = 0
        if t.end == NULL or next_byte(&t) != b"{":
            return None
        names = borrow_names()
        try:
            found = take_value(&t, names)
            for name in found:
                first = PyUnicode_READ_CHAR(name, 0) if name else 0
                if first == "\\" or (first == "." and name != DTYPES):
                    return None
            expect(&t, b"}")
            next_byte(&t)
            if t.p != t.end:
                return None
        except (Unusual, UnicodeDecodeError):
            return None
        finally:
            give_back(names)
        body[0] = t.end + 1 - <const uint8_t*> data
        return found
