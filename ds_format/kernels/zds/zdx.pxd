cimport cython
from libc.stdint cimport uint64_t

from .spans cimport Spans


@cython.final
cdef class Table(Spans):
    cdef const char* survey(self, uint64_t count, uint64_t data_size, Py_ssize_t* at) noexcept nogil
    cdef Py_ssize_t size(self)
