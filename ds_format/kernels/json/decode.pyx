"""Usual JSON text → Python values, with the results of Python's module `json`.

Names that occur repeatedly are created once. Wrong and unusual text is left to that module: `Unusual` is raised without
a message. Integers outside of int64, floats of more than 60 characters, unpaired surrogates and deep nesting are
unusual.
"""

from cpython.dict cimport PyDict_SetItem, PyDict_Size
from cpython.float cimport PyFloat_FromDouble
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from ..common.words cimport load_u64
from .numbers cimport Number, take_number
from .unescape cimport unescape

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 largest)
    void* PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept

cdef enum:
    MAX_NAME_SIZE = 40  # bytes of a name that is remembered
    SLOTS = 512  # names that are remembered: 9 bits of a hash


class Unusual(Exception):
    """The text is not JSON, or unusual JSON that this module does not decode."""


cdef class Names:
    """A table of strings, so that repeated names are created once. A new name replaces one with the same hash."""

    def __cinit__(self):
        self.slots = [None] * SLOTS

    cdef str get(self, const uint8_t* p, Py_ssize_t size):
        """Return a name, which is ASCII."""
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


cdef list _idle = []  # tables that no call uses; freeing a value may run any code, including another call


cdef Names borrow_names():
    """Return a table of names for one call."""
    try:
        return <Names> _idle.pop()
    except IndexError:
        return Names()


cdef give_back(Names names):
    """Return a table of names after a call."""
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
    """Mark quotes, backslashes, control characters and bytes that are not ASCII among 8 bytes.

    Only the first mark is exact. Bytes after it may be marked without a reason.
    """
    cdef uint64_t quote = word ^ 0x2222222222222222u, backslash = word ^ 0x5C5C5C5C5C5C5C5Cu
    return (
        (quote - 0x0101010101010101u) | (backslash - 0x0101010101010101u) | (word - 0x2020202020202020u) | word
    ) & 0x8080808080808080u


cdef int _check_escapes(const uint8_t* p, const uint8_t* end) except -1:
    """Raise Unusual for escapes that `unescape` does not support."""
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
        i = (p[2] | 0x20) == b"d" and c >= b"8"  # a surrogate: 8 to b the first of a pair, c to f the second
        if i and (c >= b"c") != pair or pair and not i:
            raise Unusual
        pair = i and not pair
        p += 6
    if pair:
        raise Unusual
    return 0


cdef str _escaped(const uint8_t* p, Py_ssize_t size):
    cdef uint8_t* text
    _check_escapes(p, p + size)
    text = <uint8_t*> PyMem_Malloc(size)
    if text == NULL:
        raise MemoryError
    try:
        return PyUnicode_DecodeUTF8(<char*> text, unescape(p, size, text), NULL)
    finally:
        PyMem_Free(text)


cdef str take_string(Text* t, Names names):
    """Take a string, whose first quote is next. A short ASCII string comes from the table, unless it is None."""
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
    if names is not None and size <= MAX_NAME_SIZE:
        return names.get(start, size)
    text = PyUnicode_New(size, 127)
    memcpy(PyUnicode_DATA(text), start, size)
    return <str> text


cdef enum:
    MAX_DEPTH = 64  # nested lists and dicts


cdef int expect(Text* t, uint8_t byte) except -1:
    """Step over white space and one byte. Raise Unusual if the byte is another one."""
    if next_byte(t) != byte:
        raise Unusual
    t.p += 1
    return 0


cdef str take_key(Text* t, Names names):
    """Take the name of a member and the colon after it."""
    if next_byte(t) != b'"':
        raise Unusual
    name = take_string(t, names)
    expect(t, b":")
    return name


cdef int64_t take_count(Text* t) except -1:
    """Take an integer from 0 to 2**60, so that the sum of a few fits into int64."""
    cdef Number number
    next_byte(t)
    if not take_number(t, &number) or number.is_real or not 0 <= number.integer <= <int64_t> 1 << 60:
        raise Unusual
    return number.integer


cdef object _take_number(Text* t):
    cdef Number number
    if not take_number(t, &number):
        raise Unusual
    return PyFloat_FromDouble(number.real) if number.is_real else number.integer


cdef object _take_word(Text* t):
    if follows(t, b"null", 4):
        return None
    if follows(t, b"true", 4):
        return True
    if follows(t, b"false", 5):
        return False
    raise Unusual


cdef list _take_list(Text* t, Names names):
    cdef list values = []
    t.p += 1
    if next_byte(t) == b"]":
        t.p += 1
        return values
    while True:
        values.append(take_value(t, names))
        if next_byte(t) != b",":
            break
        t.p += 1
    expect(t, b"]")
    return values


cdef dict _take_dict(Text* t, Names names):
    cdef dict values = {}
    cdef Py_ssize_t n = 0
    t.p += 1
    if next_byte(t) == b"}":
        t.p += 1
        return values
    while True:
        name = take_key(t, names)
        PyDict_SetItem(values, name, take_value(t, names))
        n += 1
        if next_byte(t) != b",":
            break
        t.p += 1
    expect(t, b"}")
    if PyDict_Size(values) != n:
        raise Unusual  # a name occurs twice
    return values


cdef object take_value(Text* t, Names names):
    """Take any value. Keys of objects come from the table of names."""
    cdef uint8_t c = next_byte(t)
    if c == b'"':
        return take_string(t, None)
    if c < b"A" or c == b"N" or c == b"I":
        return _take_number(t)
    if c != b"[" and c != b"{":
        return _take_word(t)
    if t.depth == MAX_DEPTH:
        raise Unusual
    t.depth += 1
    values = _take_list(t, names) if c == b"[" else _take_dict(t, names)
    t.depth -= 1
    return values
