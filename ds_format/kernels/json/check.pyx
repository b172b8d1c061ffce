"""Whether text is JSON (RFC 8259) with an object on each line, and where the member `_id` of the object is."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t

from .loop cimport scan_from, scan_object, take_mark
from .scan cimport (
    BEHIND, BLANK, BOM, CR, ID_ESCAPED as ESCAPED, ID_FOUND as FOUND, ID_STRING as STRING, ID_TWICE as TWICE,
    MAX_DEPTH as DEEPEST, NUMBER_RANGE as RANGE, UTF8, VALID as FINE, Checked, Scan
)
from ..common.utf8 cimport utf8_size

VALID = FINE
ID_FOUND = FOUND
ID_STRING = STRING
ID_ESCAPED = ESCAPED
ID_TWICE = TWICE
NUMBER_RANGE = RANGE
CARRIAGE_RETURN = CR
MAX_DEPTH = DEEPEST

FAULTS = dict(enumerate((
    "valid",
    "nothing but white space",
    "not an object",
    "cut off",
    "found no key in quotes",
    "found no colon behind a key",
    "found no value",
    "found neither a comma nor the end of the object or array",
    "not a number of JSON",
    "NaN and Infinity are not JSON",
    "a control character in a string",
    "not an escape of JSON",
    "half a surrogate pair",
    "not UTF-8",
    f"more than {DEEPEST} objects and arrays inside of one another",
    "something behind the object",
    "a byte order mark",
)))

cdef enum:
    LONGEST_EXACT = 18  # digits of an integer that 64 bits hold in any case


cdef void begin(Scan* s, const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Prepare for going through the lines of some bytes."""
    s.end = p + size
    scan_from(s, p)


cdef inline void _finish(Scan* s, const uint8_t* start, Checked* found) noexcept nogil:
    """Refine what the loop found: it does not look at UTF-8."""
    cdef Py_ssize_t size = found.size if found.status == FINE else found.error, good
    if not s.high:
        return
    good = utf8_size(start, size)
    if good < size or (found.status != FINE and size < found.size and start[size] & 0x80):
        good = utf8_size(start, found.size)
        if good <= size:
            found.status, found.error = UTF8, good
    if found.error == 0 and found.size >= 3 and start[0] == 0xEF and start[1] == 0xBB and start[2] == 0xBF:
        found.status = BOM


cdef void check_next(Scan* s, Checked* found) noexcept nogil:
    """Check the line at `s.p`, and step behind its line feed, if there is one."""
    cdef const uint8_t* start = s.p
    scan_object(s, found, True)
    if s.high:
        _finish(s, start, found)
    if s.p == s.end:
        return
    s.p += 1
    if found.status == FINE:
        take_mark(s)
        s.high = s.block_high
    else:
        scan_from(s, s.p)


cdef Checked check(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Check one line, with or without the line feed at its end."""
    cdef Scan s
    cdef Checked found
    begin(&s, p, size)
    check_next(&s, &found)
    if s.p < s.end and (found.status == FINE or found.status == BLANK):
        found.status, found.error = BEHIND, s.p - p
    return found


cdef tuple _as_tuple(Checked found):
    return found.status, found.error, found.id_start, found.id_size, found.flags


def check_line(const uint8_t[::1] line not None):
    """Check a line.

    Parameters
    ----------
    line : (size,) uint8
        One object as JSON, with or without a line feed at its end.

    Returns
    -------
    status : int
        VALID, or a key of FAULTS.
    error : int
        Where it is wrong, in bytes.
    id_start, id_size : int
        Where the value of the member `_id` is, in bytes; of a string what is between the quotes, with its escapes, of
        other values only the start. Of several the last one; -1 if there is none.
    flags : int
        The sum of ID_FOUND; ID_STRING: it is a string; ID_ESCAPED: it has escapes; ID_TWICE: there is another one;
        NUMBER_RANGE: some integer needs more than 64 bits, or some number is too large for a double;
        CARRIAGE_RETURN: one is at the end.
    """
    cdef Checked found
    with nogil:
        found = check(&line[0] if line.shape[0] else NULL, line.shape[0])
    return _as_tuple(found)


def check_text(const uint8_t[::1] text not None):
    """Check an object that may stand on several lines; as `check_line` otherwise."""
    cdef Scan s
    cdef Checked found
    cdef const uint8_t* p = &text[0] if text.shape[0] else NULL
    with nogil:
        begin(&s, p, text.shape[0])
        scan_object(&s, &found, False)
        _finish(&s, p, &found)
    return _as_tuple(found)


cdef inline bint _is_digit(uint8_t c) noexcept nogil:
    return c >= 48 and c <= 57


cdef bint has_big_number(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i = LONGEST_EXACT, first, last
    while i < size:
        if _is_digit(p[i]):
            first = last = i
            while first > i - LONGEST_EXACT and _is_digit(p[first - 1]):
                first -= 1
            while last - first < LONGEST_EXACT and last + 1 < size and _is_digit(p[last + 1]):
                last += 1
            if last - first >= LONGEST_EXACT:
                return True
        i += LONGEST_EXACT + 1
    return False


def big_number(object line not None):
    """Return whether there are 19 digits in a row somewhere in JSON text, which is bytes or another (size,) uint8.

    Only then can there be an integer that needs more than 64 bits. It costs little: each 19th byte is looked at.
    """
    cdef const uint8_t[::1] view
    if type(line) is bytes:
        return has_big_number(<const uint8_t*> PyBytes_AS_STRING(line), PyBytes_GET_SIZE(line))
    view = line
    return has_big_number(&view[0], view.shape[0]) if view.shape[0] else False
