"""What is remembered of headers, so that of the next one only what is new has to be read.

The files of an archive have the same variables, described in the same words, at the same places of their headers. So
for each place there is a template: the entry that was there in a file before.
"""

from cpython.dict cimport PyDict_SetItem, PyDict_Size
from libc.stdint cimport uint8_t

from ..json.decode cimport expect, next_byte, take_key
from ..json.strings cimport Text
from .entry cimport Header, Known, Variable, begin, finish, take_member, take_name
from .properties cimport DIMS, SIZE, TYPE
from .template cimport Template

from ..json.strings import Unusual

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept


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

    cdef tuple take_entry(self, Text* t, Py_ssize_t place, Header header, Variable* var, object wanted):
        """Take the entry that is next.

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

        Returns
        -------
        (str, dict or None)
            Key, and metadata if they are wanted.
        """
        cdef Template template
        cdef const uint8_t* start = t.p
        cdef Py_ssize_t n_sizes = header.n_sizes
        cdef bint is_wanted
        if place >= MOST_ENTRIES:
            return self._read(t, header, var, None)
        template = <Template> self.templates[place]
        if template is not None:
            is_wanted = wanted is None or template.key == "." or template.key in wanted
            if template.is_next(t):
                template.put(header, var)
                return template.key, template.copy() if is_wanted else None
            meta = template.follow(t, self.known, header, var, is_wanted)
            if meta is not None:
                self.refused[place] = False
                if template.is_stale:
                    self.templates[place] = None
                return template.key, meta
            t.p = start
            header.n_sizes = n_sizes
            self.refused[place] = not self.refused[place]
            if self.refused[place]:  # a second one has to come before this is forgotten
                return self._read(t, header, var, None)
        template = Template.__new__(Template)
        found = self._read(t, header, var, template)
        self.templates[place] = None
        if template.fill(start, t.p - start, <str> found[0], <dict> found[1], header, var):
            self.templates[place] = template
        return found

    cdef tuple _read(self, Text* t, Header header, Variable* var, Template template):
        """Take an entry, member by member, and note these in a template."""
        cdef dict meta = {}
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
            return key, meta
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
        return key, meta
