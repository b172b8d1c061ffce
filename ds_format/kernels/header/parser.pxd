"""The parser of headers: what other kernels need of it."""


cdef class Parser:
    cdef dict types
    cdef list idle  # a memory belongs to one call at a time: values that are freed may run any code, this one too
    cpdef tuple parse(self, data, keys=*, typed=*)
