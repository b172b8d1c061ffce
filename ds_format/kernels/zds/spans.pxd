from libc.stdint cimport uint64_t

from .ids cimport Ids


cdef struct Line:
    uint64_t offset
    Py_ssize_t number


cdef class Spans(Ids):
    cdef int check(self, Py_ssize_t i) except -1
    cdef Line* lines(self) except NULL
