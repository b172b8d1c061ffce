"""Text of a cell → a number, as Python's `int` and `float` read it, but without underscores.

Decimals may be behind another character than a point.
"""

from cpython.object cimport PyObject
from libc.math cimport INFINITY, NAN
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, strchr

from ..common.decimals cimport nearest

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow) except? -1.0

cdef enum Kind:
    INTEGER  # with the flags below; no cell yet is one, too
    REAL
    TEXT

cdef enum Flag:
    EMPTY = 1
    NEGATIVE = 2
    LARGE = 4  # more than int64 has, but not more than uint64
    HUGE = 8  # less than int64 has, or more than uint64
    INEXACT = 16  # the cell before is `-0`, which is a float in another way than an integer

cdef enum:
    DIGITS = 19  # which fit into 64 bits
    NUMBER_SIZE = 400  # bytes of a float that Python reads from memory of this function


cdef struct Number:
    int kind
    int flags
    uint64_t digits  # of an integer, without its sign
    double real
    bint is_sure  # otherwise Python has to find `real`


cdef inline bint _is_blank(uint8_t byte) noexcept nogil:
    return byte == 32 or 9 <= byte <= 13


cdef inline bint _is_digit(uint8_t byte) noexcept nogil:
    return <uint8_t> (byte - 48) < 10


cdef inline bint _is_word(const uint8_t* p, const uint8_t* end, const char* word, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    if end - p != size:
        return False
    for i in range(size):
        if p[i] | 32 != <uint8_t> word[i]:
            return False
    return True


cdef inline int _take_digits(const uint8_t** at, const uint8_t* end, uint64_t* digits, int* n) noexcept nogil:
    """Step over digits, append them to a number until it has `DIGITS`, and return how many there are.

    `n` counts them from the first one that is not 0.
    """
    cdef const uint8_t* p = at[0]
    while p < end and _is_digit(p[0]):
        n[0] += n[0] > 0 or p[0] != c"0"
        if n[0] <= DIGITS:
            digits[0] = 10 * digits[0] + (p[0] - 48)
        p += 1
    at[0], end = p, at[0]
    return <int> (p - end)


cdef inline void parse(const uint8_t* p, const uint8_t* end, uint8_t point, Number* number) noexcept nogil:
    """Parse a cell that is not empty. `point` is the character before decimals."""
    cdef bint is_negative = False, is_real = False
    cdef uint64_t digits = 0
    cdef int n = 0, exponent, shown, places, power = 0, sign = 1
    number.kind = TEXT
    while p < end and _is_blank(p[0]):
        p += 1
    while p < end and _is_blank(end[-1]):
        end -= 1
    if p < end and (p[0] == c"-" or p[0] == c"+"):
        is_negative = p[0] == c"-"
        p += 1
    shown = _take_digits(&p, end, &digits, &n)
    exponent = max(n - DIGITS, 0)
    if p < end and p[0] == point:
        is_real = True
        p += 1
        places = _take_digits(&p, end, &digits, &n)
        shown += places
        exponent = max(n - DIGITS, 0) - places
    if not shown:
        if _is_word(p, end, "nan", 3):
            number.real = NAN
        elif _is_word(p, end, "inf", 3) or _is_word(p, end, "infinity", 8):
            number.real = -INFINITY if is_negative else INFINITY
        else:
            return
        if is_real:
            return
        number.kind, number.is_sure = REAL, True
        return
    if p < end and p[0] | 32 == c"e":
        is_real = True
        p += 1
        if p < end and (p[0] == c"-" or p[0] == c"+"):
            sign = -1 if p[0] == c"-" else 1
            p += 1
        if p == end:
            return
        while p < end and _is_digit(p[0]):
            if power < 1000000:
                power = 10 * power + (p[0] - 48)
            p += 1
    if p < end:
        return
    number.kind = REAL if is_real else INTEGER
    number.digits = digits
    number.flags = NEGATIVE if is_negative else 0
    if not is_real:
        if n > DIGITS and not (n == DIGITS + 1 and exponent == 1 and _last(digits, end[-1], &number.digits)):
            number.flags |= HUGE
        elif not is_negative and number.digits >> 63:
            number.flags |= LARGE
        elif is_negative and number.digits > <uint64_t> 1 << 63:
            number.flags |= HUGE
        elif is_negative and not number.digits:
            number.flags = INEXACT
    number.is_sure = n <= DIGITS and nearest(digits, exponent + sign * power, &number.real)
    if is_negative:
        number.real = -number.real


cdef inline bint _last(uint64_t digits, uint8_t last, uint64_t* whole) noexcept nogil:
    """Append the twentieth digit to a number, if 64 bits hold it."""
    cdef uint64_t most = ~<uint64_t> 0
    last -= 48
    if digits > most // 10 or (digits == most // 10 and last > most % 10):
        return False
    whole[0] = 10 * digits + last
    return True


cdef inline double parse_by_python(const uint8_t* p, const uint8_t* end, uint8_t point) except? -1.0:
    cdef char[NUMBER_SIZE + 1] text
    cdef char* found
    while _is_blank(p[0]):
        p += 1
    while _is_blank(end[-1]):
        end -= 1
    if end - p > NUMBER_SIZE:
        return float((<const char*> p)[:end - p].replace(bytes([point]), b"."))
    memcpy(text, p, end - p)
    text[end - p] = 0
    found = strchr(text, point)
    if found != NULL:
        found[0] = c"."
    return PyOS_string_to_double(text, NULL, NULL)
