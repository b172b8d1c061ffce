"""The header line of a ds-1.0 file → the position and type of each variable, and the metadata, in one pass.

This does the same as `codec.line` for usual headers. Wrong and unusual ones are left to that module. A `Model` compares
whole headers.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Size
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

from ..json.decode cimport Text, borrow_names, expect, give_back, next_byte, take_value
from .header cimport DTYPES, Header, Variable
from .memory cimport Memory, same_member

from ..json.decode import Unusual

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef str DTYPES_KEY = ".dtypes"

cdef enum:
    LEAD = 7  # bytes of the version line
    MAX_IDLE = 8  # memories that are kept while no call uses them


cdef class Parser:
    """Parses headers, and remembers their entries.

    Parameters
    ----------
    types : dict
        Name of each type → its number.
    """

    def __init__(self, dict types not None):
        self.types = types
        self.idle = []

    cpdef tuple parse(self, data, keys=None, typed=None, list known=None):
        """Read the header line of a ds-1.0 file.

        Parameters
        ----------
        data : buffer
            The first bytes of the file.
        keys : collection of str, optional
            Variables whose metadata to return, in addition to the metadata of the dataset. Default: all.
        typed : callable, optional
            Converts attributes of metadata that have `.dtypes` to these types in place, and returns the metadata. It
            must be the same function in all calls, because its results are remembered.
        known : list, optional
            An empty list, or the output of an earlier call. Metadata of variables that, except for positions, are those
            of the file of that call are not returned. Output: the same for this file; empty after a failure.

        Returns
        -------
        (Header, dict) or None
            The header, and the metadata of a dataset, as plain JSON values, or converted by `typed`. None if the header
            is wrong or unusual, or does not end within `data`.
        """
        cdef Text t
        cdef Py_buffer view
        cdef Header header = Header()
        cdef Memory memory
        cdef bint is_done = False
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            memory = <Memory> self.idle.pop()
        except IndexError:
            memory = Memory(self.types)
        try:
            if view.len <= LEAD or memcmp(view.buf, b"ds-1.0\n", LEAD):
                return None
            t.p = <const uint8_t*> view.buf + LEAD
            t.end = <const uint8_t*> memchr(t.p, b"\n", view.len - LEAD)
            if t.end == NULL:
                return None
            t.depth = 0
            header.body = t.end + 1 - <const uint8_t*> view.buf
            meta = _take_entries(&t, memory, header, keys, typed, known)
            is_done = True
            if typed is not None:
                header.flags &= ~DTYPES
            return header, meta
        except (Unusual, UnicodeDecodeError):
            return None
        finally:
            if known is not None and not is_done:
                known.clear()
            if len(self.idle) < MAX_IDLE:
                self.idle.append(memory)
            PyBuffer_Release(&view)


cdef dict _take_entries(Text* t, Memory memory, Header header, object requested, object typed, list known):
    """Take all entries of a header, and return the metadata."""
    cdef dict meta = {}
    cdef list keys = []
    cdef Variable* var
    cdef Py_ssize_t n = 0
    cdef str key
    expect(t, b"{")
    if next_byte(t) == b"}":
        raise Unusual
    while True:
        next_byte(t)
        var = header.new_variable(len(keys))
        key = memory.take_entry(t, n, header, var, requested, typed, known, meta)
        header.flags |= var.flags
        if key != ".":
            keys.append(key)
        n += 1
        if next_byte(t) != b",":
            break
        t.p += 1
    expect(t, b"}")
    next_byte(t)
    if t.p != t.end:
        raise Unusual
    if known is None and requested is None:
        is_repeated = PyDict_Size(meta) != n
    else:
        is_repeated = len(set(keys)) != len(keys) or n > len(keys) + 1
    if is_repeated:
        raise Unusual
    if known is not None:
        del known[n:]
    header.keys = tuple(keys)
    if key != ".":
        meta["."] = meta.pop(".", None) or {}
    return meta


cdef class Model:
    """The header of a file, for files that differ from it only in attributes of the dataset and in values.

    Parameters
    ----------
    line : bytes
        All bytes before the body.
    last : int
        The position, in bytes, at which the value of the last member of the header may begin, if this member has the
        attributes of the dataset. 0: it is not the last member.
    attributes : dict
        Attributes of the dataset, plain JSON values.

    `body` is where the body of the last file begins that matched.
    """

    cdef readonly Py_ssize_t body
    cdef bytes line
    cdef Py_ssize_t last
    cdef bint is_sure
    cdef dict attributes

    def __init__(self, bytes line not None, Py_ssize_t last, dict attributes not None):
        self.line, self.last, self.attributes = line, last, attributes
        self.is_sure = False

    def match(self, data not None, dict attributes not None):
        """Compare the header of a file.

        Parameters
        ----------
        data : buffer
            The whole file.
        attributes : dict
            Attributes of the files before, plain JSON values. Their `.dtypes` must be equal to those of this file.

        Returns
        -------
        dict or None
            The attributes of the dataset in this file, plain JSON values. If the headers are equal, this is the object
            of the model itself. None if the header differs otherwise, is unusual or damaged.
        """
        cdef Py_buffer view
        cdef Py_ssize_t body = 0, size = PyBytes_GET_SIZE(self.line)
        cdef dict own = self.attributes
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if view.len >= size and not memcmp(view.buf, PyBytes_AS_STRING(self.line), size):
                body = size
            elif self.last and view.len > self.last and not memcmp(view.buf, PyBytes_AS_STRING(self.line), self.last):
                if not self.is_sure:
                    self.is_sure = self._attributes(PyBytes_AS_STRING(self.line), size, &body) is not None
                    self.last = self.last if self.is_sure else 0
                if self.is_sure:
                    own = self._attributes(<const char*> view.buf, view.len, &body)
            if not body or (own is not self.attributes and not same_member(attributes, own, DTYPES_KEY)):
                return None
            self.body = body
            return own
        finally:
            PyBuffer_Release(&view)

    cdef dict _attributes(self, const char* data, Py_ssize_t size, Py_ssize_t* body):
        """Return the last member of a header, and set the start of the body; None if it is wrong or unusual."""
        cdef Text t
        cdef dict attributes
        cdef Py_UCS4 first
        t.p = <const uint8_t*> data + self.last
        t.end = <const uint8_t*> memchr(t.p, b"\n", size - self.last)
        t.depth = 0
        body[0] = 0
        if t.end == NULL or next_byte(&t) != b"{":
            return None
        names = borrow_names()
        try:
            attributes = take_value(&t, names)
            for name in attributes:
                first = PyUnicode_READ_CHAR(name, 0) if name else 0
                if first == "\\" or (first == "." and name != DTYPES_KEY):
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
        return attributes
