"""Strings of JSON text: what other kernels need of it."""

from libc.stdint cimport uint8_t


cdef struct Text:
    const uint8_t* p    # the next byte
    const uint8_t* end
    int depth           # lists and dicts around it


cdef class Names:
    cdef list slots
    cdef str get(self, const uint8_t* p, Py_ssize_t size)


cdef Names borrow_names()
cdef give_back(Names names)
cdef str take_string(Text* t, Names names)
