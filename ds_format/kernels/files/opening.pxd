"""Opening what has to be a file, for the kernels that read one."""

from libc.stdint cimport int64_t
from posix.stat cimport struct_stat

cdef enum:
    TRIES = 16  # times that a small file is read which is modified meanwhile

cdef int open_regular(object path, struct_stat* status) except -1
cdef Py_ssize_t read_first(int fd, char* room, Py_ssize_t size, object path) except -1
cdef int64_t time_changed(struct_stat* status) noexcept nogil
cdef bint is_changing(int fd, struct_stat* status) noexcept nogil
cdef int refuse_changing(object path) except -1
