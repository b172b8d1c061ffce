"""Classes for the variables in headers."""

from libc.stdint cimport uint32_t

from .items cimport Items


cdef class Section:
    cdef bytes raw
    cdef str title
    cdef tuple dims
    cdef dict attributes
    cdef uint32_t type

    cdef bint follows(self, Items* c) noexcept


cdef class TypedReader:
    cdef tuple codes
    cdef list dtypes  # None: was not needed yet
    cdef int sizes[16]
    cdef object numbers  # see `Parser`

    cdef dict attributes(self, Items* c)
    cdef object _value(self, Items* c)
    cdef Section section(self, Items* c, Section remembered, int width)
