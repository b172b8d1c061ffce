"""Classes for attributes and what is remembered."""

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint64_t

from .collections cimport Collections
from .headers cimport Header, Message
from .known cimport Known
from .spaces cimport Space
from .types cimport Type


cdef struct Slot:
    uint64_t hash
    PyObject* key  # bytes, or NULL
    PyObject* value
    int topic


cdef class Memory:
    cdef Slot* slots

    cdef object recall(self, int topic, const uint8_t* p, uint64_t size)
    cdef int keep(self, int topic, const uint8_t* p, uint64_t size, object value) except -1


cdef class Attributes:
    cdef dict usual, hidden
    cdef list strings
    cdef list entries  # which are not in `usual` yet, or None
    cdef Py_ssize_t n_other
    cdef bint shares, are_pure  # the latter of `entries`


cdef class Values:
    cdef type type_record, attribute_record, filter_record
    cdef Memory memory
    cdef dict committed_types, shared, texts
    cdef Collections collections
    cdef Header header  # of committed types
    cdef object numbers
    cdef bint netcdf

    cdef int forget(self) except -1
    cdef str name(self, Known* k, const uint8_t* p, uint64_t size)
    cdef Type type_of(self, Known* k, const Message* m)
    cdef Type committed(self, Known* k, uint64_t address)
    cdef Type _type(self, Known* k, const uint8_t* p, uint64_t size, uint64_t address)
    cdef tuple filters(self, Known* k, const Message* m)
    cdef int attribute(self, Known* k, const uint8_t* p, uint64_t size, uint64_t address, Attributes to) except -1
    cdef int finish(self, Attributes to) except -1
    cdef int _read_attribute(self, Known* k, const uint8_t* p, uint64_t size, uint64_t address,
                             Attributes to) except -1
    cdef object _value(self, Known* k, Type type_, const Space* space, const uint8_t* p)
    cdef object _hidden(self, Known* k, int which, Type type_, const Space* space, const uint8_t* p)
    cdef object _record(self, Known* k, Type type_, const Space* space, const uint8_t* p)
    cdef object _one_text(self, Known* k, Type type_, const uint8_t* p, bint is_item)
