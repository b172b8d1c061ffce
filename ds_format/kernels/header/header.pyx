"""What the header of a ds file says of each variable, for those who decode it, and how its entries say it.

Entries of the usual kind are read here as by `codec.header.variable`; whatever is wrong or unusual is left to that.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.dict cimport PyDict_SetItem
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..common.words cimport LITTLE_HOST
from ..json.decode cimport Names, Text, expect, next_byte, take_count, take_key, take_string, take_value

from ..json.decode import Unusual

cdef extern from "Python.h":
    ctypedef struct PyByteArrayObject:
        Py_ssize_t ob_alloc
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef enum:
    MOST_DIMS = 32

cdef int64_t MOST_VALUES = <int64_t> 1 << 48  # but for dimensions of size 0

cdef frozenset KNOWN = frozenset(
    (".size", ".offset", ".len", ".type", ".missing", ".endian", ".dims", ".dsize", ".writer")
)


cdef class Header:
    """What a header says of each variable, and what of it who reads numbers has to look at; `is_plain`: nothing."""

    @property
    def is_plain(self):
        return self.flags == 0

    @property
    def is_doubtful(self):
        return self.flags & DOUBTFUL != 0

    @property
    def has_dtypes(self):
        return self.flags & DTYPES != 0

    @property
    def may_be_packed(self):
        return self.flags & PACKED != 0

    def __cinit__(self):
        self.variables, self.room_for_variables = self.few_variables, FEW
        self.sizes, self.room_for_sizes = self.few_sizes, FEW

    def __dealloc__(self):
        if self.variables != self.few_variables:
            PyMem_Free(self.variables)
        if self.sizes != self.few_sizes:
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

    cdef Variable* place_of(self, Py_ssize_t i) except NULL:
        """Return the place of the next variable."""
        if i == self.room_for_variables:
            self.variables = <Variable*> _grown(self.variables, self.few_variables, i * sizeof(Variable))
            self.room_for_variables *= 2
        return &self.variables[i]

    cdef int add_size(self, Variable* var, int64_t count) except -1:
        if var.ndim == MOST_DIMS:
            raise Unusual
        if self.n_sizes == self.room_for_sizes:
            self.sizes = <Py_ssize_t*> _grown(self.sizes, self.few_sizes, self.n_sizes * sizeof(Py_ssize_t))
            self.room_for_sizes *= 2
        self.sizes[self.n_sizes] = count
        self.n_sizes += 1
        var.ndim += 1
        return 0


cdef void* _grown(void* old, void* few, size_t size) except NULL:
    """Return twice the room of what is full, with what is in it; `few` was not allocated."""
    cdef void* room = PyMem_Realloc(NULL if old == few else old, 2 * size)
    if room == NULL:
        raise MemoryError
    if old == few:
        memcpy(room, few, size)
    return room


cdef void _copy(char* target, const char* source, Py_ssize_t n, Py_ssize_t size, bint swapped) noexcept nogil:
    """Copy `n` values of `size` bytes."""
    cdef Py_ssize_t i, k
    if not swapped:
        memcpy(target, source, n * size)
        return
    for i in range(n):
        for k in range(size):
            target[i * size + k] = source[(i + 1) * size - 1 - k]


cdef char* _more(bytearray room, Py_ssize_t size) except NULL:
    """Lengthen an array of bytes, and return where the new ones are."""
    cdef Py_ssize_t before = PyByteArray_GET_SIZE(room)
    if before + size >= (<PyByteArrayObject*> room).ob_alloc:
        PyByteArray_Resize(room, 2 * (before + size))  # by itself it grows by an eighth, and is moved each time
    PyByteArray_Resize(room, before + size)
    return PyByteArray_AS_STRING(room) + before


cdef list append_values(Header header, Py_ssize_t body, Py_buffer* view, list sizes, list rooms):
    """Append the numbers of a file to those of others; or append nothing, and return which variables prevent it."""
    cdef list left = []
    cdef Variable* var
    cdef Py_ssize_t i, size, room_size = view.len - body
    for i in range(len(rooms)):
        var = &header.variables[i]
        if rooms[i] is None or var.ndim < 0 or var.n == 0:
            continue
        size = sizes[var.type]
        if size <= 0 or var.missing or var.offset > room_size or var.n > (room_size - var.offset) // size:
            left.append(i)
    if left:
        return left
    for i in range(len(rooms)):
        var = &header.variables[i]
        if rooms[i] is None or var.ndim < 0 or var.n == 0:
            continue
        room, size = <bytearray?> rooms[i], sizes[var.type]
        _copy(
            _more(room, var.n * size), <const char*> view.buf + body + var.offset, var.n, size,
            size > 1 and var.big == LITTLE_HOST
        )
    return left


def append_numbers(Header header not None, data not None, list sizes not None, list rooms not None):
    """Append the numbers of a file to those of others, in native byte order.

    Parameters
    ----------
    header : Header
    data : buffer
        The whole file.
    sizes : list of int
        Bytes of a value, by the number of its type; 0: no number.
    rooms : list of bytearray or None
        For each variable of the header what its values are appended to; None: they are not wanted.

    Returns
    -------
    list of int
        Which of the wanted variables are no numbers, have a mask, or are not inside of the file. If there are some,
        nothing has been appended.
    """
    cdef Py_buffer view
    if len(rooms) != len(header.keys):
        raise ValueError(f"{len(rooms)} rooms for {len(header.keys)} variables")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return append_values(header, header.body, &view, sizes, rooms)
    finally:
        PyBuffer_Release(&view)


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
