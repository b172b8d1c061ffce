"""The class of a datatype."""

cimport numpy as cnp
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .known cimport Known


cdef enum Kind:
    NUMBER
    TEXT
    STRING
    REFERENCES  # a sequence of references to objects
    OTHER


cdef class Type:
    cdef object record
    cdef cnp.dtype native  # of numbers
    cdef Kind kind
    cdef uint32_t size
    cdef bint is_integer, is_signed, is_swapped, is_terminated


cdef Type parse_type(Known* k, const uint8_t* p, uint64_t size, uint64_t address, type record)
cdef Type copied(Type type_)
cdef object integer_at(const uint8_t* p, Type type_)
