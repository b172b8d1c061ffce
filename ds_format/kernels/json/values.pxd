from libc.stdint cimport int64_t

from ..common.room cimport Room

cdef int put_int64(Room* room, int64_t value) except -1
cdef int put_text(Room* room, object text) except -1
cdef int put_name(Room* room, object name, bint is_first) except -1
cdef int put_items(Room* room, dict items, int depth, bint is_document) except -1
cdef int put_value(Room* room, object value, int depth) except -1
