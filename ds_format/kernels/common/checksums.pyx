"""Adler-32 and Fletcher-32, several times faster than in the standard library or NumPy."""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t, uint32_t

from .adler cimport adler32_of

cdef enum:
    SHORT = 8192  # bytes for which releasing the GIL takes longer than the checksum


def adler32(object data not None, uint32_t value=1):
    """Return the Adler-32 checksum of bytes.

    Parameters
    ----------
    data : C-contiguous buffer
    value : int
        Checksum of the bytes before.

    Returns
    -------
    int
        32 bits, the same as from `zlib.adler32`.
    """
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len < SHORT:
            return adler32_of(<const uint8_t*> view.buf, view.len, value)
        with nogil:
            value = adler32_of(<const uint8_t*> view.buf, view.len, value)
        return value
    finally:
        PyBuffer_Release(&view)


cdef enum:
    STRETCH = 360  # words of 16 bits, whose sums fit into 32 bits (H5checksum.c)


cdef inline uint32_t _folded(uint32_t sum) noexcept nogil:
    return (sum & 0xFFFF) + (sum >> 16)


cdef uint32_t _fletcher32(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    cdef uint32_t first = 0, second = 0
    cdef Py_ssize_t left = size // 2, stretch, i
    while left:
        stretch = min(left, STRETCH)
        for i in range(stretch):
            first += (<uint32_t> data[2 * i] << 8) | data[2 * i + 1]
            second += first
        data += 2 * stretch
        left -= stretch
        first, second = _folded(first), _folded(second)
    if size % 2:
        first += <uint32_t> data[0] << 8
        second += first
        first, second = _folded(first), _folded(second)
    return (_folded(second) << 16) | _folded(first)


def fletcher32(data):
    """Return the Fletcher-32 checksum of bytes, as HDF5 computes it.

    Parameters
    ----------
    data : buffer
        C-contiguous.

    Returns
    -------
    int
        32 bits.
    """
    cdef Py_buffer view
    cdef uint32_t checksum
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    with nogil:
        checksum = _fletcher32(<const uint8_t*> view.buf, view.len)
    PyBuffer_Release(&view)
    return checksum
