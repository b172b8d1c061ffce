"""Whether some values are among others. Floating-point numbers are compared as such, but NaN equals NaN."""

from libc.stdint cimport uint8_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define DS_HAS(name, type, is_equal)                                              \
        static int ds_has_##name(const void *values, Py_ssize_t n, const void *of) {  \
            const type *p = (const type *)values;                                     \
            type x;                                                                   \
            int found = 0;                                                            \
            memcpy(&x, of, sizeof x);                                                 \
            for (Py_ssize_t i = 0; i < n; i++) found |= is_equal;                     \
            return found;                                                             \
        }
    DS_HAS(u1, uint8_t, p[i] == x)
    DS_HAS(u2, uint16_t, p[i] == x)
    DS_HAS(u4, uint32_t, p[i] == x)
    DS_HAS(u8, uint64_t, p[i] == x)
    DS_HAS(f4, float, (p[i] == x))
    DS_HAS(f8, double, (p[i] == x))
    DS_HAS(n4, float, (p[i] != p[i]))
    DS_HAS(n8, double, (p[i] != p[i]))
    static int ds_has(const void *values, Py_ssize_t n, const void *of, int size, int is_float) {
        if (is_float && size == 4) {
            float x;
            memcpy(&x, of, 4);
            return x != x ? ds_has_n4(values, n, of) : ds_has_f4(values, n, of);
        }
        if (is_float) {
            double x;
            memcpy(&x, of, 8);
            return x != x ? ds_has_n8(values, n, of) : ds_has_f8(values, n, of);
        }
        return size == 1 ? ds_has_u1(values, n, of) : size == 2 ? ds_has_u2(values, n, of)
            : size == 4 ? ds_has_u4(values, n, of) : ds_has_u8(values, n, of);
    }
    """
    bint has "ds_has"(const void* values, Py_ssize_t n, const void* of, int size, bint is_float) noexcept nogil


cdef struct Wanted:
    const uint8_t* values  # that are looked for, one after another
    Py_ssize_t n
    int size  # bytes of each
    bint is_float
    bint found  # one of them was seen


cdef inline void seek(Wanted* wanted, const uint8_t* values, Py_ssize_t n) noexcept nogil:
    """Look for the wanted ones among native, aligned values, unless one was found already."""
    cdef Py_ssize_t i
    for i in range(wanted.n):
        if wanted.found:
            return
        wanted.found = has(values, n, wanted.values + i * wanted.size, wanted.size, wanted.is_float)
