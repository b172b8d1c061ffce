"""Entries of headers that come again and again: what is the same, byte for byte, is copied instead of read."""

from cpython.dict cimport PyDict_Copy, PyDict_SetItem
from cpython.list cimport PyList_GetSlice
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from ..common.words cimport load_u64
from ..json.decode cimport next_byte
from ..json.strings cimport Text
from .entry cimport Known, finish, take_member, take_name
from .header cimport DTYPES, Header, Variable

cdef enum:
    LONGEST = 2048  # bytes of an entry that is remembered
    MOST_ITEMS = LONGEST  # of a list in it

cdef frozenset PLAIN = frozenset((str, int, float, bool, type(None)))


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


cdef object _copied(object value):
    """Return a value of metadata that shares nothing with another that could be changed."""
    if type(value) is dict:
        return {name: _copied(inner) for name, inner in (<dict> value).items()}
    if type(value) is list:
        return [_copied(inner) for inner in <list> value]
    return value.copy() if _is_array(value) else value


cdef bint _is_array(object value) except -1:
    """Whether a value is an array of NumPy, which is not loaded where nobody wants any."""
    return type(value) not in PLAIN and getattr(value, "ndim", 0) > 0


cdef bint _is_flat(object value) except -1:
    """Whether a value is a list of such that cannot be changed."""
    return type(value) is list and PLAIN.issuperset(map(type, value))


cdef class Original:
    """Metadata that are never given away, but copied."""

    def __cinit__(self, dict meta):
        self.meta = meta
        self.lists, self.deep = [], []
        for name, value in meta.items():
            if _is_flat(value):
                self.lists += (name, value)
            elif type(value) is list or type(value) is dict or _is_array(value):
                self.deep += (name, value)

    cdef dict copy(self):
        """Return them as they are, with lists, dicts and arrays that nobody else holds."""
        cdef dict meta = <dict> PyDict_Copy(self.meta)
        cdef Py_ssize_t i
        for i in range(0, len(self.lists), 2):
            PyDict_SetItem(meta, self.lists[i], PyList_GetSlice(self.lists[i + 1], 0, MOST_ITEMS))
        for i in range(0, len(self.deep), 2):
            PyDict_SetItem(meta, self.deep[i], _copied(self.deep[i + 1]))
        return meta


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
        self.meta = Original(_copied(meta))
        self.var = var[0]
        for i in range(max(var.ndim, 0)):
            self.sizes[i] = header.sizes[var.first + i]
        return True

    cdef dict copy(self, object typed):
        """Return its metadata, which nobody else holds; `typed` as of `Parser.parse`."""
        if typed is None or not self.var.flags & DTYPES:
            return self.meta.copy()
        if self.typed is None:
            self.typed = Original(typed(self.meta.copy()))
        return self.typed.copy()

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
        cdef dict meta = self.meta.copy() if is_wanted else {}
        cdef Member* member
        cdef const uint8_t* start
        cdef uint64_t hash
        cdef uint8_t c
        cdef int i, which
        if self.n == 0 or not _steps_over(t, self.text, self.members[0].start) or next_byte(t) == b"}":
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
