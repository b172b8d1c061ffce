"""Steps over values of msgpack, and access to single strings out of many, without objects for the others."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from ..common.words cimport big_endian

cdef enum:
    MAX_DEPTH = 1024  # nested containers, the same as in the msgpack library

cdef enum:  # faults of a message
    SHORT = 1
    UNKNOWN = 2
    DEEP = 3
    ARRAY_KEY = 4


cdef struct Fault:
    int kind
    Py_ssize_t at


cdef Py_ssize_t _fail(Fault* fault, int kind, Py_ssize_t at) noexcept nogil:
    fault.kind = kind
    fault.at = at
    return -1


cdef Py_ssize_t _step(const uint8_t* p, Py_ssize_t size, Py_ssize_t at, uint64_t* items, Fault* fault) noexcept nogil:
    """Return the end of the header at a position, with its bytes. Output: `items`, the number of values that follow."""
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
    """Return the end of a message. Output: `key`, the position of the last value of "key" if the message is a map."""
    cdef uint64_t left[MAX_DEPTH]
    cdef bint is_map[MAX_DEPTH]
    cdef int depth = 0
    cdef uint64_t items = 0
    cdef Py_ssize_t start
    cdef bint takes_key = False, is_key
    cdef int header = 0
    key[0] = -1
    fault.kind = 0
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
        Position of its first byte.

    Returns
    -------
    tuple of int
        The position of its end, and 0. For a faulty message, the position of the fault, and its kind. 1: it is
        truncated, 2: a byte is not a type of msgpack, 3: it is nested too deeply, 4: an array is the key of a map.
    """
    cdef Fault fault
    cdef int64_t key
    cdef Py_ssize_t end = -1
    if start < 0 or start >= data.shape[0]:
        return max(start, 0), SHORT
    with nogil:
        end = _skip(&data[0], data.shape[0], start, &key, &fault)
    if fault.kind:
        return fault.at, fault.kind
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
        Position of the first one.
    ends : (N,) int64
        Output: position of the end of each message.
    keys : (N,) int64
        Output: position of the value of the entry "key", which is a string with its header; -1 if it is missing or not
        a string.

    Returns
    -------
    int
        Number of messages that were found. It is less than N if the data end, or a message is faulty; call `measure`
        for its fault.
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
    STEP = 32  # strings from one stored position to the next


cdef Py_ssize_t _survey(
    const uint8_t* p, Py_ssize_t size, Py_ssize_t n, int64_t* positions, Py_ssize_t* end, int64_t* fault
) noexcept nogil:
    """Store the position of each STEP-th string. Return n, or the number of the first faulty one."""
    cdef Py_ssize_t i, at = 0
    cdef int64_t length
    cdef int header = 0
    for i in range(n):
        if i % STEP == 0:
            positions[i // STEP] = at
        length = string_length(p + at, size - at, &header)
        if length < 0:
            end[0], fault[0] = at, length
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
        The strings, without bytes after them.
    n : int
        Number of strings.
    positions : (n // 32 + 1,) int64
        Memory that this object uses; do not change it.

    Raises
    ------
    ValueError
        If a value is not a string, or there are fewer or more strings. The message has the position.
    """

    def __cinit__(self, const uint8_t[::1] data not None, Py_ssize_t n, int64_t[::1] positions not None):
        cdef Py_ssize_t done, end = 0
        cdef int64_t fault = 0
        if n < 0 or positions.shape[0] != n // STEP + 1:
            raise ValueError(f"{positions.shape[0]} positions are wrong for {n} strings")
        self.view, self.positions, self.n = data, positions, n
        self.data = &data[0] if data.shape[0] else NULL
        with nogil:
            done = _survey(self.data, data.shape[0], n, &positions[0], &end, &fault)
        if done < n and fault == NO_STRING:
            raise ValueError(f"entry {done} at byte {end}: found the type {data[end]:#04x}, expected a string")
        if done < n:
            raise ValueError(f"entry {done} at byte {end} of {data.shape[0]} is cut off")
        if end < data.shape[0]:
            raise ValueError(f"found {data.shape[0] - end} bytes after entry {n - 1}")

    cdef Py_ssize_t position(self, Py_ssize_t i) noexcept nogil:
        """Return the position of the header of a string. `_survey` has checked all of them."""
        cdef Py_ssize_t at = self.positions[i // STEP], _
        cdef int header = 0
        for _ in range(i % STEP):
            at += string_length(self.data + at, self.view.shape[0] - at, &header) + header
        return at

    cdef bint has(self, Py_ssize_t i, const char* string, Py_ssize_t size) noexcept nogil:
        """Return whether a string has these bytes."""
        cdef int header = 0
        cdef Py_ssize_t at = self.position(i)
        cdef int64_t length = string_length(self.data + at, self.view.shape[0] - at, &header)
        return length == size and memcmp(self.data + at + header, string, size) == 0

    cdef int check(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"no string {i} among {self.n}")
        return 0

    def get(self, Py_ssize_t i):
        """Return a string. Raise UnicodeDecodeError if it is not UTF-8."""
        cdef int header = 0
        self.check(i)
        cdef Py_ssize_t at = self.position(i)
        cdef int64_t length = string_length(self.data + at, self.view.shape[0] - at, &header)
        return PyUnicode_DecodeUTF8(<const char*> self.data + at + header, length, NULL)

    def matches(self, Py_ssize_t i, bytes string not None):
        """Return whether a string has these bytes."""
        self.check(i)
        return self.has(i, PyBytes_AS_STRING(string), PyBytes_GET_SIZE(string))

    def encoded(self, Py_ssize_t start, Py_ssize_t stop):
        """Return the encoded strings from `start` to `stop` - 1, with their headers."""
        if not 0 <= start <= stop <= self.n:
            raise IndexError(f"no strings {start} to {stop} among {self.n}")
        cdef Py_ssize_t first = self.position(start) if start < self.n else self.view.shape[0]
        cdef Py_ssize_t end = self.position(stop) if stop < self.n else self.view.shape[0]
        return PyBytes_FromStringAndSize(<const char*> self.data + first, end - first)


def strings_at(const uint8_t[::1] data not None, const int64_t[::1] positions not None):
    """Return strings at given positions.

    Parameters
    ----------
    data : (size,) uint8
        Any bytes.
    positions : (n,) int64
        Position of the header of each string.

    Returns
    -------
    tuple of list of str, and str
        The strings up to the first faulty one, and its fault, or an empty string.
    """
    cdef Py_ssize_t i, at
    cdef int64_t length
    cdef int header = 0
    cdef list strings = []
    for i in range(positions.shape[0]):
        at = positions[i]
        length = string_length(&data[at], data.shape[0] - at, &header) if 0 <= at < data.shape[0] else NO_STRING
        if length < 0:
            return strings, "not a string"
        try:
            strings.append(PyUnicode_DecodeUTF8(<const char*> &data[at] + header, length, NULL))
        except UnicodeDecodeError as error:
            return strings, f"not UTF-8: {error.reason}"
    return strings, ""
