"""The members of an entry: what other kernels need of them."""

from ..json.strings cimport Names, Text
from .header cimport Header, Variable


cdef class Known:
    cdef Names names
    cdef dict types
    cdef int float64
    cdef int str
    cdef int unicode


cdef void begin(Variable* var, Header header, Known known) noexcept
cdef object take_name(Text* t, Known known, bint is_variable, int* which)
cdef int take_member(Text* t, Known known, int which, str name, Header header, Variable* var, dict meta) except -1
cdef int finish(Variable* var, Known known) except -1
