"""What a header says, and the members of its entries: what other kernels need of it."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint8_t

from ..json.decode cimport Names, Text, follows

cdef enum:  # what an entry says to those who decode, beyond its `Variable`
    DOUBTFUL = 1  # some older writer gets its `.len` wrong
    DTYPES = 2    # it has `.dtypes`
    PACKED = 4    # it has a record of how numbers are packed in another file

cdef enum:  # properties that say how a variable is stored, one bit each: see `codec.header`
    SIZE = 1
    OFFSET = 2
    LEN = 4
    TYPE = 8
    MISSING = 16
    ENDIAN = 32
    DIMS = 64
    DSIZE = 128

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


cdef inline int take_property(Text* t) noexcept:
    """Step over the name of a property that says how a variable is stored, and return which; 0: another name."""
    cdef uint8_t c
    if t.end - t.p < 8 or t.p[0] != b'"' or t.p[1] != b".":
        return 0
    c = t.p[2]
    if c == b"s":
        return SIZE if follows(t, b'".size"', 7) else 0
    if c == b"o":
        return OFFSET if follows(t, b'".offset"', 9) else 0
    if c == b"l":
        return LEN if follows(t, b'".len"', 6) else 0
    if c == b"t":
        return TYPE if follows(t, b'".type"', 7) else 0
    if c == b"m":
        return MISSING if follows(t, b'".missing"', 10) else 0
    if c == b"e":
        return ENDIAN if follows(t, b'".endian"', 9) else 0
    if c == b"d":
        return DIMS if follows(t, b'".dims"', 7) else DSIZE if follows(t, b'".dsize"', 8) else 0
    return 0
