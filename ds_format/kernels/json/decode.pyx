"""JSON text → Python values, as the `json` module of Python has them, for what most text is made of.

Whatever is unusual or wrong is left to that module: then `Unusual` is raised, which says nothing more. Unusual are
integers of more than 18 digits, floats of more than 60 characters, escapes of half a character, and deep nesting.
"""

from cpython.dict cimport PyDict_SetItem, PyDict_Size
from cpython.float cimport PyFloat_FromDouble
from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from .strings cimport Names, Text, take_string

from .strings import Unusual

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow) except? -1.0

cdef extern from "<float.h>":
    const int FLT_EVAL_METHOD

cdef enum:
    DEEPEST = 64  # lists and dicts inside of one another
    DIGITS = 18  # of an integer that surely fits 64 bits
    EXACT_DIGITS = 15  # of an integer that a double surely holds
    NUMBER_SIZE = 60  # bytes of the longest float

cdef double[EXACT_DIGITS + 1] POWERS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15
]


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


cdef inline int _take_digits(Text* t, uint64_t* value) noexcept:
    """Step over digits, append them to those of a number, and return how many there are."""
    cdef const uint8_t* start = t.p
    while t.p < t.end and b"0" <= t.p[0] <= b"9":
        value[0] = 10 * value[0] + (t.p[0] - 48)
        t.p += 1
    return <int> (t.p - start)


cdef inline uint64_t _take_integer(Text* t, int* n) except? 0xFFFFFFFFFFFFFFFF:
    """Step over an integer without a sign, or what stands in front of the point, and return it if it has few digits."""
    cdef const uint8_t* first = t.p
    cdef uint64_t value = 0
    n[0] = _take_digits(t, &value)
    if n[0] == 0 or (n[0] > 1 and first[0] == b"0"):
        raise Unusual
    return value


cdef inline bint _is_float(Text* t) noexcept:
    """Whether a number goes on behind its integer part."""
    return t.p < t.end and (t.p[0] == b"." or t.p[0] == b"e" or t.p[0] == b"E")


cdef int64_t take_count(Text* t) except -1:
    """Take an integer of 0 or more."""
    cdef int n
    cdef uint64_t value
    next_byte(t)
    value = _take_integer(t, &n)
    if n > DIGITS or _is_float(t):
        raise Unusual
    return <int64_t> value


cdef object _take_number(Text* t):
    cdef const uint8_t* start = t.p
    cdef bint negative = start[0] == b"-"
    cdef int n, places = 0
    cdef uint64_t value, _
    cdef bint is_short = FLT_EVAL_METHOD == 0
    cdef double number
    t.p += negative
    value = _take_integer(t, &n)
    if not _is_float(t):
        if n > DIGITS:
            raise Unusual
        return -<int64_t> value if negative else <int64_t> value
    if t.p[0] == b".":
        t.p += 1
        places = _take_digits(t, &value)
        if places == 0:
            raise Unusual
    if t.p < t.end and (t.p[0] == b"e" or t.p[0] == b"E"):
        is_short = False
        t.p += 1
        if t.p < t.end and (t.p[0] == b"+" or t.p[0] == b"-"):
            t.p += 1
        if _take_digits(t, &_) == 0:
            raise Unusual
    if is_short and n + places <= EXACT_DIGITS:
        number = <double> value / POWERS[places]  # of two exact numbers, and so the nearest to the true one
        return PyFloat_FromDouble(-number if negative else number)
    return _parse_float(start, t.p - start)


cdef object _parse_float(const uint8_t* start, Py_ssize_t size):
    cdef char[NUMBER_SIZE + 1] room
    if size > NUMBER_SIZE:
        raise Unusual
    memcpy(room, start, size)
    room[size] = 0
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
