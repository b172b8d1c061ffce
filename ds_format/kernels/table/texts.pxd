"""Cells of text → Python strings."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef extern from "Python.h":
    void Py_XDECREF(PyObject* one)

cdef enum:
    SLOTS = 4096


cdef struct Cell:
    const uint8_t* start
    const uint8_t* end
    bint is_escaped  # has doubled quotes


cdef inline int put_texts(const Cell* cells, Py_ssize_t n, PyObject** out) except -1:
    """Put texts into an array of objects. Cells with the same text usually share it."""
    cdef Py_ssize_t i, at, size
    cdef Py_ssize_t[SLOTS] latest  # the cell that was the last one with a hash
    cdef const uint8_t* start
    cdef PyObject* before
    cdef object text
    for i in range(SLOTS):
        latest[i] = -1
    for i in range(n):
        start, size = cells[i].start, cells[i].end - cells[i].start
        slot = _hash(start, size) % SLOTS
        at, latest[slot] = latest[slot], i
        if (
            at >= 0 and size == cells[at].end - cells[at].start and cells[i].is_escaped == cells[at].is_escaped
            and not memcmp(start, cells[at].start, size)
        ):
            text = <object> out[at]
        elif cells[i].is_escaped:
            text = (<const char*> start)[:size].replace(b'""', b'"').decode()
        else:
            text = PyUnicode_DecodeUTF8(<const char*> start, size, NULL)
        before = out[i]
        Py_INCREF(text)
        out[i] = <PyObject*> text
        Py_XDECREF(before)
    return 0


cdef inline uint64_t _hash(const uint8_t* text, Py_ssize_t size) noexcept nogil:
    """Return a hash of the size, the first and the last bytes."""
    cdef uint64_t first = 0, last = 0
    memcpy(&first, text, min(size, 8))
    memcpy(&last, text + max(size - 8, 0), min(size, 8))
    first = (first ^ <uint64_t> size << 56) * 0x9E3779B97F4A7C15u ^ last
    return first * 0x9E3779B97F4A7C15u >> 48
