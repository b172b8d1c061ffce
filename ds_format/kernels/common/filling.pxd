"""What the kernels for arrays share: how values get into an array, and whether some values are among them.

Floating-point numbers are compared as such, but NaN equals NaN.
"""

cimport numpy as cnp
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from .words cimport LITTLE_HOST, swap_words

cdef extern from "numpy/arrayobject.h":
    """
    static PyObject *ds_empty(PyArray_Descr *dtype, int rank, const npy_intp *shape) {
        Py_INCREF(dtype);
        return PyArray_NewFromDescr(&PyArray_Type, dtype, rank, shape, NULL, NULL, 0, NULL);
    }
    """
    object empty "ds_empty"(cnp.dtype dtype, int rank, const cnp.npy_intp* shape)

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

cdef enum:
    MAX_RANK = 64  # dimensions of an array
    PIECE = 16 << 10  # bytes that stay in the nearest cache


cdef struct Wanted:
    const uint8_t* values  # that are looked for, one after another
    Py_ssize_t n
    int size  # bytes of each
    bint is_float
    bint swapped  # the file has the other byte order
    bint found  # one of them was seen


cdef inline void seek(Wanted* wanted, const uint8_t* values, Py_ssize_t n) noexcept nogil:
    """Look for the wanted ones among native, aligned values, unless one was found already."""
    cdef Py_ssize_t i
    for i in range(wanted.n):
        if wanted.found:
            return
        wanted.found = has(values, n, wanted.values + i * wanted.size, wanted.size, wanted.is_float)


cdef inline void native(const uint8_t* source, uint8_t* target, Py_ssize_t n, int size, bint swapped) noexcept nogil:
    """Copy `n` values of 1, 2, 4 or 8 bytes to native ones; source and target may be the same."""
    if size > 1 and swapped:
        swap_words(source, target, n, size)
    elif source != target:
        memcpy(target, source, n * size)


cdef inline int want(Wanted* wanted, cnp.dtype dtype, cnp.ndarray values, bint is_big) except -1:
    """Say which values are looked for among those of a type, native and of 1, 2, 4 or 8 bytes; None: none.

    `is_big` says whether the file has them in big-endian order.
    """
    wanted.size = dtype.itemsize
    wanted.is_float = dtype.kind == c"f"
    wanted.swapped = is_big == LITTLE_HOST
    wanted.values = NULL
    wanted.n = 0
    wanted.found = False
    if values is not None:
        if cnp.PyArray_TYPE(values) != dtype.type_num or not cnp.PyArray_ISCARRAY_RO(values):
            raise TypeError("wanted: expected values of the type of the variable, one after another")
        wanted.values = <const uint8_t*> cnp.PyArray_DATA(values)
        wanted.n = cnp.PyArray_SIZE(values)
    if wanted.size not in (1, 2, 4, 8):
        raise ValueError(f"{dtype}: expected values of 1, 2, 4 or 8 bytes")
    return 0


cdef inline int rank_of(tuple lengths, cnp.npy_intp* shape) except -1:
    """Take a shape, and return its rank."""
    cdef Py_ssize_t rank = len(lengths), i
    if rank > MAX_RANK:
        raise ValueError(f"{rank} dimensions, expected at most {MAX_RANK}")
    for i in range(rank):
        shape[i] = lengths[i]
        if shape[i] < 0:
            raise ValueError(f"{lengths}: expected no negative number")
    return <int> rank


cdef inline void put(const uint8_t* source, uint8_t* target, Py_ssize_t n, Wanted* wanted) noexcept nogil:
    """Copy values of the file to native ones, in place or to an array, and look for the wanted ones."""
    cdef Py_ssize_t most = PIECE // wanted.size, m
    while n > 0:
        m = min(n, most)
        native(source, target, m, wanted.size, wanted.swapped)
        seek(wanted, target, m)
        source += m * wanted.size
        target += m * wanted.size
        n -= m
