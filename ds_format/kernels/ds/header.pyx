"""The header line of a ds-1.0 file → what it says of each variable, and the metadata, in one pass.

This is `codec.line` for headers of the usual kind; whatever is wrong or unusual is left to that.
"""

from cpython.dict cimport PyDict_SetItem, PyDict_Size
from cpython.mem cimport PyMem_Realloc
from libc.stdint cimport uint8_t

from ..json.decode cimport expect, next_byte, take_key, take_value
from ..json.strings cimport Names, Text, borrow_names, give_back
from .entry cimport Header, Variable, check_name, take_entry

from ..json.strings import Unusual

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept


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


def parse(const uint8_t[::1] data not None, Py_ssize_t start, Py_ssize_t end, dict types not None):
    """Read a header line.

    Parameters
    ----------
    data : (size,) uint8
    start, end : int
        Of the line, without its LF, in bytes.
    types : dict
        Name of each type → its number.

    Returns
    -------
    (Header, dict) or None
        And the metadata of a dataset, as plain JSON values. None: the header is wrong, or unusual.
    """
    cdef Text t
    if not 0 <= start < end <= data.shape[0]:
        raise ValueError("not within the data")
    t.p = &data[start]
    t.end = &data[0] + end
    t.depth = 0
    header = Header()
    names = borrow_names()
    try:
        return header, _take_all(&t, names, types, header)
    except (Unusual, UnicodeDecodeError):
        return None
    finally:
        give_back(names)
