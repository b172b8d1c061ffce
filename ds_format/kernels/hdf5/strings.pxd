"""Declarations of `strings` for other kernels."""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t

from .known cimport Known

cdef enum:
    REFERENCE = 16  # bytes: the length of a string, the address of a collection, the number of an object in it


cdef int put_strings(
    Known* k, const uint8_t* p, Py_ssize_t n, bint as_text, PyObject** out
) except -1
