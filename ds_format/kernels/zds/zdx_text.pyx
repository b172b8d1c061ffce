"""The index of ZDS as text, with `id TAB offset TAB length LF` for each line, the form of zippy's Python code."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

from .entries cimport FIXED, MAX_ID_SIZE, Entry, store_entry
from ..common.utf8 cimport utf8_size
from .zdx cimport Table

cdef enum:
    TAB = 9
    LF = 10
    MAX_DIGITS = 18        # digits of a number that always fits into a uint64
    SEPARATORS = 3         # bytes of a line without the id and the digits
    MIN_FIXED = 5          # minimum bytes of a line without the id
    SHOWN = 60             # bytes of a faulty line in a message


cdef Py_ssize_t _n_digits(uint64_t number) noexcept nogil:
    cdef Py_ssize_t n = 1
    while number >= 10:
        number //= 10
        n += 1
    return n


cdef uint8_t* _store_number(uint8_t* p, uint64_t number, uint8_t separator) noexcept nogil:
    """Store digits and a separator, and return a pointer to their end."""
    cdef uint8_t* end = p + _n_digits(number)
    p = end
    while True:
        p -= 1
        p[0] = 48 + <uint8_t> (number % 10)
        number //= 10
        if number == 0:
            break
    end[0] = separator
    return end + 1


cdef bint _begins_with_blank(const uint8_t* id, Py_ssize_t size) noexcept nogil:
    """Return whether an id in UTF-8 begins with Unicode white space. ASCII control characters are not checked here."""
    cdef uint8_t a = id[0], b = id[1] if size > 1 else 0, c = id[2] if size > 2 else 0
    if a < 0x80:
        return a == 0x20
    if a == 0xC2:
        return b == 0x85 or b == 0xA0
    if a == 0xE2 and b == 0x80:
        return c <= 0x8A or c == 0xA8 or c == 0xA9 or c == 0xAF
    return (a == 0xE1 and b == 0x9A and c == 0x80) or (a == 0xE2 and b == 0x81 and c == 0x9F) or (
        a == 0xE3 and b == 0x80 and c == 0x80
    )


cdef bint _fits(const Entry* entry) noexcept nogil:
    """Return whether an id does not change when a reader splits lines and strips white space."""
    cdef Py_ssize_t i
    for i in range(entry.size):
        if entry.id[i] < 0x20:
            return False
    return not _begins_with_blank(entry.id, entry.size)


def encode(Table table not None):
    """Sort a table, and return the index file as text, with its lines in file order.

    Returns
    -------
    bytes or None
        None if an id cannot be part of a line: it has a control character, or begins with white space.
    """
    cdef Py_ssize_t i, size = 0
    cdef Entry entry
    cdef bytes data
    cdef uint8_t* p
    table.sort()
    with nogil:
        for i in range(table.n):
            entry = table.at(i)
            if not _fits(&entry):
                size = -1
                break
            size += entry.size + _n_digits(entry.offset) + _n_digits(entry.length) + SEPARATORS
    if size < 0:
        return None
    data = PyBytes_FromStringAndSize(NULL, size)
    p = <uint8_t*> PyBytes_AS_STRING(data)
    with nogil:
        for i in range(table.n):
            entry = table.at(i)
            memcpy(p, entry.id, entry.size)
            p += entry.size
            p[0] = TAB
            p = _store_number(p + 1, entry.offset, TAB)
            p = _store_number(p, entry.length, LF)
    return data


cdef inline const uint8_t* _take_number(
    const uint8_t* p, const uint8_t* stop, uint8_t separator, uint64_t* number
) noexcept nogil:
    """Read digits and a separator; return a pointer to their end, or NULL if other bytes are there."""
    cdef const uint8_t* start = p
    cdef uint64_t value = 0
    while p < stop and <uint8_t> (p[0] - 48) <= 9:
        value = 10 * value + (p[0] - 48)
        p += 1
    number[0] = value
    return p + 1 if 0 < p - start <= MAX_DIGITS and p < stop and p[0] == separator else NULL


cdef inline const uint8_t* _take_line(
    const uint8_t* p, const uint8_t* stop, Entry* entry, uint64_t* length
) noexcept nogil:
    """Read a line; return a pointer to the next one, or NULL if it is not a line of an index."""
    cdef const uint8_t* at = <const uint8_t*> memchr(p, TAB, stop - p)
    if at == NULL or not 0 < at - p <= MAX_ID_SIZE:
        return NULL
    entry.id, entry.size = p, at - p
    at = _take_number(at + 1, stop, TAB, &entry.offset)
    if at == NULL:
        return NULL
    return _take_number(at, stop, LF, length)


cdef const char* _fault(const Entry* entry, uint64_t length, uint64_t data_size) noexcept nogil:
    """Return the fault of an entry, or NULL."""
    if utf8_size(entry.id, entry.size) < entry.size:
        return "found an id that is not UTF-8"
    if not 0 < length <= <uint32_t> -1:
        return "found a length of 0, or of 4 GiB or more"
    if entry.offset > data_size or length > data_size - entry.offset:
        return "found a line beyond the end of the data"
    return NULL


def decode(const uint8_t[::1] data not None, uint64_t data_size):
    """Return the table of a text index file.

    Parameters
    ----------
    data : (size,) uint8
        The file.
    data_size : int
        Bytes of the file that has the documents.

    Raises
    ------
    ValueError
        If the file is not such an index, or an entry is invalid. The message has its line.
    """
    cdef Table table = Table()
    cdef Py_ssize_t i, size = data.shape[0], n = 0
    cdef const uint8_t* p = &data[0] if size else NULL
    cdef const uint8_t* stop = p + size
    cdef const uint8_t* following
    cdef const char* fault = NULL
    cdef uint64_t length = 0
    cdef Entry entry
    with nogil:
        for i in range(size):
            n += p[i] == LF
    table.reserve(n, size + n * (FIXED - MIN_FIXED))
    with nogil:
        while p < stop:
            following = _take_line(p, stop, &entry, &length)
            if following == NULL:
                fault = "expected an id, an offset and a length"
            else:
                fault = _fault(&entry, length, data_size)
            if fault != NULL:
                break
            entry.length = <uint32_t> length
            store_entry(table.own + table.own_size, &entry)
            table.append(table.base_size + table.own_size, &entry)
            table.own_size += FIXED + entry.size
            p = following
    if fault != NULL:
        line = (<const char*> p)[:min(stop - p, SHOWN)].split(b"\n")[0]
        raise ValueError(f"line {table.n + 1}: {fault.decode()}, in {line!r}")
    return table
