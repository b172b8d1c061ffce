"""Declarations of `memory` for other kernels: entries of earlier headers."""

from libc.stdint cimport uint8_t, uint64_t

from ..json.decode cimport Text
from .header cimport Header, TypeTable, Variable

cdef enum:
    MAX_ENTRIES = 64  # entries of a header that are remembered: the first ones
    MAX_MEMBERS = 48  # members of an entry that is remembered
    MAX_DIMS = 8      # dimensions of a variable that is remembered


cdef struct Member:
    int property      # bit of a storage property; 0: another member
    Py_ssize_t start  # start of its name in the text of the entry
    Py_ssize_t stop   # end of its value
    uint64_t other    # hash of the last different member at its position
    int repeats       # how often the ones before it were the same


cdef class Original:
    cdef dict meta
    cdef list lists  # names and values of lists of immutable items
    cdef list deep   # names and values of other mutable values
    cpdef dict copy(self)


cdef class Template:
    cdef readonly str key
    cdef uint8_t* text    # the entry, from its name to its closing brace
    cdef Py_ssize_t size
    cdef Member[MAX_MEMBERS] members
    cdef int n
    cdef list names       # names of members; None for storage properties
    cdef Original meta
    cdef Original typed   # the same with NumPy types, once they were requested
    cdef Variable var
    cdef Py_ssize_t[MAX_DIMS] sizes
    cdef bint is_stale    # whether two successive entries had the same different member
    cdef int add(self, int property, str name, Py_ssize_t start, Py_ssize_t stop) except -1
    cdef bint fill(
        self, const uint8_t* text, Py_ssize_t size, str key, dict meta, Header header, Variable* var
    ) except -1
    cdef dict copy(self, object typed)
    cdef int put(self, Header header, Variable* var) except -1
    cdef object follow(self, Text* t, TypeTable table, Header header, Variable* var, bint is_requested)


cdef class Memory:
    cdef TypeTable table
    cdef list templates
    cdef bint[MAX_ENTRIES] refused  # whether the last entry did not follow the template
    cdef str take_entry(
        self, Text* t, Py_ssize_t i, Header header, Variable* var, object requested, object typed, list known, dict out
    )
    cdef str _read(self, Text* t, Header header, Variable* var, Template template, dict meta)


cdef bint same_member(dict left, dict right, str name) except -1
