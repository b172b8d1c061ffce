"""The class that holds what is known of a file while it is parsed."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport uint64_t

from .known cimport Known


cdef class Segments:
    cdef Known k
    cdef Py_buffer* views
    cdef Py_ssize_t n_views

    cdef int take(self, list segments, uint64_t size) except -1
    cdef int release(self) except -1
    cdef list needed(self)
    cdef str oddity(self)
    cdef object error(self, object unusual)
