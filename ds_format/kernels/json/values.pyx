"""Checks of JSON text, and Python values → JSON text.

Checked are texts with one object per line (RFC 8259), and the position of the member `_id` of the object is found. The
same values always give the same bytes; floats are written like repr. Written text is compact with as few escapes as
possible, or equal to that of `json.dumps`; see `Output.like_python`.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from libc.math cimport isfinite, isnan
from libc.stdint cimport int64_t, uint8_t

from ..common.decimals cimport put_by_python, put_integer, put_number
from ..common.output cimport Output, grow, put_byte, put_bytes
from ..common.utf8 cimport utf8_size
from .loop cimport scan_from, scan_object, take_mark
from .scan cimport (
    BEHIND, BLANK, BOM, CR, ID_ESCAPED as ESCAPED, ID_FOUND as FOUND, ID_STRING as STRING, ID_TWICE as TWICE,
    MAX_DEPTH as DEEPEST, NUMBER_RANGE as RANGE, UTF8, VALID as FINE, Checked, Scan
)
from .text cimport copy_ascii, copy_escaped, copy_plain

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


cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    bint PyUnicode_IS_COMPACT_ASCII(object text) noexcept
    void* PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept
    int PyUnicode_KIND(object text) noexcept
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1

cdef enum:
    NUMBER = 32    # maximum bytes of a number, with a comma
    DELETE = 0x7F

cdef str ID = "_id"


cdef int put_text(Output* output, object text) except -1:
    """Append a string in quotes."""
    cdef Py_ssize_t size = 0
    cdef const uint8_t* data
    cdef uint8_t* out
    if PyUnicode_IS_COMPACT_ASCII(text):
        data, size = <const uint8_t*> PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)
    elif output.like_python:
        return _put_ascii(output, text)
    else:
        data = <const uint8_t*> PyUnicode_AsUTF8AndSize(text, &size)
    if size + 2 > output.capacity - output.size:
        grow(output, size + 2)
    out = output.data + output.size
    out[0] = c'"'
    if copy_plain(out + 1, data, size, DELETE) if output.like_python else copy_plain(out + 1, data, size, c'"'):
        out[size + 1] = c'"'
        output.size += size + 2
        return 0
    if output.like_python:
        return _put_ascii(output, text)
    grow(output, 6 * size + 2)
    out = copy_escaped(output.data + output.size + 1, data, size)
    out[0] = c'"'
    output.size = out + 1 - output.data
    return 0


cdef int _put_ascii(Output* output, object text) except -1:
    """Append a string in quotes, with escapes for all characters except printable ASCII."""
    cdef Py_ssize_t size = PyUnicode_GET_LENGTH(text)
    cdef uint8_t* out
    grow(output, (12 if PyUnicode_KIND(text) == 4 else 6) * size + 2)
    out = output.data + output.size
    out[0] = c'"'
    out = copy_ascii(out + 1, PyUnicode_KIND(text), PyUnicode_DATA(text), size)
    out[0] = c'"'
    output.size = out + 1 - output.data
    return 0


cdef int put_int64(Output* output, int64_t value) except -1:
    """Append an integer."""
    grow(output, NUMBER)
    output.size = put_integer(output.data + output.size, value) - output.data
    return 0


cdef int _put_integer(Output* output, object value) except -1:
    cdef int overflow = 0
    cdef long long small = PyLong_AsLongLongAndOverflow(value, &overflow)
    cdef bytes digits
    if overflow:
        digits = int.__repr__(value).encode()
        return put_bytes(output, PyBytes_AS_STRING(digits), PyBytes_GET_SIZE(digits))
    return put_int64(output, small)


cdef int _put_float(Output* output, double value) except -1:
    cdef uint8_t* end
    if not isfinite(value):
        return _put_constant(output, value)
    grow(output, NUMBER)
    end = put_number(output.data + output.size, value, False)
    if end != NULL:
        output.size = end - output.data
        return 0
    return put_by_python(output, value)


cdef int _put_constant(Output* output, double value) except -1:
    if not output.like_python:
        raise ValueError(f"JSON has no number {value!r}")
    if isnan(value):
        return put_bytes(output, "NaN", 3)
    return put_bytes(output, "Infinity", 8) if value > 0 else put_bytes(output, "-Infinity", 9)


cdef inline int _put_mark(Output* output, uint8_t mark) except -1:
    """Append a comma or colon."""
    return put_bytes(output, ", " if mark == c"," else ": ", 2) if output.like_python else put_byte(output, mark)


cdef int _deeper(int depth) except -1:
    if depth >= DEEPEST:
        raise ValueError(f"found more than {DEEPEST} nested dicts and lists")
    return 0


cdef int put_name(Output* output, object name, bint is_first) except -1:
    """Append a comma, unless the member is the first, then its name and a colon."""
    if not isinstance(name, str):
        raise TypeError(f"found the key {name!r} of type {type(name).__name__}, expected str")
    if not is_first:
        _put_mark(output, c",")
    put_text(output, name)
    return _put_mark(output, c":")


cdef inline bint _is_id(object key) except -1:
    return key is ID or (isinstance(key, str) and PyUnicode_GET_LENGTH(key) == 3 and key == ID)


cdef int put_items(Output* output, dict items, int depth, bint is_document) except -1:
    """Append the items of a dict and its closing brace. `_id` of a document is skipped: it was written first."""
    cdef object key, value
    cdef bint first = not is_document
    for key, value in items.items():
        if is_document and _is_id(key):
            continue
        put_name(output, key, first)
        first = False
        put_value(output, value, depth)
    return put_byte(output, c"}")


cdef int _put_list(Output* output, object values, int depth) except -1:
    cdef object value
    cdef bint first = True
    _deeper(depth)
    put_byte(output, c"[")
    if type(values) is list:
        for value in <list> values:
            if not first:
                _put_mark(output, c",")
            first = False
            put_value(output, value, depth + 1)
    else:
        for value in tuple(values):
            if not first:
                _put_mark(output, c",")
            first = False
            put_value(output, value, depth + 1)
    return put_byte(output, c"]")


cdef int put_value(Output* output, object value, int depth) except -1:
    """Append a value; `depth` is the number of dicts and lists around it."""
    cdef object kind = type(value)
    if kind is str:
        return put_text(output, value)
    if kind is int:
        return _put_integer(output, value)
    if kind is float:
        return _put_float(output, PyFloat_AS_DOUBLE(value))
    if value is None:
        return put_bytes(output, "null", 4)
    if value is True:
        return put_bytes(output, "true", 4)
    if value is False:
        return put_bytes(output, "false", 5)
    if kind is dict:
        _deeper(depth)
        put_byte(output, c"{")
        return put_items(output, value, depth + 1, False)
    if kind is list or kind is tuple:
        return _put_list(output, value, depth)
    return _put_other(output, value, depth)


cdef int _put_other(Output* output, object value, int depth) except -1:
    """Append a value of a subclass, or a value that the fallback converts."""
    if isinstance(value, str):
        return put_text(output, value)
    if isinstance(value, int):
        return _put_integer(output, value)
    if isinstance(value, float):
        return _put_float(output, PyFloat_AS_DOUBLE(value))
    if isinstance(value, dict):
        return put_value(output, dict(value.items()), depth)
    if isinstance(value, (list, tuple)):
        return _put_list(output, value, depth)
    if <object> output.fallback is None:
        raise TypeError(f"JSON cannot represent {value!r} of type {type(value).__name__}")
    _deeper(depth)
    return put_value(output, (<object> output.fallback)(value), depth + 1)


def dumps(object value, object fallback=None, bint like_python=False):
    """Return a value as JSON text, in UTF-8.

    Parameters
    ----------
    value : object
        It consists of str, int, float, bool, None, dict, list and tuple, and of values that `fallback` converts.
    fallback : callable, optional
        Takes a value of another type, and returns a value to write in its place, or raises TypeError.
    like_python : bool
        Whether to write the text of `json.dumps`.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        For NaN, an infinity or half a surrogate pair, unless `like_python` is true. For more than MAX_DEPTH nested
        dicts and lists.
    TypeError
        For a key that is not str, or a value of another type.
    """
    cdef Output output = Output(NULL, 0, 0, <PyObject*> fallback, like_python)
    try:
        put_value(&output, value, 0)
        return PyBytes_FromStringAndSize(<const char*> output.data, output.size)
    finally:
        PyMem_RawFree(output.data)
