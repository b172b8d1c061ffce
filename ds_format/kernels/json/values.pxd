from cpython.object cimport PyObject
from libc.stdint cimport uint8_t


cdef struct Room:
    uint8_t* data
    Py_ssize_t size, room
    PyObject* fallback  # what converts values of other types, or None; borrowed

cdef int make_room(Room* room, Py_ssize_t more) except -1
cdef int put_text(Room* room, object text) except -1
cdef int put_items(Room* room, dict items, int depth, bint is_document) except -1
cdef int put_value(Room* room, object value, int depth) except -1
