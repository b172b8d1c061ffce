from posix.uio cimport iovec


cdef class Vectors:
    """Buffers held for one vectored write."""

    cdef Py_buffer* views
    cdef iovec* items
    cdef Py_ssize_t n, held

    cdef int write(self, int fd, object path) except -1
