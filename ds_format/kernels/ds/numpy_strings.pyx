"""Length-prefixed strings ↔ arrays of NumPy's StringDType, without a Python object per string.

This kernel is compiled for NumPy 2, which introduced the dtype, and cannot be imported with NumPy 1. The others can.
"""

cimport numpy as cnp
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from ..common.utf8 cimport utf8_size
from ..common.words cimport LITTLE_HOST, load_u64, store_u64

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    ctypedef struct allocator_t "npy_string_allocator":
        pass
    ctypedef struct packed_t "npy_packed_static_string":
        pass
    ctypedef struct string_t "npy_static_string":
        size_t size
        const char* buf
    ctypedef struct descr_t "PyArray_StringDTypeObject":
        pass
    allocator_t* acquire "NpyString_acquire_allocator"(const descr_t*) nogil
    void release "NpyString_release_allocator"(allocator_t*) nogil
    int unpack "NpyString_load"(allocator_t*, const packed_t*, string_t*) nogil
    int pack "NpyString_pack"(allocator_t*, packed_t*, const char*, size_t) nogil


cdef Py_ssize_t _decode(
    const uint8_t[::1] lengths, bint swapped, const uint8_t[::1] data, char* items, Py_ssize_t step,
    allocator_t* allocator, Py_ssize_t* start
) noexcept nogil:
    """Return the index of the first invalid string, or N."""
    cdef Py_ssize_t i, n = lengths.shape[0] // 8
    cdef uint64_t length
    cdef const char* text
    for i in range(n):
        length = load_u64(&lengths[8 * i], swapped)
        if length > <uint64_t> (data.shape[0] - start[0]):
            return i
        if length and utf8_size(&data[start[0]], <Py_ssize_t> length) < <Py_ssize_t> length:
            return i
        text = <const char*> &data[start[0]] if length else NULL
        if pack(allocator, <packed_t*> (items + i * step), text, length) < 0:
            return i
        start[0] += <Py_ssize_t> length
    return n


def decode_numpy_strings(
    const uint8_t[::1] lengths not None, bint big, const uint8_t[::1] data not None, cnp.ndarray out not None
):
    """Fill a StringDType array.

    Parameters
    ----------
    lengths : (8 * N,) uint8
        N sizes of 64 bits each, in bytes.
    big : bool
        Byte order of `lengths`.
    data : (sum of lengths,) uint8
        The strings in UTF-8, one after another.
    out : (N,) StringDType
        Output.

    Raises
    ------
    ValueError
        If the lengths do not add up to the size of `data`, or a string is not UTF-8.
    """
    cdef Py_ssize_t n = _check(out, lengths.shape[0]), start = 0, bad
    cdef Py_ssize_t step = out.strides[0]
    cdef char* items = <char*> out.data
    cdef allocator_t* allocator = acquire(<const descr_t*> cnp.PyArray_DESCR(out))
    with nogil:
        bad = _decode(lengths, big == LITTLE_HOST, data, items, step, allocator, &start)
        release(allocator)
    if bad < n:
        raise ValueError(f"string {bad} is not UTF-8, or ends beyond the {data.shape[0]} bytes of all strings")
    if start != data.shape[0]:
        raise ValueError(f"the lengths of {n} strings do not add up to {data.shape[0]} bytes")


cdef Py_ssize_t _measure(
    const char* items, Py_ssize_t step, Py_ssize_t n, uint8_t* lengths, allocator_t* allocator, Py_ssize_t* total
) noexcept nogil:
    """Return the index of the first missing string, or N."""
    cdef Py_ssize_t i
    cdef string_t string
    for i in range(n):
        if unpack(allocator, <const packed_t*> (items + i * step), &string) != 0:
            return i
        store_u64(lengths + 8 * i, string.size, not LITTLE_HOST)
        total[0] += <Py_ssize_t> string.size
    return n


cdef Py_ssize_t _encode(
    const char* items, Py_ssize_t step, Py_ssize_t n, uint8_t* data, Py_ssize_t size, allocator_t* allocator
) noexcept nogil:
    """Return the number of bytes written, or -1 if the strings do not fit."""
    cdef Py_ssize_t i, start = 0
    cdef string_t string
    for i in range(n):
        if unpack(allocator, <const packed_t*> (items + i * step), &string) != 0:
            return -1
        if string.size > <size_t> (size - start):
            return -1
        if string.size:
            memcpy(data + start, string.buf, string.size)
        start += <Py_ssize_t> string.size
    return start


def encode_numpy_strings(cnp.ndarray values not None):
    """Return the lengths of strings, and their bytes in UTF-8 one after another.

    Parameters
    ----------
    values : (N,) StringDType

    Returns
    -------
    lengths : (8 * N,) uint8
        Sizes of 64 bits each, in bytes, little-endian.
    data : (sum of lengths,) uint8

    Raises
    ------
    ValueError
        If a value is the missing value of the dtype, or another thread has changed strings meanwhile.
    """
    cdef cnp.npy_intp n = values.shape[0], size = 8 * n
    cdef Py_ssize_t total = 0, bad, done, step = values.strides[0]
    cdef const char* items = <const char*> values.data
    cdef cnp.ndarray lengths = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_UINT8)
    cdef cnp.ndarray data
    cdef uint8_t* target = <uint8_t*> lengths.data
    cdef allocator_t* allocator
    _check(values, size)
    allocator = acquire(<const descr_t*> cnp.PyArray_DESCR(values))
    with nogil:
        bad = _measure(items, step, n, target, allocator, &total)
        release(allocator)
    if bad < n:
        raise ValueError(f"string {bad} is missing")
    data = cnp.PyArray_SimpleNew(1, <cnp.npy_intp*> &total, cnp.NPY_UINT8)
    target = <uint8_t*> data.data
    allocator = acquire(<const descr_t*> cnp.PyArray_DESCR(values))
    with nogil:
        done = _encode(items, step, n, target, total, allocator)
        release(allocator)
    if done != total:
        raise ValueError(f"the strings do not fill {total} bytes")
    return lengths, data


cdef Py_ssize_t _check(cnp.ndarray array, Py_ssize_t lengths_size) except -1:
    if array.ndim != 1 or array.dtype.kind != "T":
        raise ValueError(f"found a {array.ndim}-d array of dtype {array.dtype}, expected (N,) StringDType")
    if lengths_size != 8 * array.shape[0]:
        raise ValueError(f"{lengths_size} bytes are not {array.shape[0]} lengths")
    return array.shape[0]
