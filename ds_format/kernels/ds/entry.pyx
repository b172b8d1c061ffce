"""The entry of one variable in the header of a ds file → where its values are, and its metadata, in one pass.

This is `codec.header.variable` for entries of the usual kind; whatever is wrong or unusual is left to that.
"""

from cpython.dict cimport PyDict_SetItem, PyDict_Size
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t

from ..json.decode cimport expect, next_byte, take_key, take_value
from ..json.strings cimport Names, Text, take_string
from .properties cimport DIMS, DSIZE, ENDIAN, LEN, MISSING, OFFSET, SIZE, TYPE, take_property

from ..json.strings import Unusual

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef enum:
    MOST_DIMS = 32

cdef int64_t MOST_VALUES = <int64_t> 1 << 48  # but for dimensions of size 0

cdef frozenset KNOWN = frozenset(
    (".size", ".offset", ".len", ".type", ".missing", ".endian", ".dims", ".dsize", ".writer")
)


cdef class Header:
    """What a header says of each variable; `has_others`: whether there are properties that are not of the format."""

    def __dealloc__(self):
        PyMem_Free(self.variables)
        PyMem_Free(self.sizes)

    def variable(self, Py_ssize_t i):
        """Return type (its number; -1: none), size, offset, length, whether big-endian, whether values are missing."""
        if not 0 <= i < len(self.keys):
            raise IndexError
        cdef Variable* var = &self.variables[i]
        size = None if var.ndim < 0 else tuple([self.sizes[var.first + k] for k in range(var.ndim)])
        return var.type, size, var.offset, var.length, var.big, var.missing

    def missing(self):
        """Return of each variable whether values may be missing."""
        return [self.variables[i].missing for i in range(len(self.keys))]

    cdef int add_size(self, Variable* var, int64_t count) except -1:
        if var.ndim == MOST_DIMS or count < 0:
            raise Unusual
        if self.n_sizes % 64 == 0:
            room = PyMem_Realloc(self.sizes, (self.n_sizes + 64) * sizeof(Py_ssize_t))
            if room == NULL:
                raise MemoryError
            self.sizes = <Py_ssize_t*> room
        self.sizes[self.n_sizes] = count
        self.n_sizes += 1
        var.ndim += 1
        return 0


cdef int64_t _take_count(Text* t) except -1:
    value = take_value(t, None)
    if type(value) is not int or value < 0:
        raise Unusual
    return value


cdef bint _take_bool(Text* t) except -1:
    value = take_value(t, None)
    if value is not True and value is not False:
        raise Unusual
    return value is True


cdef object _take_size(Text* t, Header header, Variable* var):
    """Take the shape of a variable, and return it as a list, or None if it has no data."""
    cdef list sizes
    cdef int64_t count, total = 1
    value = take_value(t, None)
    if value is None:
        var.ndim = -1
        return None
    if type(value) is not list:
        raise Unusual
    sizes = <list> value
    var.first = header.n_sizes
    for item in sizes:
        if type(item) is not int:
            raise Unusual
        count = item
        header.add_size(var, count)
        if count > MOST_VALUES // total:
            raise Unusual
        total *= max(count, 1)
        var.n *= count
    return sizes


cdef list _take_dims(Text* t, Names names):
    cdef list dims = []
    expect(t, b"[")
    if next_byte(t) == b"]":
        t.p += 1
        return dims
    while True:
        if next_byte(t) != b'"':
            raise Unusual
        dims.append(take_string(t, names))
        if next_byte(t) != b",":
            break
        t.p += 1
    expect(t, b"]")
    return dims


cdef int _take_type(Text* t, Names names, dict types, Variable* var, dict meta) except -1:
    if next_byte(t) != b'"':
        if take_value(t, None) is not None:
            raise Unusual
        var.type = -1
        meta[".type"] = None
        return 0
    name = take_string(t, names)
    number = types.get(name)
    if number is None:
        raise Unusual
    var.type = number
    meta[".type"] = name
    return 0


cdef dict take_entry(Text* t, Names names, dict types, Header header, Variable* var):
    """Take the entry of a variable, and return its metadata: attributes, and properties that are no matter of bytes."""
    cdef dict meta = {}
    cdef Py_ssize_t n = 0, n_dims = -1
    cdef int seen = 0, which
    var.type = types["float64"]
    var.ndim = 0
    var.first = header.n_sizes
    var.n = 1
    var.offset = var.length = 0
    var.big = True
    var.missing = False
    expect(t, b"{")
    if next_byte(t) == b"}":
        raise Unusual
    while True:
        next_byte(t)
        which = take_property(t)
        if which:
            expect(t, b":")
        else:
            name = take_key(t, names)
        if which & seen:
            raise Unusual
        seen |= which
        if which == SIZE:
            meta[".size"] = _take_size(t, header, var)
        elif which == OFFSET:
            var.offset = _take_count(t)
        elif which == LEN:
            var.length = _take_count(t)
        elif which == TYPE:
            _take_type(t, names, types, var, meta)
        elif which == MISSING:
            var.missing = _take_bool(t)
        elif which == ENDIAN:
            endian = take_value(t, None)
            if endian != "l" and endian != "b":
                raise Unusual
            var.big = endian == "b"
        elif which == DIMS:
            dims = _take_dims(t, names)
            n_dims = len(dims)
            meta[".dims"] = dims
        elif which == DSIZE:
            take_value(t, None)
        else:
            PyDict_SetItem(meta, name, take_value(t, names))
            check_name(name, header)
        n += which == 0 or which == SIZE or which == TYPE or which == DIMS
        if next_byte(t) != b",":
            break
        t.p += 1
    expect(t, b"}")
    if PyDict_Size(meta) != n or (var.ndim >= 0 and (var.type < 0 or (n_dims >= 0 and n_dims != var.ndim))):
        raise Unusual
    name = meta.get(".type")
    if name == "str" or (name == "unicode" and var.missing):
        header.is_doubtful = True
    if not seen & SIZE:
        meta[".size"] = []
    if not seen & TYPE:
        meta[".type"] = "float64"
    return meta


cdef int check_name(str name, Header header) except -1:
    cdef Py_UCS4 first = PyUnicode_READ_CHAR(name, 0) if name else 0
    if first == "\\":
        raise Unusual
    if first != ".":
        return 0
    if name == ".dtypes":
        header.has_dtypes = True
    elif name in KNOWN:
        raise Unusual  # written with an escape, or where it means something else
    else:
        header.has_others = True
    return 0
