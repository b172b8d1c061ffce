"""The header line of a ds-1.0 file → the position and type of each variable, and the metadata, in one pass.

This does the same as `codec.line` for usual headers. Wrong and unusual ones are left to that module.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_Size
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp

from ..json.decode cimport Text, expect, next_byte
from .header cimport DTYPES, Header, Variable
from .memory cimport Memory

from ..json.decode import Unusual

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
            What an earlier call left there, or an empty list. Metadata of variables that, except for positions, are
            those of the file of that call are not returned. Output: the same for this file; empty after a failure.

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
