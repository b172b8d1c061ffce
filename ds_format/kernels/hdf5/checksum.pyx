"""The checksum of Fletcher in 32 bits, as the filter of HDF5 has it."""

from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    STRETCH = 360  # words of 16 bits of which no sum is more than 32 bits hold (H5checksum.c)


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


def fletcher32(const uint8_t[::1] data not None):
    """Return the checksum of some bytes.

    Parameters
    ----------
    data : (n,) uint8

    Returns
    -------
    int
        32 bits.
    """
    cdef uint32_t found = 0
    if data.shape[0]:
        with nogil:
            found = _fletcher32(&data[0], data.shape[0])
    return found
