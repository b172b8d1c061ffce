"""From lines of JSON to a table of their ids."""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from .entries cimport LONGEST_ID, Entry
from .ids cimport tag_of
from .id_rule cimport usual_id
from ..json.check cimport begin, check_next
from ..json.check import FAULTS
from ..json.scan cimport (
    BLANK as BLANK_LINE, CR, ID_ESCAPED, ID_FOUND, ID_STRING, ID_TWICE as TWICE, NUMBER_RANGE as RANGE, VALID, Checked,
    Scan
)
from ..json.unescape cimport unescape
from .zdx cimport Table

cdef enum:
    BATCH = 1024  # lines that are checked before the table gets them
    AHEAD = 8     # lines whose slots are fetched before they are needed

BLANK = BLANK_LINE
BOM = 32
CRLF = 33
NO_NEWLINE = 34
SUPERSEDED = 35
UNUSUAL_ID = 36
ESCAPED_ID = 37
NUMBER_RANGE = 38
ID_TWICE = 48
NO_ID = 49
ID_NOT_STRING = 50
ID_EMPTY = 51
ID_TOO_LONG = 52
LINE_TOO_LONG = 53

REMARKS = frozenset((BLANK, BOM, CRLF, NO_NEWLINE, SUPERSEDED, UNUSUAL_ID, ESCAPED_ID, NUMBER_RANGE))

KINDS = FAULTS | {
    BOM: "a byte order mark",
    CRLF: "a carriage return at the end",
    NO_NEWLINE: "no line feed at the end",
    SUPERSEDED: "an id that an earlier line has",
    UNUSUAL_ID: "an id with unusual characters",
    ESCAPED_ID: "an id that is written with escapes",
    NUMBER_RANGE: "a number outside of the range of 64 bits",
    ID_TWICE: "the key _id comes twice",
    NO_ID: "no _id",
    ID_NOT_STRING: "the _id is not a string",
    ID_EMPTY: "the _id is empty",
    ID_TOO_LONG: f"the _id is longer than {LONGEST_ID} bytes",
    LINE_TOO_LONG: "a line of 4 GiB or more",
}


cdef struct Plain:
    const uint8_t* start
    uint32_t size, id_start
    uint16_t id_size
    uint32_t tag


cdef Py_ssize_t _plain_lines(
    Scan* s, Plain* lines, Py_ssize_t room, uint32_t ignored, Checked* odd, const uint8_t** at
) noexcept nogil:
    """Check lines until there is no more room, or one is not plain: it is left in `odd` and begins at `at`."""
    cdef const uint8_t* start
    cdef Py_ssize_t n = 0
    at[0] = NULL
    while n < room and s.p < s.end:
        start = s.p
        check_next(s, odd)
        if (
            odd.status != VALID or odd.flags & ~ignored != ID_FOUND | ID_STRING or odd.size >= <uint32_t> -1
            or (s.p - 1)[0] != 10 or not usual_id(start + odd.id_start, odd.id_size)
        ):
            at[0] = start
            return n
        lines[n] = Plain(
            start, <uint32_t> (s.p - start), <uint32_t> odd.id_start, <uint16_t> odd.id_size,
            tag_of(start + odd.id_start, odd.id_size)
        )
        n += 1
    return n


cdef int _odd_line(
    Table table, list found, const Checked* odd, const uint8_t* start, Py_ssize_t size, uint64_t base
) except -1:
    """Say what is odd about a line, and add it to the table, if there is one, all the same if that can be."""
    cdef Entry entry
    cdef bytearray room
    cdef uint8_t[::1] decoded
    cdef uint64_t id_at = base + odd.id_start
    if start[size - 1] != 10:
        found.append((NO_NEWLINE, base, size, base + size))
    if odd.status != VALID:
        found.append((odd.status, base, size, base + odd.error))
        return 0
    if odd.flags & CR:
        found.append((CRLF, base, size, base + odd.size - 1))
    if odd.flags & RANGE:
        found.append((NUMBER_RANGE, base, size, base))
    if not odd.flags & ID_FOUND:
        found.append((NO_ID, base, size, base))
        return 0
    entry = Entry(start + odd.id_start, odd.id_size, base, <uint32_t> size)
    if odd.flags & ID_ESCAPED:
        room = bytearray(odd.id_size)
        decoded = room
        entry.size = unescape(entry.id, odd.id_size, &decoded[0])
        entry.id = &decoded[0]
        found.append((ESCAPED_ID, base, size, id_at))
    if odd.flags & TWICE:
        found.append((ID_TWICE, base, size, id_at))
    elif not odd.flags & ID_STRING:
        found.append((ID_NOT_STRING, base, size, id_at))
    elif entry.size == 0:
        found.append((ID_EMPTY, base, size, id_at))
    elif entry.size > LONGEST_ID:
        found.append((ID_TOO_LONG, base, size, id_at))
    elif size > <uint32_t> -1:
        found.append((LINE_TOO_LONG, base, size, base))
    else:
        if not usual_id(entry.id, entry.size):
            found.append((UNUSUAL_ID, base, size, id_at))
        if table is not None:
            _add(table, found, &entry, tag_of(entry.id, entry.size))
    return 0


cdef int _add(Table table, list found, const Entry* entry, uint32_t tag) except -1:
    cdef Py_ssize_t older = table.add_entry(entry, tag)
    if older >= 0 and found is not None:
        found.append((SUPERSEDED, entry.offset, entry.length, table.at(older).offset))
    return 0


cdef int _add_plain(Table table, list found, const Plain* lines, Py_ssize_t n, int64_t shift) except -1:
    cdef Entry entry
    cdef Py_ssize_t i
    table.expect(n)
    for i in range(min(n, AHEAD)):
        table.fetch(lines[i].tag)
    for i in range(n):
        if i + AHEAD < n:
            table.fetch(lines[i + AHEAD].tag)
        entry = Entry(
            lines[i].start + lines[i].id_start, lines[i].id_size, <uint64_t> (<int64_t> lines[i].start + shift),
            lines[i].size
        )
        _add(table, found, &entry, lines[i].tag)
    return 0


def add_lines(Table table not None, const uint8_t[::1] data not None, uint64_t base, bint whole, bint strict=False):
    """Check lines, and add the ids of those that are documents to a table.

    Parameters
    ----------
    table : Table
        What to add to.
    data : (size,) uint8
        Lines, of which the first begins at the first byte.
    base : int
        Where they are in their file, in bytes.
    whole : bool
        Whether the file ends with them; else a last line without a line feed is left.
    strict : bool
        Whether to stop at the first line that is odd, and to add nothing at all then. Nothing is said of numbers and of
        earlier lines with the same id.

    Returns
    -------
    consumed : int
        The bytes that were looked at: up to the end of a line. 0 if `strict` found something.
    found : list of tuple of int
        What is wrong or odd, in file order: its kind, a key of KINDS; offset and length of the line, and the place, all
        in bytes of the file. The place is that of the error in the line, or for SUPERSEDED the offset of the
        earlier line. A line with a kind that is not in REMARKS was not added.
    """
    cdef Py_ssize_t size = data.shape[0], n = 0, more, room = BATCH
    cdef const uint8_t* p = &data[0] if size else NULL
    cdef const uint8_t* at = NULL
    cdef Plain* lines = NULL
    cdef Plain* more_lines
    cdef int64_t shift = <int64_t> base - <int64_t> p
    cdef list found = []
    cdef Scan s
    cdef Checked odd
    while not whole and size and p[size - 1] != 10:
        size -= 1
    begin(&s, p, size)
    if base == 0 and size >= 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
        found.append((BOM, 0, 3, 0))
        if strict:
            return 0, found
        begin(&s, p + 3, size - 3)
    try:
        while s.p < s.end:
            if lines == NULL or n + BATCH > room:
                room *= 2
                more_lines = <Plain*> PyMem_RawRealloc(lines, room * sizeof(Plain))
                if more_lines == NULL:
                    raise MemoryError
                lines = more_lines
            with nogil:
                more = _plain_lines(&s, lines + n, BATCH, RANGE if strict else 0, &odd, &at)
            n += more
            if strict and at != NULL:
                _odd_line(None, found, &odd, at, s.p - at, <uint64_t> (<int64_t> at + shift))
                return 0, found
            if not strict:
                _add_plain(table, found, lines, n, shift)
                n = 0
                if at != NULL:
                    _odd_line(table, found, &odd, at, s.p - at, <uint64_t> (<int64_t> at + shift))
        _add_plain(table, None, lines, n, shift)
    finally:
        PyMem_RawFree(lines)
    return size, found
