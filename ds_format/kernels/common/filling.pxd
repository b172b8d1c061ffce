"""Copies of values into an array, in the byte order of this machine, and the search for sentinels among them.

Floating-point numbers are compared by value, except that NaN equals NaN.
"""

cimport numpy as cnp
from libc.stdint cimport uint8_t

from .words cimport LITTLE_HOST, native

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
    PIECE = 16 << 10  # bytes that fit into the first-level cache


cdef struct Search:
    const uint8_t* sentinels  # one after another
    Py_ssize_t n
    int size  # bytes of a value
    bint is_float
    bint swapped  # whether the file has the other byte order
    bint found  # whether a sentinel was found


cdef inline void search_values(Search* search, const uint8_t* values, Py_ssize_t n) noexcept nogil:
    """Search native, aligned values for sentinels, unless one was found before."""
    cdef Py_ssize_t i
    for i in range(search.n):
        if search.found:
            return
        search.found = has(values, n, search.sentinels + i * search.size, search.size, search.is_float)


cdef inline int start_search(Search* search, cnp.dtype dtype, cnp.ndarray sentinels, bint is_big) except -1:
    """Initialise a search for sentinels, or for none if they are None, among values of a native dtype.

    `is_big` says whether the file has big-endian values.
    """
    search.size = dtype.itemsize
    search.is_float = dtype.kind == c"f"
    search.swapped = is_big == LITTLE_HOST
    search.sentinels = NULL
    search.n = 0
    search.found = False
    if sentinels is not None:
        if cnp.PyArray_TYPE(sentinels) != dtype.type_num or not cnp.PyArray_ISCARRAY_RO(sentinels):
            raise TypeError("sentinels: expected a C-contiguous array of the type of the variable")
        search.sentinels = <const uint8_t*> cnp.PyArray_DATA(sentinels)
        search.n = cnp.PyArray_SIZE(sentinels)
    if search.size not in (1, 2, 4, 8):
        raise ValueError(f"{dtype}: expected values of 1, 2, 4 or 8 bytes")
    return 0


cdef inline int rank_of(tuple lengths, cnp.npy_intp* shape) except -1:
    """Copy a shape to C integers, and return its rank."""
    cdef Py_ssize_t rank = len(lengths), i
    if rank > MAX_RANK:
        raise ValueError(f"{rank} dimensions, expected at most {MAX_RANK}")
    for i in range(rank):
        shape[i] = lengths[i]
        if shape[i] < 0:
            raise ValueError(f"{lengths}: expected no negative number")
    return <int> rank


cdef inline void copy_and_search(const uint8_t* source, uint8_t* target, Py_ssize_t n, Search* search) noexcept nogil:
    """Convert values of the file to native ones, in place or into an array, and search them for sentinels."""
    cdef Py_ssize_t most = PIECE // search.size, m
    while n > 0:
        m = min(n, most)
        native(source, target, m, search.size, search.swapped)
        search_values(search, target, m)
        source += m * search.size
        target += m * search.size
        n -= m
