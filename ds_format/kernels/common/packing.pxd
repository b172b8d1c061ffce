"""Declarations of `packing` for other kernels."""


cdef object unpacked_array(object data, object scale, object offset, object unsigned)
