"""Attributes as text of a header: what other kernels need of it."""

from ..json.room cimport Room

cdef int put_attributes(Room* room, dict attributes, frozenset without) except -1
