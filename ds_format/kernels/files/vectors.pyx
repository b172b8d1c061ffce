"""Buffers to be written in one system call."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from posix.uio cimport iovec, writev

from .system cimport fail

cdef enum:
    IOV_MAX = 1024  # buffers of one system call


cdef class Vectors:
    """Buffers held for one vectored write."""

    def __cinit__(self, list buffers):
        cdef Py_ssize_t i
        self.n = len(buffers)
        self.views = <Py_buffer*> PyMem_Malloc(max(self.n, 1) * sizeof(Py_buffer))
        self.items = <iovec*> PyMem_Malloc(max(self.n, 1) * sizeof(iovec))
        if self.views == NULL or self.items == NULL:
            raise MemoryError
        for i in range(self.n):
            PyObject_GetBuffer(buffers[i], &self.views[i], PyBUF_SIMPLE)
            self.held += 1
            self.items[i].iov_base = self.views[i].buf
            self.items[i].iov_len = self.views[i].len

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.held):
            PyBuffer_Release(&self.views[i])
        PyMem_Free(self.views)
        PyMem_Free(self.items)

    cdef int write(self, int fd, object path) except -1:
        """Write all buffers at the end of a file."""
        cdef Py_ssize_t first = 0, got, size
        while first < self.n:
            with nogil:
                got = writev(fd, &self.items[first], <int> min(self.n - first, IOV_MAX))
            if got < 0:
                fail(path)
                continue
            while first < self.n:
                size = <Py_ssize_t> self.items[first].iov_len
                if got < size:
                    self.items[first].iov_base = <char*> self.items[first].iov_base + got
                    self.items[first].iov_len = size - got
                    break
                got -= size
                first += 1
            if first < self.n:
                PyErr_CheckSignals()
        return 0
