"""The stack and the memo of a pickle, within a budget of memory."""

cimport cython
from libc.stdint cimport int64_t, uint64_t

cdef enum:
    PER_OPCODE = 24  # bytes of the budget: a slot of the stack or the memo, and a small object
    PER_OBJECT = 64
    PER_ENTRY = 176  # a dictionary or set that grows


@cython.final
cdef class Global:
    cdef readonly str module
    cdef readonly str name


@cython.final
cdef class Pending:
    cdef object finish
    cdef Py_ssize_t slot


@cython.final
cdef class Stack:
    cdef list values, marks, memo
    cdef Py_ssize_t fence, n_open
    cdef int64_t left
    cdef object host

    cdef int spend(self, int64_t size) except -1
    cdef int push_buffer(self, object value) except -1
    cdef object pop(self)
    cdef object top(self)
    cdef list pop_mark(self)
    cdef tuple kept(self, tuple items)
    cdef int check_value(self, object value) except -1
    cdef int check_key(self, object key) except -1
    cdef int add(self, list items) except -1
    cdef int set_items(self, list items) except -1
    cdef int put(self, uint64_t slot) except -1
    cdef object get(self, uint64_t slot)
    cdef object whole(self, object value)
    cdef int open(self, object value) except -1
    cdef int close(self, tuple items) except -1
    cdef int build(self) except -1
