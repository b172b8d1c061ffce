"""The members of an entry in the header of a ds file → where the values of a variable are, and its metadata.

This is `codec.header.variable` for entries of the usual kind; whatever is wrong or unusual is left to that.
"""

from cpython.dict cimport PyDict_SetItem
from libc.stdint cimport int64_t

from ..json.decode cimport expect, next_byte, take_count, take_key, take_value
from ..json.strings cimport Names, Text, take_string
from .header cimport DOUBTFUL, DTYPES, PACKED, Header, Variable
from .properties cimport DIMS, ENDIAN, LEN, MISSING, OFFSET, SIZE, TYPE, take_property

from ..json.strings import Unusual

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef int64_t MOST_VALUES = <int64_t> 1 << 48  # but for dimensions of size 0

cdef frozenset KNOWN = frozenset(
    (".size", ".offset", ".len", ".type", ".missing", ".endian", ".dims", ".dsize", ".writer")
)


cdef bint _take_bool(Text* t) except -1:
    value = take_value(t, None)
    if value is not True and value is not False:
        raise Unusual
    return value is True


cdef list _take_size(Text* t, Header header, Variable* var):
    """Take the shape of a variable, and return it as a list, or None if it has no data."""
    cdef list sizes = []
    cdef int64_t count, total = 1
    var.ndim = 0
    var.first = header.n_sizes
    var.n = 1
    if next_byte(t) != b"[":
        if take_value(t, None) is not None:
            raise Unusual
        var.ndim = -1
        return None
    t.p += 1
    if next_byte(t) == b"]":
        t.p += 1
        return sizes
    while True:
        count = take_count(t)
        if count > MOST_VALUES // total:
            raise Unusual
        total *= max(count, 1)
        var.n *= count
        header.add_size(var, count)
        sizes.append(count)
        if next_byte(t) != b",":
            break
        t.p += 1
    expect(t, b"]")
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


cdef int _take_type(Text* t, Known known, Variable* var, dict meta) except -1:
    if next_byte(t) != b'"':
        if take_value(t, None) is not None:
            raise Unusual
        var.type = -1
        meta[".type"] = None
        return 0
    name = take_string(t, known.names)
    number = known.types.get(name)
    if number is None:
        raise Unusual
    var.type = number
    meta[".type"] = name
    return 0


cdef class Known:
    """What is known of headers beforehand: the types, each with a number; and names that others had."""

    def __cinit__(self, dict types):
        self.names = Names()
        self.types = types
        self.float64, self.str, self.unicode = types["float64"], types["str"], types["unicode"]


cdef void begin(Variable* var, Header header, Known known) noexcept:
    """Say of a variable what is so if its entry does not say otherwise."""
    var.type = known.float64
    var.ndim = 0
    var.first = header.n_sizes
    var.n_dims = -1
    var.n = 1
    var.offset = var.length = 0
    var.big = True
    var.missing = False
    var.flags = 0


cdef object take_name(Text* t, Known known, bint is_variable, int* which):
    """Take the name of a member and the colon behind it; None and which it is if it says how a variable is stored."""
    next_byte(t)
    which[0] = take_property(t) if is_variable else 0
    if which[0] == 0:
        return take_key(t, known.names)
    expect(t, b":")
    return None


cdef int take_member(Text* t, Known known, int which, str name, Header header, Variable* var, dict meta) except -1:
    """Take the value of a member, for the metadata unless it is a matter of bytes alone."""
    if which == 0:
        value = take_value(t, known.names)
        PyDict_SetItem(meta, name, value)
        var.flags |= _flags_of(name, value)
    elif which == SIZE:
        meta[".size"] = _take_size(t, header, var)
    elif which == OFFSET:
        var.offset = take_count(t)
    elif which == LEN:
        var.length = take_count(t)
    elif which == TYPE:
        _take_type(t, known, var, meta)
    elif which == MISSING:
        var.missing = _take_bool(t)
    elif which == ENDIAN:
        endian = take_string(t, known.names) if next_byte(t) == b'"' else None
        if endian != "l" and endian != "b":
            raise Unusual
        var.big = endian == "b"
    elif which == DIMS:
        dims = _take_dims(t, known.names)
        var.n_dims = <int> len(dims)
        meta[".dims"] = dims
    else:
        take_value(t, None)  # `.dsize`, which the type says, too
    return 0


cdef int finish(Variable* var, Known known) except -1:
    """Check that the members of an entry fit each other."""
    if var.ndim >= 0 and (var.type < 0 or (var.n_dims >= 0 and var.n_dims != var.ndim)):
        raise Unusual
    var.flags &= ~DOUBTFUL
    if var.type == known.str or (var.type == known.unicode and var.missing):
        var.flags |= DOUBTFUL
    return 0


cdef int _flags_of(str name, object value) except -1:
    """Return what an attribute, or a property that is not of the format, says to those who decode."""
    cdef Py_UCS4 first = PyUnicode_READ_CHAR(name, 0) if name else 0
    if first == "\\":
        raise Unusual
    if first != ".":
        return 0
    if name in KNOWN:
        raise Unusual  # written with an escape, or where it means something else
    if name == ".dtypes":
        return DTYPES
    return PACKED if type(value) is dict and "packed" in <dict> value else 0
