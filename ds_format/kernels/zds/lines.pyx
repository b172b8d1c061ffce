"""Documents → lines of JSON, one after another in a buffer; lines of JSON → a table of their ids."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItemWithError
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..common.room cimport Room, make_room
from ..json.check cimport begin, check_next
from ..json.scan cimport (
    BLANK as BLANK_LINE, CR, ID_ESCAPED, ID_FOUND, ID_STRING, ID_TWICE as TWICE, NUMBER_RANGE as RANGE, VALID,
    Checked, Scan
)
from ..json.unescape cimport unescape
from ..json.values cimport put_items
from .entries cimport LONGEST_ID, Entry, usual_id
from .zdx cimport Table, tag_of

from ..json.check import FAULTS

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object text) noexcept
    void* PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept

cdef enum:
    START = 8  # bytes of `{"_id":"`

cdef str ID = "_id"


@cython.final
cdef class Encoder:
    """A buffer of lines, each a document as JSON: compact, `_id` first, then the items in their order.

    It can be written as it is, because it is a bytes-like object. As long as something holds its bytes, nothing can be
    added.

    Parameters
    ----------
    fallback : callable, optional
        Gets a value that is not str, int, float, bool, None, dict, list or tuple, and returns what is to be
        written in its place, or raises TypeError.

    Attributes
    ----------
    size : int
        Bytes in the buffer.
    """

    cdef Room room
    cdef object fallback
    cdef Py_ssize_t n_views
    cdef bint busy

    def __cinit__(self, object fallback=None):
        self.fallback = fallback
        self.room.fallback = <PyObject*> fallback

    def __dealloc__(self):
        PyMem_RawFree(self.room.data)

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.busy:
            raise BufferError("a document is being added")
        if self.room.data == NULL:
            make_room(&self.room, 1)
        PyBuffer_FillInfo(view, self, self.room.data, self.room.size, True, flags)
        self.n_views += 1

    def __releasebuffer__(self, Py_buffer* view):
        self.n_views -= 1

    def __buffer__(self, int flags):
        return memoryview(self)

    def __len__(self):
        return self.room.size

    @property
    def size(self):
        """Bytes in the buffer."""
        return self.room.size

    cdef int check(self) except -1:
        if self.n_views or self.busy:
            raise BufferError("the buffer is in use")
        return 0

    cdef Py_ssize_t put(self, object id, object document) except -1:
        """Append the line of a document, and return the size of its id; if that fails, all is as before."""
        cdef Py_ssize_t start = self.room.size, size
        cdef PyObject* own
        cdef dict items
        self.check()
        if type(document) is dict:
            items = <dict> document
        elif isinstance(document, dict):
            items = dict(document.items())
        else:
            raise TypeError(f"found a document of type {type(document).__name__}, expected dict")
        own = PyDict_GetItemWithError(items, ID)
        if id is None:
            if own == NULL:
                raise ValueError("found a document without _id")
            id = <object> own
        elif own != NULL and <object> own is not id and (type(<object> own) is not str or <object> own != id):
            raise ValueError(f"found the _id {<object> own!r} in the document with the id {id!r}")
        if not isinstance(id, str) or not PyUnicode_IS_COMPACT_ASCII(id) or not usual_id(
            <const uint8_t*> PyUnicode_DATA(id), PyUnicode_GET_LENGTH(id)
        ):
            raise ValueError(
                f"found the id {id!r}, expected 1 to 255 of A-Z a-z 0-9 _ - and ., no .. and no . at the start"
            )
        size = PyUnicode_GET_LENGTH(id)
        self.busy = True
        try:
            make_room(&self.room, START + size + 1)
            memcpy(self.room.data + start, b'{"_id":"', START)
            memcpy(self.room.data + start + START, PyUnicode_DATA(id), size)
            self.room.data[start + START + size] = c'"'
            self.room.size = start + START + size + 1
            put_items(&self.room, items, 1, True)
            make_room(&self.room, 1)
            self.room.data[self.room.size] = c"\n"
            self.room.size += 1
            if self.room.size - start > <uint32_t> -1:
                raise ValueError(f"found {self.room.size - start} bytes, expected at most {<uint32_t> -1} for a line")
        except BaseException:
            self.room.size = start
            raise
        finally:
            self.busy = False
        return size

    def add(self, str id, object document not None):
        """Append the line of a document.

        Parameters
        ----------
        id : str or None
            Its id; None: the document has one.
        document : dict
            Its items. If `_id` is one of them it must be the id.

        Returns
        -------
        tuple of int
            Where the line is in the buffer: start, and length with its line feed, in bytes.

        Raises
        ------
        ValueError
            If the id is not as ids are, is missing or not that of the document, or for a value that JSON
            has not: see `json.values.dumps`. The buffer is as before.
        TypeError
            For a key that is not str, or a value of another type.
        BufferError
            If something holds the bytes of the buffer.
        """
        cdef Py_ssize_t start = self.room.size
        self.put(id, document)
        return start, self.room.size - start

    def put_all(self, object documents not None, Table table not None, uint64_t base, Py_ssize_t limit):
        """Append the lines of documents, and add them to a table, until the buffer is full.

        Parameters
        ----------
        documents : iterator
            Of dicts with `_id`, or pairs of id and dict.
        table : Table
            Gets the id and the place of each line.
        base : int
            Where the buffer begins in the file, in bytes.
        limit : int
            Bytes of the buffer from which on no more documents are taken.

        Returns
        -------
        count : int
            How many documents were added.
        done : bool
            Whether there are no more.

        Raises
        ------
        ValueError, TypeError, BufferError
            As `add` does. The documents before the one that fails have been added.
        """
        cdef Py_ssize_t count = 0, start, size
        cdef object item
        cdef Entry entry
        if self.room.size >= limit:
            return 0, False
        for item in documents:
            start = self.room.size
            if type(item) is dict:
                size = self.put(None, item)
            elif isinstance(item, tuple) and len(<tuple> item) == 2:
                size = self.put(_given_id(item[0]), item[1])
            else:
                size = self.put(None, item)
            entry = Entry(self.room.data + start + START, size, base + start, <uint32_t> (self.room.size - start))
            try:
                table.add_entry(&entry, tag_of(entry.id, entry.size))
            except BaseException:
                self.room.size = start
                raise
            count += 1
            if self.room.size >= limit:
                return count, False
        return count, True

    def view(self, Py_ssize_t start, Py_ssize_t stop):
        """Return a copy of the bytes from `start` to `stop` - 1."""
        if not 0 <= start <= stop <= self.room.size:
            raise IndexError(f"no bytes {start} to {stop} among {self.room.size}")
        return PyBytes_FromStringAndSize(<const char*> self.room.data + start, stop - start)

    def clear(self):
        """Forget all lines; the memory is kept."""
        self.check()
        self.room.size = 0

    def take(self):
        """Return all lines, and forget them."""
        lines = self.view(0, self.room.size)
        self.clear()
        return lines


cdef object _given_id(object id):
    if id is None:
        raise ValueError("found the id None, expected str")
    return id


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
