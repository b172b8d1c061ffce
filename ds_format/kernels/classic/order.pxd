"""Big-endian values, as files have them, → native ones, in loops that the compiler turns into vector instructions.

Wider ones than it may use everywhere (AVX2) gain nothing: memory is slower.
"""

from libc.stdint cimport uint8_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define DS_NATIVE16(x) (x)
    #define DS_NATIVE32(x) (x)
    #define DS_NATIVE64(x) (x)
    #elif defined(__GNUC__)
    #define DS_NATIVE16(x) __builtin_bswap16(x)
    #define DS_NATIVE32(x) __builtin_bswap32(x)
    #define DS_NATIVE64(x) __builtin_bswap64(x)
    #else
    #include <stdlib.h>
    #define DS_NATIVE16(x) _byteswap_ushort(x)
    #define DS_NATIVE32(x) _byteswap_ulong(x)
    #define DS_NATIVE64(x) _byteswap_uint64(x)
    #endif
    #define DS_ORDER(bits)                                                                      \
        static void ds_native##bits(const uint8_t *source, uint8_t *target, Py_ssize_t n) {     \
            for (Py_ssize_t i = 0; i < n; i++) {                                                \
                uint##bits##_t value;                                                           \
                memcpy(&value, source + i * (bits / 8), bits / 8);                              \
                value = DS_NATIVE##bits(value);                                                 \
                memcpy(target + i * (bits / 8), &value, bits / 8);                              \
            }                                                                                   \
        }
    DS_ORDER(16)
    DS_ORDER(32)
    DS_ORDER(64)
    """
    void native16 "ds_native16"(const uint8_t* source, uint8_t* target, Py_ssize_t n) noexcept nogil
    void native32 "ds_native32"(const uint8_t* source, uint8_t* target, Py_ssize_t n) noexcept nogil
    void native64 "ds_native64"(const uint8_t* source, uint8_t* target, Py_ssize_t n) noexcept nogil


cdef inline void native(const uint8_t* source, uint8_t* target, Py_ssize_t n, int size) noexcept nogil:
    """Copy `n` values of `size` bytes, 1, 2, 4 or 8; source and target may be the same."""
    if size == 2:
        native16(source, target, n)
    elif size == 4:
        native32(source, target, n)
    elif size == 8:
        native64(source, target, n)
    elif source != target:
        memcpy(target, source, n)
