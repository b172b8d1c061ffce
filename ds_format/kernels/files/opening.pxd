"""Opening what has to be a file, for the kernels that read one."""

from posix.stat cimport struct_stat

cdef int open_regular(object path, struct_stat* status) except -1
cdef Py_ssize_t read_first(int fd, char* room, Py_ssize_t size, object path) except -1
