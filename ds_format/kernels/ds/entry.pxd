"""What the header of a ds file says of each variable."""

from libc.stdint cimport int64_t

from ..json.strings cimport Names, Text


cdef struct Variable:
    int type         # which of the known types; -1: none
    int ndim         # -1: the variable has no data
    Py_ssize_t first  # of its dimensions, in `sizes`
    int64_t n        # values
    int64_t offset
    int64_t length
    bint big
    bint missing


cdef class Header:
    cdef readonly Py_ssize_t body
    cdef readonly tuple keys
    cdef readonly bint is_doubtful
    cdef readonly bint has_dtypes
    cdef readonly bint has_others
    cdef Variable* variables
    cdef Py_ssize_t* sizes
    cdef Py_ssize_t n_sizes
    cdef int add_size(self, Variable* var, int64_t count) except -1


cdef dict take_entry(Text* t, Names names, dict types, Header header, Variable* var)
cdef int check_name(str name, Header header) except -1
