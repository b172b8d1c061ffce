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
    #if defined(__GNUC__)
    #define DS_SWAP16(x) __builtin_bswap16(x)
    #define DS_SWAP32(x) __builtin_bswap32(x)
    #define DS_SWAP64(x) __builtin_bswap64(x)
    #else
    #include <stdlib.h>
    #define DS_SWAP16(x) _byteswap_ushort(x)
    #define DS_SWAP32(x) _byteswap_ulong(x)
    #define DS_SWAP64(x) _byteswap_uint64(x)
    #endif
    """
    const bint LITTLE_HOST "DS_LITTLE_HOST"
    uint16_t swap16 "DS_SWAP16"(uint16_t value) noexcept nogil
    uint32_t swap32 "DS_SWAP32"(uint32_t value) noexcept nogil
    uint64_t swap64 "DS_SWAP64"(uint64_t value) noexcept nogil


cdef inline word swap_word(word value) noexcept nogil:
    if word is uint16_t:
        return swap16(value)
    elif word is uint32_t:
        return swap32(value)
    elif word is uint64_t:
        return swap64(value)
    else:
        return value


cdef inline void _swap_each(const uint8_t* source, uint8_t* target, Py_ssize_t n, word kind) noexcept nogil:
    cdef Py_ssize_t i
    cdef word value
    for i in range(n):
        memcpy(&value, source + i * <Py_ssize_t> sizeof(word), sizeof(word))
        value = swap_word(value)
        memcpy(target + i * <Py_ssize_t> sizeof(word), &value, sizeof(word))


cdef inline void swap_words(const uint8_t* source, uint8_t* target, Py_ssize_t n, int size) noexcept nogil:
    """Copy `n` values of 2, 4 or 8 bytes in the other byte order, in a loop that compilers vectorise.

    Source and target may be the same. Wider vectors (AVX2) are not faster, because memory is the limit.
    """
    if size == 2:
        _swap_each(source, target, n, <uint16_t> 0)
    elif size == 4:
        _swap_each(source, target, n, <uint32_t> 0)
    else:
        _swap_each(source, target, n, <uint64_t> 0)


cdef inline void native(const uint8_t* source, uint8_t* target, Py_ssize_t n, int size, bint swapped) noexcept nogil:
    """Convert `n` values of 1, 2, 4 or 8 bytes to native ones. Source and target may be the same."""
    if size > 1 and swapped:
        swap_words(source, target, n, size)
    elif source != target:
        memcpy(target, source, n * size)


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
