"""Documents → lines of JSON, one after another in a buffer; lines of JSON → a table of their ids."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItemWithError
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..common.output cimport Output, grow
from ..json.values cimport begin, check_next
from ..json.scan cimport (
    BLANK as BLANK_LINE, CR, ID_ESCAPED, ID_FOUND, ID_STRING, ID_TWICE as TWICE, NUMBER_RANGE as RANGE, VALID,
    Checked, Scan
)
from ..json.unescape cimport unescape
from ..json.values cimport put_items
from .entries cimport MAX_ID_SIZE, Entry, usual_id
from .zdx cimport Table, tag_of

from ..json.values import FAULTS

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object text) noexcept
    void* PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept

cdef enum:
    START = 8  # bytes of `{"_id":"`

cdef str ID = "_id"


@cython.final
cdef class Encoder:
    """A buffer of lines, each a document as compact JSON: `_id` first, then the other items in their order.

    It is a bytes-like object, which can be written without a copy. While a view of its bytes exists, adding a document
    is an error.

    Parameters
    ----------
    fallback : callable, optional
        Takes a value that is not str, int, float, bool, None, dict, list or tuple, and returns a value to write in its
        place, or raises TypeError.

    Attributes
    ----------
    size : int
        Bytes in the buffer.
    """

    cdef Output output
    cdef object fallback
    cdef Py_ssize_t n_views
    cdef bint busy

    def __cinit__(self, object fallback=None):
        self.fallback = fallback
        self.output.fallback = <PyObject*> fallback

    def __dealloc__(self):
        PyMem_RawFree(self.output.data)

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self.busy:
            raise BufferError("a document is being added")
        if self.output.data == NULL:
            grow(&self.output, 1)
        PyBuffer_FillInfo(view, self, self.output.data, self.output.size, True, flags)
        self.n_views += 1

    def __releasebuffer__(self, Py_buffer* view):
        self.n_views -= 1

    def __buffer__(self, int flags):
        return memoryview(self)

    def __len__(self):
        return self.output.size

    @property
    def size(self):
        """Bytes in the buffer."""
        return self.output.size

    cdef int check(self) except -1:
        if self.n_views or self.busy:
            raise BufferError("the buffer is in use")
        return 0

    cdef Py_ssize_t put(self, object id, object document) except -1:
        """Append the line of a document, and return the size of its id. After an error, the buffer is unchanged."""
        cdef Py_ssize_t start = self.output.size, size
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
            grow(&self.output, START + size + 1)
            memcpy(self.output.data + start, b'{"_id":"', START)
            memcpy(self.output.data + start + START, PyUnicode_DATA(id), size)
            self.output.data[start + START + size] = c'"'
            self.output.size = start + START + size + 1
            put_items(&self.output, items, 1, True)
            grow(&self.output, 1)
            self.output.data[self.output.size] = c"\n"
            self.output.size += 1
            if self.output.size - start > <uint32_t> -1:
                raise ValueError(f"found {self.output.size - start} bytes, expected at most {<uint32_t> -1} for a line")
        except BaseException:
            self.output.size = start
            raise
        finally:
            self.busy = False
        return size

    def add(self, str id, object document not None):
        """Append the line of a document.

        Parameters
        ----------
        id : str or None
            Its id. None: the id is an item of the document.
        document : dict
            Its items. If it has `_id`, this must equal the id.

        Returns
        -------
        tuple of int
            Start and length of the line in the buffer, in bytes, with its line feed.

        Raises
        ------
        ValueError
            If the id is invalid or missing, or differs from `_id` in the document, or if JSON cannot represent a value;
            see `json.values.dumps`. The buffer is unchanged.
        TypeError
            For a key that is not str, or a value of another type.
        BufferError
            If a view of the buffer exists.
        """
        cdef Py_ssize_t start = self.output.size
        self.put(id, document)
        return start, self.output.size - start

    def put_all(self, object documents not None, Table table not None, uint64_t base, Py_ssize_t limit):
        """Append the lines of documents, and add them to a table, until the buffer is full.

        Parameters
        ----------
        documents : iterator
            Yields dicts with `_id`, or pairs of id and dict.
        table : Table
            Output: the id and the position of each line.
        base : int
            Start of the buffer in the file, in bytes.
        limit : int
            Size of the buffer, in bytes, at which no more documents are taken.

        Returns
        -------
        count : int
            Number of documents that were added.
        done : bool
            Whether there are no more documents.

        Raises
        ------
        ValueError, TypeError, BufferError
            See `add`. Documents before the one that fails were added.
        """
        cdef Py_ssize_t count = 0, start, size
        cdef object item
        cdef Entry entry
        if self.output.size >= limit:
            return 0, False
        for item in documents:
            start = self.output.size
            if type(item) is dict:
                size = self.put(None, item)
            elif isinstance(item, tuple) and len(<tuple> item) == 2:
                size = self.put(_given_id(item[0]), item[1])
            else:
                size = self.put(None, item)
            entry = Entry(self.output.data + start + START, size, base + start, <uint32_t> (self.output.size - start))
            try:
                table.add_entry(&entry, tag_of(entry.id, entry.size))
            except BaseException:
                self.output.size = start
                raise
            count += 1
            if self.output.size >= limit:
                return count, False
        return count, True

    def view(self, Py_ssize_t start, Py_ssize_t stop):
        """Return a copy of the bytes from `start` to `stop` - 1."""
        if not 0 <= start <= stop <= self.output.size:
            raise IndexError(f"no bytes {start} to {stop} among {self.output.size}")
        return PyBytes_FromStringAndSize(<const char*> self.output.data + start, stop - start)

    def clear(self):
        """Remove all lines, and keep the memory."""
        self.check()
        self.output.size = 0

    def take(self):
        """Return all lines, and remove them."""
        lines = self.view(0, self.output.size)
        self.clear()
        return lines


cdef object _given_id(object id):
    if id is None:
        raise ValueError("found the id None, expected str")
    return id


cdef enum:
    BATCH = 1024  # lines that are checked before they are added to the table
    AHEAD = 8     # lines whose slots are prefetched

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
    ID_TWICE: "the key _id occurs twice",
    NO_ID: "no _id",
    ID_NOT_STRING: "the _id is not a string",
    ID_EMPTY: "the _id is empty",
    ID_TOO_LONG: f"the _id is longer than {MAX_ID_SIZE} bytes",
    LINE_TOO_LONG: "a line of 4 GiB or more",
}


cdef struct Plain:
    const uint8_t* start
    uint32_t size, id_start
    uint16_t id_size
    uint32_t tag


cdef Py_ssize_t _plain_lines(
    Scan* s, Plain* lines, Py_ssize_t capacity, uint32_t ignored, Checked* odd, const uint8_t** at
) noexcept nogil:
    """Check lines, until `capacity` of them are plain, or one is not. Output: this one, `odd`, and its start, `at`."""
    cdef const uint8_t* start
    cdef Py_ssize_t n = 0
    at[0] = NULL
    while n < capacity and s.p < s.end:
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
    Table table, list remarks, const Checked* odd, const uint8_t* start, Py_ssize_t size, uint64_t base
) except -1:
    """Append the remarks about a line. If it is a document nevertheless, add it to the table, unless this is None."""
    cdef Entry entry
    cdef bytearray memory
    cdef uint8_t[::1] decoded
    cdef uint64_t id_at = base + odd.id_start
    if start[size - 1] != 10:
        remarks.append((NO_NEWLINE, base, size, base + size))
    if odd.status != VALID:
        remarks.append((odd.status, base, size, base + odd.error))
        return 0
    if odd.flags & CR:
        remarks.append((CRLF, base, size, base + odd.size - 1))
    if odd.flags & RANGE:
        remarks.append((NUMBER_RANGE, base, size, base))
    if not odd.flags & ID_FOUND:
        remarks.append((NO_ID, base, size, base))
        return 0
    entry = Entry(start + odd.id_start, odd.id_size, base, <uint32_t> size)
    if odd.flags & ID_ESCAPED:
        memory = bytearray(odd.id_size)
        decoded = memory
        entry.size = unescape(entry.id, odd.id_size, &decoded[0])
        entry.id = &decoded[0]
        remarks.append((ESCAPED_ID, base, size, id_at))
    if odd.flags & TWICE:
        remarks.append((ID_TWICE, base, size, id_at))
    elif not odd.flags & ID_STRING:
        remarks.append((ID_NOT_STRING, base, size, id_at))
    elif entry.size == 0:
        remarks.append((ID_EMPTY, base, size, id_at))
    elif entry.size > MAX_ID_SIZE:
        remarks.append((ID_TOO_LONG, base, size, id_at))
    elif size > <uint32_t> -1:
        remarks.append((LINE_TOO_LONG, base, size, base))
    else:
        if not usual_id(entry.id, entry.size):
            remarks.append((UNUSUAL_ID, base, size, id_at))
        if table is not None:
            _add(table, remarks, &entry, tag_of(entry.id, entry.size))
    return 0


cdef int _add(Table table, list remarks, const Entry* entry, uint32_t tag) except -1:
    cdef Py_ssize_t older = table.add_entry(entry, tag)
    if older >= 0 and remarks is not None:
        remarks.append((SUPERSEDED, entry.offset, entry.length, table.at(older).offset))
    return 0


cdef int _add_plain(Table table, list remarks, const Plain* lines, Py_ssize_t n, int64_t shift) except -1:
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
        _add(table, remarks, &entry, lines[i].tag)
    return 0


def add_lines(Table table not None, const uint8_t[::1] data not None, uint64_t base, bint whole, bint strict=False):
    """Check lines, and add the ids of those that are documents to a table.

    Parameters
    ----------
    table : Table
        The table, to which ids are added.
    data : (size,) uint8
        Lines. The first one begins at the first byte.
    base : int
        Position of the first line in the file, in bytes.
    whole : bool
        Whether the file ends with these lines. Otherwise, a last line without a line feed is not read.
    strict : bool
        Whether to stop at the first odd line, without adding any line. Then numbers, and earlier lines with the same
        id, are not reported.

    Returns
    -------
    consumed : int
        The bytes that were checked, up to the end of a line. 0 if `strict` stopped.
    remarks : list of tuple of int
        Faults and remarks in file order. Each has its kind (a key of KINDS), offset and length of the line, and a
        position, all in bytes of the file. The position is that of the fault, or of the earlier line for SUPERSEDED. If
        the kind is not in REMARKS, the line was not added.
    """
    cdef Py_ssize_t size = data.shape[0], n = 0, more, capacity = BATCH
    cdef const uint8_t* p = &data[0] if size else NULL
    cdef const uint8_t* at = NULL
    cdef Plain* lines = NULL
    cdef Plain* more_lines
    cdef int64_t shift = <int64_t> base - <int64_t> p
    cdef list remarks = []
    cdef Scan s
    cdef Checked odd
    while not whole and size and p[size - 1] != 10:
        size -= 1
    begin(&s, p, size)
    if base == 0 and size >= 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
        remarks.append((BOM, 0, 3, 0))
        if strict:
            return 0, remarks
        begin(&s, p + 3, size - 3)
    try:
        while s.p < s.end:
            if lines == NULL or n + BATCH > capacity:
                capacity *= 2
                more_lines = <Plain*> PyMem_RawRealloc(lines, capacity * sizeof(Plain))
                if more_lines == NULL:
                    raise MemoryError
                lines = more_lines
            with nogil:
                more = _plain_lines(&s, lines + n, BATCH, RANGE if strict else 0, &odd, &at)
            n += more
            if strict and at != NULL:
                _odd_line(None, remarks, &odd, at, s.p - at, <uint64_t> (<int64_t> at + shift))
                return 0, remarks
            if not strict:
                _add_plain(table, remarks, lines, n, shift)
                n = 0
                if at != NULL:
                    _odd_line(table, remarks, &odd, at, s.p - at, <uint64_t> (<int64_t> at + shift))
        _add_plain(table, None, lines, n, shift)
    finally:
        PyMem_RawFree(lines)
    return size, remarks
