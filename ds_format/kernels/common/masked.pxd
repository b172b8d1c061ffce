"""Declarations of `masked` for other kernels."""

cimport numpy as cnp


cdef object masked_array(cnp.ndarray data, cnp.ndarray mask, object fill_value)
cdef object unpacked_array(object data, object scale, object offset, object unsigned)
