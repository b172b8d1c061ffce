"""The header line of a ds-1.0 file → what it says of each variable, and the metadata, in one pass.

This is `codec.line` for headers of the usual kind; whatever is wrong or unusual is left to that.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_SetItem, PyDict_Size
from cpython.mem cimport PyMem_Realloc
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

from ..json.decode cimport expect, next_byte, take_key, take_value
from ..json.strings cimport Names, Text, borrow_names, give_back
from .entry cimport Header, Variable, check_name, take_entry

from ..json.strings import Unusual

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef enum:
    LEAD = 7  # bytes of the version line


cdef dict _take_all(Text* t, Names names, dict types, Header header):
    cdef dict meta = {}
    cdef object attributes = None
    cdef list keys = []
    cdef Py_ssize_t n = 0
    expect(t, b"{")
    if next_byte(t) == b"}":
        raise Unusual
    while True:
        name = take_key(t, names)
        if name == ".":
            if attributes is not None or next_byte(t) != b"{":
                raise Unusual
            attributes = take_value(t, names)
            for key in attributes:
                check_name(key, header)
        else:
            if name and PyUnicode_READ_CHAR(name, 0) in ".\\":
                raise Unusual
            if n % 16 == 0:
                room = PyMem_Realloc(header.variables, (n + 16) * sizeof(Variable))
                if room == NULL:
                    raise MemoryError
                header.variables = <Variable*> room
            PyDict_SetItem(meta, name, take_entry(t, names, types, header, &header.variables[n]))
            keys.append(name)
            n += 1
        if next_byte(t) != b",":
            break
        t.p += 1
    expect(t, b"}")
    next_byte(t)
    if t.p != t.end or PyDict_Size(meta) != n:
        raise Unusual
    header.keys = tuple(keys)
    meta["."] = {} if attributes is None else attributes
    return meta


def parse(data not None, dict types not None):
    """Read the header line of a ds-1.0 file.

    Parameters
    ----------
    data : buffer
        The first bytes of the file.
    types : dict
        Name of each type → its number.

    Returns
    -------
    (Header, dict) or None
        And the metadata of a dataset, as plain JSON values. None: the header is wrong or unusual, or goes on.
    """
    cdef Text t
    cdef Py_buffer view
    cdef Header header = Header()
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    names = borrow_names()
    try:
        if view.len <= LEAD or memcmp(view.buf, b"ds-1.0\n", LEAD):
            return None
        t.p = <const uint8_t*> view.buf + LEAD
        t.end = <const uint8_t*> memchr(t.p, b"\n", view.len - LEAD)
        if t.end == NULL:
            return None
        t.depth = 0
        header.body = t.end + 1 - <const uint8_t*> view.buf
        return header, _take_all(&t, names, types, header)
    except (Unusual, UnicodeDecodeError):
        return None
    finally:
        give_back(names)
        PyBuffer_Release(&view)
