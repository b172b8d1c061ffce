"""Strings of variable length: references into collections of the global heap → `str` or `bytes`."""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr, memcmp

from ..common.filling cimport empty
from .collections cimport Collections, free_collections, variable_value
from .heaps cimport Bytes
from .known cimport LACKING, Known, u64, unusual as is_unusual
from .segments cimport Segments

cnp.import_array()

cdef enum:
    SPARE = 65536  # bytes of strings that any file may have


def read_strings(
    list segments not None, uint64_t file_size, const uint8_t[::1] references not None, bint as_text, unusual
):
    """Return strings, each up to its first NUL.

    Parameters
    ----------
    segments : list of (int, C-contiguous buffer)
        Bytes of the file and where they begin, in order and apart from each other.
    file_size : int
        Bytes of the whole file.
    references : (16 * N,) uint8
    as_text : bool
        Whether to return `str`, or `bytes`.
    unusual : type
        The exception for files that are left to the libraries. It takes a reason.

    Returns
    -------
    (N,) ndarray of objects, or list of (int, int)
        Strings; or a list: offsets and sizes of bytes that are needed as well.

    Raises
    ------
    FormatError
        If a collection is damaged, or has no such string.
    UnicodeDecodeError
        If one is not UTF-8.
    Exception
        The one that was given, if so many strings are the same bytes of the file that they take far more memory.
    """
    cdef Segments known = Segments()
    cdef Py_ssize_t n = references.shape[0] // REFERENCE
    cdef cnp.npy_intp shape = n
    known.take(segments, file_size)
    found = empty(cnp.PyArray_DescrFromType(cnp.NPY_OBJECT), 1, &shape)
    try:
        put_strings(&known.k, &references[0] if n else NULL, n, as_text, <PyObject**> cnp.PyArray_DATA(found))
    except EOFError:
        raise known.error(unusual) from None
    return known.needed() if known.k.n_needed else found


cdef int put_strings(
    Known* k, const uint8_t* p, Py_ssize_t n, bint as_text, PyObject** out
) except -1:
    """Put strings of references, which are new, to places that hold nothing; see `read_strings`."""
    cdef Collections collections
    cdef Bytes one
    cdef Py_ssize_t i
    cdef uint64_t decoded = 0, lacking = 0
    cdef const uint8_t* before = NULL
    cdef object string = "" if as_text else b""
    collections.items, collections.n, collections.room, collections.last = NULL, 0, 0, 0
    try:
        for i in range(n):
            # what was not written has the same reference everywhere
            if before == NULL or memcmp(p, before, REFERENCE):
                try:
                    if not lacking or u64(p + 4) != lacking:
                        variable_value(k, &collections, p, 1, &one)
                        string = _string(&one, as_text)
                        decoded += one.size
                except EOFError:
                    if k.fault != LACKING:
                        raise
                    # others may lack bytes, too: these are read together
                    lacking = u64(p + 4)
                if decoded > 8 * k.size + SPARE:
                    is_unusual(k, b"strings that share their bytes")
            before = p
            p += REFERENCE
            Py_INCREF(string)
            out[i] = <PyObject*> string
    finally:
        free_collections(&collections)
    return 0


cdef object _string(const Bytes* one, bint as_text):
    cdef const void* end = memchr(one.data, 0, one.size) if one.size else NULL
    cdef Py_ssize_t size = one.size if end == NULL else <const uint8_t*> end - one.data
    if as_text:
        return PyUnicode_DecodeUTF8(<const char*> one.data, size, NULL)
    return PyBytes_FromStringAndSize(<const char*> one.data, size)
