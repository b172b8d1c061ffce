"""What is remembered of headers, so that of the next one only what is new has to be read.

The files of an archive have the same variables, described in the same words, at the same places of their headers. So
for each place there is a template: the entry that was there in a file before.
"""

from cpython.dict cimport PyDict_SetItem, PyDict_Size
from libc.stdint cimport uint8_t

from ..json.decode cimport expect, next_byte, take_key
from ..json.strings cimport Text
from .entry cimport Known, begin, finish, take_member, take_name
from .header cimport DTYPES, Header, Variable
from .properties cimport DIMS, SIZE, TYPE
from .template cimport Template

from ..json.strings import Unusual

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept


cdef int _give(dict out, str key, dict meta, Variable* var, object typed) except -1:
    PyDict_SetItem(out, key, meta if typed is None or not var.flags & DTYPES else typed(meta))
    return 0


cdef class Memory:
    """Templates, by the places of entries; for one call at a time.

    Parameters
    ----------
    types : dict
        Name of each type → its number.
    """

    def __cinit__(self, dict types not None):
        self.known = Known(types)
        self.templates = [None] * MOST_ENTRIES

    cdef str take_entry(
        self, Text* t, Py_ssize_t place, Header header, Variable* var, object wanted, object typed, dict out
    ):
        """Take the entry that is next, and return its key.

        Parameters
        ----------
        t : Text
            At the name of the entry.
        place : int
            How many entries were before it.
        header, var
            Where to say where the values are.
        wanted : collection of str or None
            Of which variables the metadata are; None: all.
        typed : callable or None
            As of `Parser.parse`.
        out : dict
            Gets the metadata, if they are wanted.
        """
        cdef Template template = <Template> self.templates[place] if place < MOST_ENTRIES else None
        cdef const uint8_t* start = t.p
        cdef Py_ssize_t n_sizes = header.n_sizes
        cdef dict meta
        cdef str key
        cdef bint is_wanted, is_kept = place < MOST_ENTRIES
        if template is not None:
            key = template.key
            is_wanted = wanted is None or key == "." or key in wanted
            if template.is_next(t):
                template.put(header, var)
                if is_wanted:
                    PyDict_SetItem(out, key, template.copy(typed))
                return key
            meta = template.follow(t, self.known, header, var, is_wanted)
            if meta is not None:
                self.refused[place] = False
                if template.is_stale:
                    self.templates[place] = None
                if is_wanted:
                    _give(out, key, meta, var, typed)
                return key
            t.p = start
            header.n_sizes = n_sizes
            is_kept = self.refused[place]  # only the second one in a row takes the place of the template
            self.refused[place] = not is_kept
        template = Template.__new__(Template) if is_kept else None
        meta = {}
        key = self._read(t, header, var, template, meta)
        if is_kept:
            self.templates[place] = template if template.fill(start, t.p - start, key, meta, header, var) else None
        if wanted is None or key == "." or key in wanted:
            _give(out, key, meta, var, typed)
        return key

    cdef str _read(self, Text* t, Header header, Variable* var, Template template, dict meta):
        """Take an entry, member by member, and note these in a template, if there is one."""
        cdef const uint8_t* first = t.p
        cdef const uint8_t* start
        cdef Py_ssize_t n = 0
        cdef int seen = 0, which
        key = take_key(t, self.known.names)
        cdef bint is_variable = key != "."
        if is_variable and key and PyUnicode_READ_CHAR(key, 0) in ".\\":
            raise Unusual
        begin(var, header, self.known)
        expect(t, b"{")
        if next_byte(t) == b"}" and not is_variable:
            t.p += 1
            return key
        while True:
            next_byte(t)
            start = t.p
            name = take_name(t, self.known, is_variable, &which)
            if which & seen:
                raise Unusual
            seen |= which
            n += which == 0 or which == SIZE or which == TYPE or which == DIMS
            take_member(t, self.known, which, name, header, var, meta)
            if template is not None:
                template.add(which, name, start - first, t.p - first)
            if next_byte(t) != b",":
                break
            t.p += 1
        expect(t, b"}")
        if PyDict_Size(meta) != n:
            raise Unusual  # a name occurs twice
        finish(var, self.known)
        if is_variable and not seen & SIZE:
            PyDict_SetItem(meta, ".size", [])
        if is_variable and not seen & TYPE:
            PyDict_SetItem(meta, ".type", "float64")
        return key
