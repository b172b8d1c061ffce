"""Stamps of files that are read: what other kernels need of it."""

from libc.stdint cimport int64_t
from posix.stat cimport struct_stat

cdef enum:
    TRIES = 16  # times that a small file is read which is modified meanwhile

cdef int64_t time_changed(struct_stat* status) noexcept nogil
cdef bint is_changing(int fd, struct_stat* status) noexcept nogil
