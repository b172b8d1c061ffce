"""Declarations for other kernels: the stamps of files that are read."""

from libc.stdint cimport int64_t
from posix.stat cimport struct_stat

cdef enum:
    TRIES = 16  # maximum number of times that a small file is read if it is modified meanwhile

cdef int64_t time_changed(struct_stat* status) noexcept nogil
cdef bint is_changing(int fd, struct_stat* status) noexcept nogil
