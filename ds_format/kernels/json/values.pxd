from libc.stdint cimport int64_t, uint8_t

from ..common.output cimport Output
from .scan cimport Checked, Scan

cdef int put_int64(Output* output, int64_t value) except -1
cdef int put_text(Output* output, object text) except -1
cdef int put_name(Output* output, object name, bint is_first) except -1
cdef int put_items(Output* output, dict items, int depth, bint is_document) except -1
cdef int put_value(Output* output, object value, int depth) except -1
cdef Checked check(const uint8_t* p, Py_ssize_t size) noexcept nogil
cdef void begin(Scan* s, const uint8_t* p, Py_ssize_t size) noexcept nogil
cdef void check_next(Scan* s, Checked* checked) noexcept nogil
cdef bint has_big_number(const uint8_t* p, Py_ssize_t size) noexcept nogil
