"""Metadata of files in a row: what another kernel needs of it."""


cdef bint same_member(dict left, dict right, str name) except -1
