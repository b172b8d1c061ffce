from libc.stdint cimport uint8_t

from .scan cimport Checked, Scan

cdef Checked check(const uint8_t* p, Py_ssize_t size) noexcept nogil
cdef void begin(Scan* s, const uint8_t* p, Py_ssize_t size) noexcept nogil
cdef void check_next(Scan* s, Checked* checked) noexcept nogil
cdef bint has_big_number(const uint8_t* p, Py_ssize_t size) noexcept nogil
