"""What a header says, and the members of its entries: what other kernels need of it."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t

from ..json.decode cimport Names, Text

cdef enum:  # what an entry says to those who decode, beyond its `Variable`
    DOUBTFUL = 1  # some older writer gets its `.len` wrong
    DTYPES = 2    # it has `.dtypes`
    PACKED = 4    # it has a record of how numbers are packed in another file

cdef enum:
    FEW = 16  # variables and dimensions of most files, for which nothing is allocated


cdef struct Variable:
    int type         # which of the known types; -1: none
    int ndim         # -1: the variable has no data
    Py_ssize_t first  # of its dimensions, in `sizes`
    int n_dims       # how many have names; -1: they have none
    int64_t n        # values
    int64_t offset
    int64_t length
    bint big
    bint missing
    int flags


cdef class Header:
    cdef readonly Py_ssize_t body
    cdef readonly tuple keys
    cdef int flags
    cdef Variable* variables
    cdef Py_ssize_t* sizes
    cdef Py_ssize_t n_sizes
    cdef Py_ssize_t room_for_variables
    cdef Py_ssize_t room_for_sizes
    cdef Variable[FEW] few_variables
    cdef Py_ssize_t[FEW] few_sizes
    cdef Variable* place_of(self, Py_ssize_t i) except NULL
    cdef int add_size(self, Variable* var, int64_t count) except -1


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
cdef list append_values(Header header, Py_ssize_t body, Py_buffer* view, list sizes, list rooms)
