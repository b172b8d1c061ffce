"""Declarations of `values` for other kernels: the loops below its functions, which check nothing."""

from libc.stdint cimport uint8_t


cdef void unpack_flags(const uint8_t* packed, uint8_t* flags, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t count_set(const uint8_t* packed, Py_ssize_t n) noexcept nogil
cdef Py_ssize_t pack_flags(const uint8_t* flags, Py_ssize_t n, uint8_t* packed, int first) noexcept nogil
cdef Py_ssize_t scatter_values(
    const uint8_t* mask, Py_ssize_t n, const uint8_t* present, Py_ssize_t m, uint8_t* flags, uint8_t* values, int size,
    bint swapped
) noexcept nogil
cdef Py_ssize_t gather_values(
    const uint8_t* flags, Py_ssize_t n, const uint8_t* values, uint8_t* present, Py_ssize_t m, int size, bint swapped
) noexcept nogil
