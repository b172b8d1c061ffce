"""Declarations of `finishing` for other kernels."""

cimport cython
cimport numpy as cnp

cdef enum:
    NUMBERS
    FLAGS       # int8 that are booleans
    CHARACTERS  # arrays of S1
    STRINGS     # objects

cdef enum:
    MAX_FINISHED = 1 << 18  # values of an array that is finished in one thread


@cython.final
cdef class Finisher:
    cdef readonly tuple arguments
    cdef readonly int kind
    cdef readonly cnp.ndarray sought
    cdef object mark, scale, offset, unsigned
    cdef bint is_text, is_joined, is_packed
    cdef object finish(self, cnp.ndarray array, bint found, bint masked)
