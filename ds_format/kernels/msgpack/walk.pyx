"""Steps over the values of msgpack, and strings of which any can be had, without making objects of the others."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from ..common.words cimport big_endian

cdef enum:
    MAX_DEPTH = 1024  # containers inside of one another, as the msgpack library reads

cdef enum:  # what may be wrong with a message
    SHORT = 1
    UNKNOWN = 2
    DEEP = 3
    ARRAY_KEY = 4


cdef struct Fault:
    int what
    Py_ssize_t at


cdef Py_ssize_t _fail(Fault* fault, int what, Py_ssize_t at) noexcept nogil:
    fault.what = what
    fault.at = at
    return -1


cdef Py_ssize_t _step(const uint8_t* p, Py_ssize_t size, Py_ssize_t at, uint64_t* items, Fault* fault) noexcept nogil:
    """Return where the header at a position ends, with its bytes if it has any; `items` gets the values it promises."""
    cdef uint8_t first
    cdef int width = 0
    cdef uint64_t length = 0
    cdef Py_ssize_t end
    items[0] = 0
    if at >= size:
        return _fail(fault, SHORT, at)
    first = p[at]
    end = at + 1
    if first < 0x80 or first >= 0xE0 or first == 0xC0 or first == 0xC2 or first == 0xC3:
        return end
    if first < 0x90:
        items[0] = 2 * <uint64_t> (first & 0x0F)
    elif first < 0xA0:
        items[0] = first & 0x0F
    elif first < 0xC0:
        length = first & 0x1F
    elif first == 0xC1:
        return _fail(fault, UNKNOWN, at)
    elif 0xCA <= first <= 0xCB:
        length = 4 << (first - 0xCA)
    elif 0xCC <= first <= 0xD3:
        length = 1 << ((first - 0xCC) & 3)
    elif 0xD4 <= first <= 0xD8:
        length = 1 + (1 << (first - 0xD4))
    else:
        if first < 0xC7:
            width = 1 << (first - 0xC4)
        elif first < 0xCA:
            width = 1 << (first - 0xC7)
        elif first < 0xDC:
            width = 1 << (first - 0xD9)
        else:
            width = 2 << (first & 1)
        if width > size - end:
            return _fail(fault, SHORT, at)
        length = big_endian(p + end, width)
        end += width
        if first >= 0xDE:
            items[0], length = 2 * length, 0
        elif first >= 0xDC:
            items[0], length = length, 0
        elif 0xC7 <= first <= 0xC9:
            length += 1
    if length > <uint64_t> (size - end) or items[0] > <uint64_t> (size - end):
        return _fail(fault, SHORT, at)
    return end + <Py_ssize_t> length


cdef inline bint _is_map(uint8_t first) noexcept nogil:
    return first & 0xF0 == 0x80 or first >= 0xDE and first <= 0xDF


cdef inline bint _is_array(uint8_t first) noexcept nogil:
    return first & 0xF0 == 0x90 or first == 0xDC or first == 0xDD


cdef Py_ssize_t _skip(const uint8_t* p, Py_ssize_t size, Py_ssize_t at, int64_t* key, Fault* fault) noexcept nogil:
    """Return where the message ends; `key` gets place and header of the last value under "key", if it is a map."""
    cdef uint64_t left[MAX_DEPTH]
    cdef bint is_map[MAX_DEPTH]
    cdef int depth = 0
    cdef uint64_t items = 0
    cdef Py_ssize_t start
    cdef bint takes_key = False, is_key
    cdef int header = 0
    key[0] = -1
    fault.what = 0
    while True:
        start = at
        at = _step(p, size, at, &items, fault)
        if at < 0:
            return -1
        is_key = depth > 0 and is_map[depth - 1] and left[depth - 1] & 1 == 0
        if is_key and _is_array(p[start]):
            _fail(fault, ARRAY_KEY, start)
        if depth == 1 and is_map[0]:
            if takes_key:
                key[0] = start
            takes_key = (
                is_key and at - start > 3 and memcmp(p + at - 3, b"key", 3) == 0
                and string_length(p + start, at - start, &header) == 3
            )
        if depth > 0:
            left[depth - 1] -= 1
        if items:
            if depth == MAX_DEPTH:
                return _fail(fault, DEEP, start)
            left[depth], is_map[depth] = items, _is_map(p[start])
            depth += 1
        while depth > 0 and left[depth - 1] == 0:
            depth -= 1
        if depth == 0:
            return at


def measure(const uint8_t[::1] data not None, Py_ssize_t start):
    """Measure the message at a position.

    Parameters
    ----------
    data : (size,) uint8
        Messages of msgpack.
    start : int
        Where it starts, in bytes.

    Returns
    -------
    tuple of int
        Where it ends; and 0. If it is wrong, where that is seen; and 1: it is cut off, 2: no type of msgpack, 3: nested
        too deeply, 4: an array as key of a map.
    """
    cdef Fault fault
    cdef int64_t key
    cdef Py_ssize_t end = -1
    if start < 0 or start >= data.shape[0]:
        return max(start, 0), SHORT
    with nogil:
        end = _skip(&data[0], data.shape[0], start, &key, &fault)
    if fault.what:
        return fault.at, fault.what
    return end, 0


def find_messages(
    const uint8_t[::1] data not None, Py_ssize_t start, int64_t[::1] ends not None, int64_t[::1] keys not None
):
    """Find messages one after another.

    Parameters
    ----------
    data : (size,) uint8
        Messages of msgpack.
    start : int
        Where the first one starts, in bytes.
    ends : (N,) int64
        Out: where each ends.
    keys : (N,) int64
        Out: where the value of the entry "key" starts, the header of a string; -1: there is none, or it is no string.

    Returns
    -------
    int
        How many were found: fewer than N if the data end, or one cannot be measured; `measure` then says why.
    """
    cdef Py_ssize_t n = min(ends.shape[0], keys.shape[0]), done = 0, at = max(start, 0)
    cdef int64_t key
    cdef int header = 0
    cdef Fault fault
    with nogil:
        while done < n and at < data.shape[0]:
            at = _skip(&data[0], data.shape[0], at, &key, &fault)
            if at < 0:
                break
            if key >= 0 and string_length(&data[key], at - key, &header) < 0:
                key = -1
            ends[done] = at
            keys[done] = key
            done += 1
    return done


cdef enum:
    STEP = 32  # strings from one known place to the next


cdef Py_ssize_t _survey(
    const uint8_t* p, Py_ssize_t size, Py_ssize_t n, int64_t* places, Py_ssize_t* end, int64_t* found
) noexcept nogil:
    """Store the place of every string whose number is a multiple of STEP; return n, or the number of a wrong one."""
    cdef Py_ssize_t i, at = 0
    cdef int64_t length
    cdef int header = 0
    for i in range(n):
        if i % STEP == 0:
            places[i // STEP] = at
        length = string_length(p + at, size - at, &header)
        if length < 0:
            end[0], found[0] = at, length
            return i
        at += header + length
    end[0] = at
    return n


@cython.final
cdef class Keys:
    """n strings of msgpack.

    Parameters
    ----------
    data : (size,) uint8
        The strings, and nothing behind them.
    n : int
        How many.
    places : (n // 32 + 1,) int64
        Working space, not to be used elsewhere.

    Raises
    ------
    ValueError
        If something is no string, or there are fewer or more; the message says where.
    """

    def __cinit__(self, const uint8_t[::1] data not None, Py_ssize_t n, int64_t[::1] places not None):
        cdef Py_ssize_t done, end = 0
        cdef int64_t found = 0
        if n < 0 or places.shape[0] != n // STEP + 1:
            raise ValueError(f"{places.shape[0]} places are wrong for {n} strings")
        self.view, self.places, self.n = data, places, n
        self.data = &data[0] if data.shape[0] else NULL
        with nogil:
            done = _survey(self.data, data.shape[0], n, &places[0], &end, &found)
        if done < n and found == NO_STRING:
            raise ValueError(f"entry {done} at byte {end}: found the type {data[end]:#04x}, expected a string")
        if done < n:
            raise ValueError(f"entry {done} at byte {end} of {data.shape[0]} is cut off")
        if end < data.shape[0]:
            raise ValueError(f"{data.shape[0] - end} bytes behind entry {n - 1}")

    cdef Py_ssize_t place(self, Py_ssize_t i) noexcept nogil:
        """Return where the header of a string is; the survey has checked all of them."""
        cdef Py_ssize_t at = self.places[i // STEP], _
        cdef int header = 0
        for _ in range(i % STEP):
            at += string_length(self.data + at, self.view.shape[0] - at, &header) + header
        return at

    cdef bint has(self, Py_ssize_t i, const char* string, Py_ssize_t size) noexcept nogil:
        """Return whether a string has these bytes."""
        cdef int header = 0
        cdef Py_ssize_t at = self.place(i)
        cdef int64_t length = string_length(self.data + at, self.view.shape[0] - at, &header)
        return length == size and memcmp(self.data + at + header, string, size) == 0

    cdef int check(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"no string {i} among {self.n}")
        return 0

    def get(self, Py_ssize_t i):
        """Return a string; UnicodeDecodeError if it is not UTF-8."""
        cdef int header = 0
        self.check(i)
        cdef Py_ssize_t at = self.place(i)
        cdef int64_t length = string_length(self.data + at, self.view.shape[0] - at, &header)
        return PyUnicode_DecodeUTF8(<const char*> self.data + at + header, length, NULL)

    def matches(self, Py_ssize_t i, bytes string not None):
        """Return whether a string has these bytes."""
        self.check(i)
        return self.has(i, PyBytes_AS_STRING(string), PyBytes_GET_SIZE(string))

    def encoded(self, Py_ssize_t start, Py_ssize_t stop):
        """Return the strings from `start` to `stop` - 1 as they are, with their headers."""
        if not 0 <= start <= stop <= self.n:
            raise IndexError(f"no strings {start} to {stop} among {self.n}")
        cdef Py_ssize_t first = self.place(start) if start < self.n else self.view.shape[0]
        cdef Py_ssize_t end = self.place(stop) if stop < self.n else self.view.shape[0]
        return PyBytes_FromStringAndSize(<const char*> self.data + first, end - first)


def strings_at(const uint8_t[::1] data not None, const int64_t[::1] places not None):
    """Return strings of which only the places are known.

    Parameters
    ----------
    data : (size,) uint8
        Any bytes.
    places : (n,) int64
        Where the header of each string is, in bytes.

    Returns
    -------
    tuple of list of str, and str
        The strings up to the first that is wrong; what is wrong with it, or nothing.
    """
    cdef Py_ssize_t i, at
    cdef int64_t length
    cdef int header = 0
    cdef list found = []
    for i in range(places.shape[0]):
        at = places[i]
        length = string_length(&data[at], data.shape[0] - at, &header) if 0 <= at < data.shape[0] else NO_STRING
        if length < 0:
            return found, "not a string"
        try:
            found.append(PyUnicode_DecodeUTF8(<const char*> &data[at] + header, length, NULL))
        except UnicodeDecodeError as error:
            return found, f"not UTF-8: {error.reason}"
    return found, ""
