"""JSON text → Python values, as the `json` module of Python has them, for what most text is made of.

Whatever is unusual or wrong is left to that module: then `Unusual` is raised, which says nothing more. Unusual are
integers of more than 18 digits, floats of more than 60 characters, escapes of half a character, and deep nesting.
"""

from cpython.dict cimport PyDict_SetItem, PyDict_Size
from cpython.float cimport PyFloat_FromDouble
from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from .strings cimport Names, Text, take_string

from .strings import Unusual

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow) except? -1.0

cdef enum:
    DEEPEST = 64  # lists and dicts inside of one another
    DIGITS = 18  # of an integer that surely fits 64 bits
    NUMBER_SIZE = 60  # bytes of the longest float


cdef int expect(Text* t, uint8_t byte) except -1:
    """Step over white space and one byte; Unusual if that is another."""
    if next_byte(t) != byte:
        raise Unusual
    t.p += 1
    return 0


cdef str take_key(Text* t, Names names):
    """Take the name of a member and the colon behind it."""
    if next_byte(t) != b'"':
        raise Unusual
    name = take_string(t, names)
    expect(t, b":")
    return name


cdef object _take_number(Text* t):
    cdef const uint8_t* start = t.p
    cdef const uint8_t* p = t.p + (t.p[0] == b"-")
    cdef const uint8_t* first = p
    cdef int64_t value = 0
    cdef char room[NUMBER_SIZE + 1]
    while p < t.end and b"0" <= p[0] <= b"9":
        if p - first < DIGITS:
            value = 10 * value + (p[0] - 48)
        p += 1
    if p == first or p - first > DIGITS or (first[0] == b"0" and p - first > 1):
        raise Unusual
    t.p = p
    if p == t.end or not (p[0] == b"." or p[0] == b"e" or p[0] == b"E"):
        return -value if first > start else value
    if p[0] == b".":
        p += 1
        if p == t.end or not b"0" <= p[0] <= b"9":
            raise Unusual
        while p < t.end and b"0" <= p[0] <= b"9":
            p += 1
    if p < t.end and (p[0] == b"e" or p[0] == b"E"):
        p += 1
        if p < t.end and (p[0] == b"+" or p[0] == b"-"):
            p += 1
        if p == t.end or not b"0" <= p[0] <= b"9":
            raise Unusual
        while p < t.end and b"0" <= p[0] <= b"9":
            p += 1
    if p - start > NUMBER_SIZE:
        raise Unusual
    memcpy(room, start, p - start)
    room[p - start] = 0
    t.p = p
    return PyFloat_FromDouble(PyOS_string_to_double(room, NULL, NULL))


cdef inline bint _follows(Text* t, const char* word, Py_ssize_t size) noexcept:
    if size > t.end - t.p or memcmp(t.p, word, size):
        return False
    t.p += size
    return True


cdef object _take_word(Text* t):
    if _follows(t, b"null", 4):
        return None
    if _follows(t, b"true", 4):
        return True
    if _follows(t, b"false", 5):
        return False
    if _follows(t, b"NaN", 3):
        return PyFloat_FromDouble(NAN)
    if _follows(t, b"Infinity", 8):
        return PyFloat_FromDouble(INFINITY)
    if _follows(t, b"-Infinity", 9):
        return PyFloat_FromDouble(-INFINITY)
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
    """Take any value; keys of objects come from the table of names."""
    cdef uint8_t c = next_byte(t)
    if c == b'"':
        return take_string(t, None)
    if b"0" <= c <= b"9" or (c == b"-" and t.end - t.p > 1 and t.p[1] != b"I"):
        return _take_number(t)
    if c != b"[" and c != b"{":
        return _take_word(t)
    if t.depth == DEEPEST:
        raise Unusual
    t.depth += 1
    values = _take_list(t, names) if c == b"[" else _take_dict(t, names)
    t.depth -= 1
    return values
