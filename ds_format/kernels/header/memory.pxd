"""What is remembered of headers: what other kernels need of it."""

from ..json.strings cimport Text
from .entry cimport Known
from .header cimport Header, Variable
from .template cimport Template

cdef enum:
    MOST_ENTRIES = 64  # of a header, from the first on, that are remembered


cdef class Memory:
    cdef Known known
    cdef list templates
    cdef bint[MOST_ENTRIES] refused  # whether the last entry was quite another one
    cdef str take_entry(
        self, Text* t, Py_ssize_t place, Header header, Variable* var, object wanted, object typed, dict out
    )
    cdef str _read(self, Text* t, Header header, Variable* var, Template template, dict meta)
