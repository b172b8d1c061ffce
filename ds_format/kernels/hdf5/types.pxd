"""The class of a datatype."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .known cimport Known


cdef enum Kind:
    NUMBER
    TEXT
    STRING
    REFERENCES  # a sequence of references to objects
    OTHER


cdef enum:
    # what is at the end of text that is shorter than its type
    NUL_ENDS = 0  # what follows the first NUL
    SPACES = 2


cdef class Type:
    cdef object record
    cdef str code  # of numbers: NumPy kind and bytes
    cdef object dtype  # of numbers, in native byte order; None: was not needed yet
    cdef Kind kind
    cdef uint32_t size
    cdef bint is_integer, is_signed, is_swapped
    cdef int padding  # of text: NUL_ENDS, SPACES or others


cdef Type parse_type(Known* k, const uint8_t* p, uint64_t size, uint64_t address, type record)
cdef object integer_at(const uint8_t* p, Type type_)
cdef bint is_array(object value)
cdef object numbers_of(Type type_, const uint8_t* p, Py_ssize_t n, bint is_one, make)
