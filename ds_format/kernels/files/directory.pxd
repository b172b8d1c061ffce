"""Declarations for reading a member by one call."""

from libc.stdint cimport int64_t, uint8_t

cdef enum:  # columns of a table
    ENTRY
    OFFSET
    SIZE
    CRC
    END
    FAULT
    N_COLUMNS

cdef int64_t data_start(
    const uint8_t* directory, Py_ssize_t directory_size, const int64_t* row, const uint8_t* data, Py_ssize_t size
) noexcept nogil
