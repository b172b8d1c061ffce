"""Declarations of `strings` for other kernels: the loops below its functions, which check nothing."""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t


cdef Py_ssize_t sum_lengths(
    const uint8_t* lengths, Py_ssize_t n, bint swapped, Py_ssize_t available, Py_ssize_t* bad
) noexcept nogil
cdef int put_strings(
    const uint8_t* lengths, Py_ssize_t n, bint swapped, const uint8_t* data, Py_ssize_t size, bint text,
    const uint8_t* flags, Py_ssize_t total, PyObject** out
) except -1
cdef bint copy_strings(
    PyObject** objects, const uint8_t* flags, Py_ssize_t n, bint text, uint8_t* lengths, uint8_t* data, Py_ssize_t size
) except -1
cdef const char* bytes_of(object value, bint text, Py_ssize_t* length, Py_ssize_t i) except NULL
