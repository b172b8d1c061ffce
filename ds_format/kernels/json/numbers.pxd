"""JSON text → a number, as Python's module `json` reads it."""

from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from ..common.decimals cimport nearest
from .decode cimport Text, follows

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow) except? -1.0

cdef enum:
    DIGITS = 19  # which fit into 64 bits
    NUMBER_SIZE = 60  # maximum bytes of a float


cdef struct Number:
    bint is_real
    int64_t integer
    double real


cdef inline int _take_digits(Text* t, uint64_t* value) noexcept:
    """Step over digits, append them to a number, and return how many there are."""
    cdef const uint8_t* start = t.p
    cdef const uint8_t* p = start
    cdef uint64_t digits = value[0]
    while p < t.end and <uint8_t> (p[0] - 48) < 10:
        digits = 10 * digits + (p[0] - 48)
        p += 1
    t.p, value[0] = p, digits
    return <int> min(p - start, 1 << 30)


cdef inline int take_number(Text* t, Number* number) except -1:
    """Take a number, NaN or infinity. Return 0 if it is not one, or unusual: outside of int64, or a long float."""
    cdef const uint8_t* start = t.p
    cdef bint negative = t.p < t.end and t.p[0] == b"-", is_less
    cdef uint64_t digits = 0, power = 0
    cdef int n, places = 0, exponent = 0
    t.p += negative
    number.is_real = True
    n = _take_digits(t, &digits)
    if n == 0:
        if follows(t, b"Infinity", 8):
            number.real = -INFINITY if negative else INFINITY
            return 1
        number.real = NAN
        return not negative and follows(t, b"NaN", 3)
    if start[negative] == b"0":
        n -= 1
        if n > 0:
            return 0
    if t.p == t.end or (t.p[0] != b"." and t.p[0] | 32 != b"e"):
        number.is_real = False
        number.integer = <int64_t> (0 - digits if negative else digits)
        return n <= DIGITS and digits <= (<uint64_t> 1 << 63) - 1 + negative
    if t.p[0] == b".":
        t.p += 1
        places = _take_digits(t, &digits)
        if places == 0:
            return 0
    if t.p < t.end and t.p[0] | 32 == b"e":
        t.p += 1
        is_less = t.p < t.end and t.p[0] == b"-"
        t.p += t.p < t.end and (t.p[0] == b"+" or t.p[0] == b"-")
        exponent = _take_digits(t, &power)
        if exponent == 0:
            return 0
        if exponent > 3:
            return _parse(start, t.p, &number.real)
        exponent = -<int> power if is_less else <int> power
    if n + places > DIGITS or not nearest(digits, exponent - places, &number.real):
        return _parse(start, t.p, &number.real)
    if negative:
        number.real = -number.real
    return 1


cdef inline int _parse(const uint8_t* start, const uint8_t* end, double* real) except -1:
    """Let Python find the float that is nearest. Return 0 if it is too long."""
    cdef char[NUMBER_SIZE + 1] text
    if end - start > NUMBER_SIZE:
        return 0
    memcpy(text, start, end - start)
    text[end - start] = 0
    real[0] = PyOS_string_to_double(text, NULL, NULL)
    return 1
