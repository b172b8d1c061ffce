"""Strings of JSON text → Python strings; names that occur again and again are made once."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from ..common.words cimport load_u64
from .unescape cimport unescape

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 largest)
    void* PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept

cdef enum:
    LONGEST_NAME = 40  # bytes of a name that is remembered
    SLOTS = 512  # names that are remembered: 9 bits of a hash


class Unusual(Exception):
    """The text is not JSON, or of a kind that is left to others."""


cdef class Names:
    """Strings that occur again and again, made once. A new one takes the place of another with the same hash."""

    def __cinit__(self):
        self.slots = [None] * SLOTS

    cdef str get(self, const uint8_t* p, Py_ssize_t size):
        """Return a name of ASCII characters."""
        cdef uint64_t hash = 0, last = 0
        cdef Py_ssize_t i
        if size >= 8:
            hash, last = load_u64(p, False), load_u64(p + size - 8, False)
        else:
            memcpy(&hash, p, size)
        hash = (hash ^ (last * 3) ^ <uint64_t> size) * 0x9E3779B97F4A7C15u
        i = <Py_ssize_t> (hash >> 55)
        name = self.slots[i]
        if name is not None and PyUnicode_GET_LENGTH(name) == size and not memcmp(PyUnicode_DATA(name), p, size):
            return <str> name
        name = PyUnicode_New(size, 127)
        memcpy(PyUnicode_DATA(name), p, size)
        self.slots[i] = name
        return <str> name


cdef list _idle = []  # a table belongs to one call at a time: values that are freed may run any code, this one too


cdef Names borrow_names():
    """Return a table of names for one call."""
    try:
        return <Names> _idle.pop()
    except IndexError:
        return Names()


cdef give_back(Names names):
    """Let others have a table of names."""
    if len(_idle) < 8:
        _idle.append(names)


cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    #define ds_first_mark(marks) (__builtin_ctzll(marks) >> 3)
    #else
    #define ds_first_mark(marks) 0
    #endif
    """
    int first_mark "ds_first_mark"(uint64_t marks) noexcept nogil


cdef inline uint64_t _marks(uint64_t word) noexcept nogil:
    """Mark those of 8 bytes that end a string, begin an escape, are control characters, or not ASCII.

    Bytes behind the first marked one may be marked without a reason.
    """
    cdef uint64_t quote = word ^ 0x2222222222222222u, backslash = word ^ 0x5C5C5C5C5C5C5C5Cu
    return (
        (quote - 0x0101010101010101u) | (backslash - 0x0101010101010101u) | (word - 0x2020202020202020u) | word
    ) & 0x8080808080808080u


cdef int _check_escapes(const uint8_t* p, const uint8_t* end) except -1:
    """Raise Unusual where `unescape` would not know what to do."""
    cdef int i, pair = 0
    cdef uint8_t c
    while p < end:
        if p[0] != b"\\":
            if pair:
                raise Unusual
            p += 1
            continue
        if p[1] != b"u":
            if pair or p[1] not in b'"\\/bfnrt':
                raise Unusual
            p += 2
            continue
        if end - p < 6:
            raise Unusual
        for i in range(2, 6):
            c = p[i] | 0x20
            if not (b"0" <= p[i] <= b"9" or b"a" <= c <= b"f"):
                raise Unusual
        c = p[3] | 0x20
        i = (p[2] | 0x20) == b"d" and c >= b"8"  # half of a character: 8 to b the first, c to f the second
        if i and (c >= b"c") != pair or pair and not i:
            raise Unusual
        pair = i and not pair
        p += 6
    if pair:
        raise Unusual
    return 0


cdef str _escaped(const uint8_t* p, Py_ssize_t size):
    cdef uint8_t* room
    _check_escapes(p, p + size)
    room = <uint8_t*> PyMem_Malloc(size)
    if room == NULL:
        raise MemoryError
    try:
        return PyUnicode_DecodeUTF8(<char*> room, unescape(p, size, room), NULL)
    finally:
        PyMem_Free(room)


cdef str take_string(Text* t, Names names):
    """Take a string, whose first quote is next; a short one of ASCII from the table, if there is one."""
    cdef const uint8_t* start = t.p + 1
    cdef const uint8_t* p = start
    cdef bint is_ascii = True, is_escaped = False
    cdef uint64_t marks
    cdef uint8_t c
    cdef Py_ssize_t size
    while True:
        while t.end - p >= 8:
            marks = _marks(load_u64(p, False))
            if marks:
                p += first_mark(marks)
                break
            p += 8
        if p == t.end:
            raise Unusual
        c = p[0]
        if c == b'"':
            break
        if c < 0x20:
            raise Unusual
        if c == b"\\":
            is_escaped = True
            p += 1
            if p == t.end:
                raise Unusual
        elif c >= 0x80:
            is_ascii = False
        p += 1
    size = p - start
    t.p = p + 1
    if is_escaped:
        return _escaped(start, size)
    if not is_ascii:
        return PyUnicode_DecodeUTF8(<char*> start, size, NULL)
    if names is not None and size <= LONGEST_NAME:
        return names.get(start, size)
    text = PyUnicode_New(size, 127)
    memcpy(PyUnicode_DATA(text), start, size)
    return <str> text
