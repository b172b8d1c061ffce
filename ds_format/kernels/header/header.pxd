"""Declarations of `header` for other kernels: the parsed header, and the members of its entries."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint8_t

from ..json.decode cimport Names, Text, follows

cdef enum:  # facts about an entry that affect decoding, in addition to its `Variable`
    DOUBTFUL = 1  # an older writer may have stored a wrong `.len`
    DTYPES = 2    # it has `.dtypes`
    PACKED = 4    # it records that the original file had packed numbers

cdef enum:  # properties that describe the storage of a variable, one bit each: see `codec.header`
    SIZE = 1
    OFFSET = 2
    LEN = 4
    TYPE = 8
    MISSING = 16
    ENDIAN = 32
    DIMS = 64
    DSIZE = 128

cdef enum:
    FEW = 16  # variables, and dimensions, for which memory is allocated at first; enough for most files


cdef struct Variable:
    int type         # number of the type; -1: none
    int ndim         # -1: the variable does not have data
    Py_ssize_t first  # index in `sizes` of its first dimension
    int n_dims       # number of names in `.dims`; -1: it does not have `.dims`
    int64_t n        # number of values
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
    cdef Py_ssize_t variables_capacity
    cdef Py_ssize_t sizes_capacity
    cpdef bint is_doubtful_in(self, Py_ssize_t body_size) noexcept
    cdef Variable* new_variable(self, Py_ssize_t i) except NULL
    cdef int add_size(self, Variable* var, int64_t count) except -1


cdef class TypeTable:
    cdef Names names
    cdef dict types
    cdef int float64
    cdef int str
    cdef int unicode


cdef void begin(Variable* var, Header header, TypeTable table) noexcept
cdef object take_name(Text* t, TypeTable table, bint is_variable, int* property)
cdef int take_member(
    Text* t, TypeTable table, int property, str name, Header header, Variable* var, dict meta
) except -1
cdef int finish(Variable* var, TypeTable table) except -1


cdef inline int take_property(Text* t) noexcept:
    """Step over the name of a storage property, and return its bit; 0, without a step, for another name."""
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
