"""Declaration of the parser of headers for other kernels."""


cdef class Parser:
    cdef dict types
    cdef list idle  # memories that no call uses; freeing a value may run any code, including another call
    cpdef tuple parse(self, data, keys=*, typed=*, list known=*)
