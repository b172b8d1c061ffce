"""Entries of headers that come again and again: what is the same, byte for byte, is copied instead of read."""

from cpython.dict cimport PyDict_Copy, PyDict_SetItem
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from ..common.words cimport load_u64
from ..json.decode cimport next_byte
from ..json.strings cimport Text
from .entry cimport Header, Known, Variable, finish, take_member, take_name

cdef enum:
    LONGEST = 2048  # bytes of an entry that is remembered


cdef object _copied(object value):
    """Return a JSON value that shares nothing with another that could be changed."""
    cdef Py_ssize_t i
    cdef list values
    if type(value) is dict:
        return {name: _copied(inner) for name, inner in (<dict> value).items()}
    if type(value) is not list:
        return value
    values = (<list> value)[:]
    for i in range(len(values)):
        inner = values[i]
        if type(inner) is list or type(inner) is dict:
            values[i] = _copied(inner)
    return values


cdef uint64_t _hash(const uint8_t* text, Py_ssize_t size) noexcept:
    """Return a number that two texts hardly share."""
    cdef uint64_t hash = <uint64_t> size, word = 0
    cdef Py_ssize_t i = 0
    while size - i >= 8:
        hash = (hash ^ load_u64(text + i, False)) * 0x9E3779B97F4A7C15u
        hash ^= hash >> 32
        i += 8
    memcpy(&word, text + i, size - i)
    return (hash ^ word) * 0x9E3779B97F4A7C15u


cdef inline bint _steps_over(Text* t, const uint8_t* text, Py_ssize_t size) noexcept:
    if size > t.end - t.p or memcmp(t.p, text, size):
        return False
    t.p += size
    return True


cdef class Template:
    """An entry that was read, what it says, and where in its text each member stands."""

    def __cinit__(self):
        self.names = []

    def __dealloc__(self):
        PyMem_Free(self.text)

    cdef int add(self, int which, str name, Py_ssize_t start, Py_ssize_t stop) except -1:
        """Note the next member."""
        if self.n < MOST_MEMBERS:
            self.members[self.n] = Member(which, start, stop, 0)
            self.names.append(name)
        self.n += 1
        return 0

    cdef bint fill(
        self, const uint8_t* text, Py_ssize_t size, str key, dict meta, Header header, Variable* var
    ) except -1:
        """Note what the entry says, once all members are; False if it is too long to be remembered."""
        cdef int i
        if size > LONGEST or self.n > MOST_MEMBERS or var.ndim > MOST_DIMS:
            return False
        self.text = <uint8_t*> PyMem_Malloc(size)
        if self.text == NULL:
            raise MemoryError
        memcpy(self.text, text, size)
        self.size = size
        self.key = key
        self.meta = <dict> _copied(meta)
        self.changeable = [
            (name, value) for name, value in self.meta.items() if type(value) is list or type(value) is dict
        ]
        self.var = var[0]
        for i in range(max(var.ndim, 0)):
            self.sizes[i] = header.sizes[var.first + i]
        return True

    cdef dict copy(self):
        """Return its metadata, which nobody else holds."""
        cdef dict meta = <dict> PyDict_Copy(self.meta)
        for name, value in self.changeable:
            PyDict_SetItem(meta, name, _copied(value))
        return meta

    cdef int put(self, Header header, Variable* var) except -1:
        """Say of a variable what it says."""
        cdef int i
        var[0] = self.var
        var.first = header.n_sizes
        for i in range(max(self.var.ndim, 0)):
            var.ndim = i
            header.add_size(var, self.sizes[i])
        return 0

    cdef bint is_next(self, Text* t) noexcept:
        """Step over this entry, if it is the next one, byte for byte."""
        return _steps_over(t, self.text, self.size)

    cdef dict follow(self, Text* t, Known known, Header header, Variable* var, bint is_wanted):
        """Take an entry of the same members, some with other values; None: it has others, or in another order."""
        cdef dict meta = self.copy() if is_wanted else {}
        cdef Member* member
        cdef const uint8_t* start
        cdef uint64_t hash
        cdef uint8_t c
        cdef int i, which
        if self.n == 0 or not _steps_over(t, self.text, self.members[0].start):
            return None
        self.put(header, var)
        for i in range(self.n):
            if i > 0:
                if next_byte(t) != b",":
                    return None
                t.p += 1
                next_byte(t)
            member = &self.members[i]
            start = t.p
            if _steps_over(t, self.text + member.start, member.stop - member.start):
                c = next_byte(t)
                if c == b"," or c == b"}":  # and not one more digit
                    continue
                t.p = start
            name = take_name(t, known, self.key != ".", &which)
            if which != member.which or name != self.names[i]:
                return None
            take_member(t, known, which, name, header, var, meta)
            hash = _hash(start, t.p - start)
            self.is_stale |= hash == member.other
            member.other = hash
        if next_byte(t) != b"}":
            return None
        t.p += 1
        finish(var, known)
        return meta
