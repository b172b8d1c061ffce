"""Strings of msgpack, one after another, of which any can be had without making objects of the others."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from .walk cimport NO_STRING, string_length

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
