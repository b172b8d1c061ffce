"""Checks of JSON text (RFC 8259) with one object per line, and the position of the member `_id` of the object."""

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
    "only white space",
    "not an object",
    "truncated",
    "found no key in quotes",
    "found no colon after a key",
    "found no value",
    "found neither a comma nor the end of the object or array",
    "not a JSON number",
    "NaN and Infinity are not JSON",
    "a control character in a string",
    "not a JSON escape",
    "half a surrogate pair",
    "not UTF-8",
    f"more than {DEEPEST} nested objects and arrays",
    "found more after the object",
    "a byte order mark",
)))

cdef enum:
    MAX_EXACT_DIGITS = 18  # digits of an integer that always fits into 64 bits


cdef void begin(Scan* s, const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Start a check of lines."""
    s.end = p + size
    scan_from(s, p)


cdef inline void _check_utf8(Scan* s, const uint8_t* start, Checked* checked) noexcept nogil:
    """Check UTF-8, which the loop does not do, up to its end or its fault. A byte order mark is a fault of its own."""
    cdef Py_ssize_t size = checked.size if checked.status == FINE else checked.error, good
    if not s.high:
        return
    good = utf8_size(start, size)
    if good < size or (checked.status != FINE and size < checked.size and start[size] & 0x80):
        good = utf8_size(start, checked.size)
        if good <= size:
            checked.status, checked.error = UTF8, good
    if checked.error == 0 and checked.size >= 3 and start[0] == 0xEF and start[1] == 0xBB and start[2] == 0xBF:
        checked.status = BOM


cdef void check_next(Scan* s, Checked* checked) noexcept nogil:
    """Check the line at `s.p`, and step over it and its line feed, if there is one."""
    cdef const uint8_t* start = s.p
    scan_object(s, checked, True)
    if s.high:
        _check_utf8(s, start, checked)
    if s.p == s.end:
        return
    s.p += 1
    if checked.status == FINE:
        take_mark(s)
        s.high = s.block_high
    else:
        scan_from(s, s.p)


cdef Checked check(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Check one line, with or without the line feed at its end."""
    cdef Scan s
    cdef Checked checked
    begin(&s, p, size)
    check_next(&s, &checked)
    if s.p < s.end and (checked.status == FINE or checked.status == BLANK):
        checked.status, checked.error = BEHIND, s.p - p
    return checked


cdef tuple _as_tuple(Checked checked):
    return checked.status, checked.error, checked.id_start, checked.id_size, checked.flags


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
        Position of the fault in bytes.
    id_start, id_size : int
        Position and size of the last member `_id`, in bytes; -1 if it is missing. For a string, without its quotes but
        with its escapes. For other values, only the position.
    flags : int
        The sum of ID_FOUND (`_id` exists), ID_STRING (it is a string), ID_ESCAPED (it has escapes), ID_TWICE (it occurs
        more than once), NUMBER_RANGE (an integer needs more than 64 bits, or a number is too large for a double), and
        CARRIAGE_RETURN (the line ends with one).
    """
    cdef Checked checked
    with nogil:
        checked = check(&line[0] if line.shape[0] else NULL, line.shape[0])
    return _as_tuple(checked)


def check_text(const uint8_t[::1] text not None):
    """Check an object, which may have several lines; see `check_line`."""
    cdef Scan s
    cdef Checked checked
    cdef const uint8_t* p = &text[0] if text.shape[0] else NULL
    with nogil:
        begin(&s, p, text.shape[0])
        scan_object(&s, &checked, False)
        _check_utf8(&s, p, &checked)
    return _as_tuple(checked)


cdef inline bint _is_digit(uint8_t c) noexcept nogil:
    return c >= 48 and c <= 57


cdef bint has_big_number(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i = MAX_EXACT_DIGITS, first, last
    while i < size:
        if _is_digit(p[i]):
            first = last = i
            while first > i - MAX_EXACT_DIGITS and _is_digit(p[first - 1]):
                first -= 1
            while last - first < MAX_EXACT_DIGITS and last + 1 < size and _is_digit(p[last + 1]):
                last += 1
            if last - first >= MAX_EXACT_DIGITS:
                return True
        i += MAX_EXACT_DIGITS + 1
    return False


def big_number(object line not None):
    """Return whether JSON text, which is bytes or another (size,) uint8, has 19 digits in a row.

    Otherwise, no integer needs more than 64 bits. This is fast, because only each 19th byte is read.
    """
    cdef const uint8_t[::1] view
    if type(line) is bytes:
        return has_big_number(<const uint8_t*> PyBytes_AS_STRING(line), PyBytes_GET_SIZE(line))
    view = line
    return has_big_number(&view[0], view.shape[0]) if view.shape[0] else False
