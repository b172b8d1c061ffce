"""Loads and stores of words at any address, and their byte swap."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

ctypedef fused word:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define DS_LITTLE_HOST 0
    #else
    #define DS_LITTLE_HOST 1
    #endif
    """
    const bint LITTLE_HOST "DS_LITTLE_HOST"


cdef inline word swap_word(word value) noexcept nogil:
    if word is uint16_t:
        return <uint16_t> ((value >> 8) | (value << 8))
    elif word is uint32_t:
        return ((value >> 24) | ((value >> 8) & 0xFF00u) | ((value << 8) & 0xFF0000u) | (value << 24))
    elif word is uint64_t:
        return (
            (value >> 56) | ((value >> 40) & 0xFF00u) | ((value >> 24) & 0xFF0000u) | ((value >> 8) & 0xFF000000u)
            | ((value & 0xFF000000u) << 8) | ((value & 0xFF0000u) << 24) | ((value & 0xFF00u) << 40) | (value << 56)
        )
    else:
        return value


cdef inline uint64_t load_u64(const uint8_t* address, bint swapped) noexcept nogil:
    cdef uint64_t value
    memcpy(&value, address, 8)
    return swap_word(value) if swapped else value


cdef inline void store_u64(uint8_t* address, uint64_t value, bint swapped) noexcept nogil:
    if swapped:
        value = swap_word(value)
    memcpy(address, &value, 8)


cdef inline uint64_t big_endian(const uint8_t* p, int size) noexcept nogil:
    cdef uint64_t value = 0
    cdef int i
    for i in range(size):
        value = value << 8 | p[i]
    return value
