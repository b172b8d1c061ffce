"""Length-prefixed strings ↔ arrays of Python strings: N lengths of 64 bits, followed by the bytes of all strings."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from ..common.words cimport LITTLE_HOST, load_u64, store_u64

cnp.import_array()

cdef extern from "Python.h":
    void Py_XDECREF(PyObject* one)
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 largest)
    void* PyUnicode_DATA(object text)
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL


cdef Py_ssize_t sum_lengths(
    const uint8_t* lengths, Py_ssize_t n, bint swapped, Py_ssize_t available, Py_ssize_t* bad
) noexcept nogil:
    cdef Py_ssize_t i, left = available
    cdef uint64_t length
    for i in range(n):
        length = load_u64(lengths + 8 * i, swapped)
        if length > <uint64_t> left:
            bad[0] = i
            return -1
        left -= <Py_ssize_t> length
    return available - left


cdef inline const uint8_t* _start(const uint8_t[::1] data) noexcept nogil:
    """Return the address of the first byte, or of another one if there is none: copying from NULL is undefined."""
    return &data[0] if data.shape[0] else <const uint8_t*> b""


def total_length(const uint8_t[::1] lengths not None, bint big, Py_ssize_t available):
    """Return the sum of all lengths, in bytes.

    Parameters
    ----------
    lengths : (8 * N,) uint8
        N sizes of 64 bits each, in bytes.
    big : bool
        Byte order of `lengths`.
    available : int
        Maximum bytes of all strings.

    Raises
    ------
    ValueError
        If the sum is larger than `available`. The sum cannot overflow.
    """
    cdef Py_ssize_t bad = 0, total
    _check_lengths(lengths.shape[0])
    with nogil:
        total = sum_lengths(_start(lengths), lengths.shape[0] // 8, big == LITTLE_HOST, max(available, 0), &bad)
    if total < 0:
        raise ValueError(f"string {bad} ends beyond the {available} available bytes")
    return total


cdef bint _is_ascii(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint8_t all_bits = 0
    for i in range(size):
        all_bits |= data[i]
    return all_bits < 128


cdef inline void _put(PyObject** out, object one) noexcept:
    """Replace an object of an array; NULL: there is none yet."""
    cdef PyObject* before = out[0]
    Py_INCREF(one)
    out[0] = <PyObject*> one
    Py_XDECREF(before)


cdef int put_strings(
    const uint8_t* lengths, Py_ssize_t n, bint swapped, const uint8_t* data, Py_ssize_t size, bint text,
    const uint8_t* flags, Py_ssize_t total, PyObject** out
) except -1:
    """Decode `n` strings into an array of `total` objects. Empty strings are put where `flags` are set (NULL: nowhere).

    Their lengths must add up to `size`; see `sum_lengths`.
    """
    cdef bint is_ascii = _is_ascii(data, size)
    cdef Py_ssize_t i, length, at = 0
    cdef object one, nothing = "" if text else b""
    for i in range(n):
        while flags != NULL and flags[at]:
            _put(out + at, nothing)
            at += 1
        length = <Py_ssize_t> load_u64(lengths + 8 * i, swapped)
        if text and is_ascii:
            one = PyUnicode_New(length, 127)
            memcpy(PyUnicode_DATA(one), data, length)
        elif text:
            try:
                one = PyUnicode_DecodeUTF8(<const char*> data, length, NULL)
            except UnicodeDecodeError as error:
                raise ValueError(f"string {i} is not UTF-8: {error.reason} at its byte {error.start}") from None
        else:
            one = PyBytes_FromStringAndSize(<const char*> data, length)
        _put(out + at, one)
        at += 1
        data += length
    for i in range(at, total):
        _put(out + i, nothing)
    return 0


def decode_strings(
    const uint8_t[::1] lengths not None, bint big, const uint8_t[::1] data not None, bint text,
    cnp.ndarray out not None,
):
    """Decode all strings to Python strings.

    Parameters
    ----------
    lengths : (8 * N,) uint8
        N sizes of 64 bits each, in bytes.
    big : bool
        Byte order of `lengths`.
    data : (sum of lengths,) uint8
        The strings, one after another.
    text : bool
        Whether `data` are UTF-8 and become `str`; otherwise `bytes`.
    out : (N,) object
        Output.

    Raises
    ------
    ValueError
        If the lengths do not add up to the size of `data`, or a string is not UTF-8.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(out), bad = 0
    cdef bint swapped = big == LITTLE_HOST
    cdef PyObject** objects = _objects(out)
    _check_lengths(lengths.shape[0])
    if lengths.shape[0] != 8 * n:
        raise ValueError(f"{lengths.shape[0]} bytes are not {n} lengths")
    if sum_lengths(_start(lengths), n, swapped, data.shape[0], &bad) != data.shape[0]:
        raise ValueError(f"the lengths of {n} strings do not add up to {data.shape[0]} bytes")
    put_strings(_start(lengths), n, swapped, _start(data), data.shape[0], text, NULL, n, objects)


cdef const char* bytes_of(object value, bint text, Py_ssize_t* length, Py_ssize_t i) except NULL:
    if text:
        if type(value) is not str and not isinstance(value, str):
            raise TypeError(f"string {i}: found {type(value).__name__}, expected str")
        return PyUnicode_AsUTF8AndSize(value, length)
    if type(value) is not bytes and not isinstance(value, bytes):
        raise TypeError(f"string {i}: found {type(value).__name__}, expected bytes")
    length[0] = PyBytes_GET_SIZE(value)
    return PyBytes_AS_STRING(value)


def has_none(object[::1] values not None):
    """Return whether any value of an (N,) object array is None."""
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        if values[i] is None:
            return True
    return False


cdef bint copy_strings(
    PyObject** objects, const uint8_t* flags, Py_ssize_t n, bint text, uint8_t* lengths, uint8_t* data, Py_ssize_t size
) except -1:
    """Copy lengths and bytes of strings whose flags are not set. Return whether both together have `size` bytes."""
    cdef Py_ssize_t i, length = 0
    cdef const char* source
    for i in range(n):
        if flags != NULL and flags[i]:
            continue
        source = bytes_of(<object> objects[i], text, &length, i)
        size -= 8 + length
        if size < 0:
            return False
        store_u64(lengths, <uint64_t> length, not LITTLE_HOST)
        lengths += 8
        memcpy(data, source, length)
        data += length
    return size == 0


def encode_strings(cnp.ndarray values not None, bint text):
    """Return the lengths of strings, and their bytes one after another.

    Parameters
    ----------
    values : (N,) object
        All `str` or all `bytes`.
    text : bool
        Whether `values` are `str`, stored as UTF-8.

    Returns
    -------
    lengths : (8 * N,) uint8
        Sizes of 64 bits each, in bytes, little-endian.
    data : (sum of lengths,) uint8

    Raises
    ------
    TypeError
        If a value has another type.
    UnicodeEncodeError
        If a string has an unpaired surrogate.
    ValueError
        If another thread has changed strings meanwhile.
    """
    cdef PyObject** objects = _objects(values)
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(values), size = 8 * n, total = 0
    cdef Py_ssize_t i, length = 0
    cdef cnp.ndarray lengths = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_UINT8)
    cdef cnp.ndarray data
    for i in range(n):
        bytes_of(<object> objects[i], text, &length, i)
        total += length
    data = cnp.PyArray_SimpleNew(1, &total, cnp.NPY_UINT8)
    if not copy_strings(
        objects, NULL, n, text, <uint8_t*> cnp.PyArray_DATA(lengths),
        <uint8_t*> cnp.PyArray_DATA(data), size + total
    ):
        raise ValueError(f"the strings do not fill {total} bytes")
    return lengths, data


cdef PyObject** _objects(cnp.ndarray array) except NULL:
    if cnp.PyArray_TYPE(array) != cnp.NPY_OBJECT or not cnp.PyArray_ISCARRAY(array):
        raise ValueError("expected a C-contiguous and writable array of objects")
    return <PyObject**> cnp.PyArray_DATA(array)


cdef int _check_lengths(Py_ssize_t size) except -1:
    if size % 8:
        raise ValueError(f"{size} bytes are not lengths of 8 bytes each")
    return 0
