"""The parsed header of a ds file, with the position and type of each variable, and a parser for members of entries.

Usual entries are parsed here with the same result as in `codec.header.variable`. Wrong and unusual ones are left to
that module: `Unusual` is raised.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_SetItem
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from ..json.decode cimport Names, Text, expect, next_byte, take_count, take_key, take_string, take_value

from ..json.decode import Unusual

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef enum:
    MAX_DIMS = 32

cdef int64_t MAX_VALUES = <int64_t> 1 << 48  # dimensions of size 0 are not counted

cdef frozenset STORAGE_NAMES = frozenset(
    (".size", ".offset", ".len", ".type", ".missing", ".endian", ".dims", ".dsize", ".writer")
)


cdef class Header:
    """The position and type of each variable, and facts that affect decoding."""

    @property
    def is_doubtful(self):
        return self.flags & DOUBTFUL != 0

    @property
    def has_dtypes(self):
        return self.flags & DTYPES != 0

    @property
    def may_be_packed(self):
        return self.flags & PACKED != 0

    def __dealloc__(self):
        PyMem_Free(self.variables)
        PyMem_Free(self.sizes)

    cpdef bint is_doubtful_in(self, Py_ssize_t body_size) noexcept:
        """Return whether offsets are doubtful in a body of so many bytes; see `codec.layout.are_offsets_doubtful`."""
        cdef Py_ssize_t i, total = 0
        if not self.flags & DOUBTFUL:
            return False
        for i in range(len(self.keys)):
            if self.variables[i].offset != total and self.variables[i].ndim >= 0:
                return False
            total += self.variables[i].length
            if total > body_size:
                return True
        return total != body_size

    def variable(self, Py_ssize_t i):
        """Return type (its number; -1: none), size, offset, length, whether big-endian, whether it has a mask."""
        if not 0 <= i < len(self.keys):
            raise IndexError
        cdef Variable* var = &self.variables[i]
        size = None if var.ndim < 0 else tuple([self.sizes[var.first + k] for k in range(var.ndim)])
        return var.type, size, var.offset, var.length, var.big, var.missing

    def missing(self):
        """Return for each variable whether it has a mask."""
        return [self.variables[i].missing for i in range(len(self.keys))]

    def has_offsets_of(self, Header other not None):
        """Return whether all variables begin where those of another header do."""
        cdef Py_ssize_t i, n = len(self.keys)
        if len(other.keys) != n:
            return False
        for i in range(n):
            if self.variables[i].offset != other.variables[i].offset:
                return False
        return True

    cdef Variable* new_variable(self, Py_ssize_t i) except NULL:
        """Return the memory of the next variable, whose number is `i`."""
        if i == self.variables_capacity:
            self.variables_capacity = max(2 * i, FEW)
            self.variables = <Variable*> _grown(self.variables, self.variables_capacity * sizeof(Variable))
        return &self.variables[i]

    cdef int add_size(self, Variable* var, int64_t count) except -1:
        if var.ndim == MAX_DIMS:
            raise Unusual
        if self.n_sizes == self.sizes_capacity:
            self.sizes_capacity = max(2 * self.n_sizes, FEW)
            self.sizes = <Py_ssize_t*> _grown(self.sizes, self.sizes_capacity * sizeof(Py_ssize_t))
        self.sizes[self.n_sizes] = count
        self.n_sizes += 1
        var.ndim += 1
        return 0


cdef void* _grown(void* old, size_t size) except NULL:
    cdef void* memory = PyMem_Realloc(old, size)
    if memory == NULL:
        raise MemoryError
    return memory


def differing(Header first not None, list expected not None, Header header not None, data not None, Py_ssize_t body):
    """Return the variables whose bytes in a file differ from expected ones, or are stored in another way.

    Parameters
    ----------
    first : Header
        The header of the file that has the expected bytes.
    expected : list of bytes or None
        For each variable, its bytes, which tell how many there are, as `.len` may be wrong; None: it is not compared.
    header : Header
        The header of the other file, or one that differs from it only in attributes of the dataset.
    data : buffer
        The whole other file.
    body : int
        Start of its body, in bytes from its start.

    Returns
    -------
    list of int
        Includes variables that are not within the file.
    """
    cdef Py_buffer view
    cdef Variable* var
    cdef Variable* other
    cdef Py_ssize_t i, n = len(expected)
    cdef bytes wanted
    cdef list found = []
    if len(first.keys) != n or len(header.keys) != n:
        raise ValueError(f"{len(first.keys)} and {len(header.keys)} variables, expected {n}")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if not 0 <= body <= view.len:
            raise ValueError(f"body: found {body}, expected at most {view.len}")
        for i in range(n):
            if expected[i] is None:
                continue
            wanted, var, other = expected[i], &first.variables[i], &header.variables[i]
            if (
                var.type != other.type or var.n != other.n or var.big != other.big or var.missing != other.missing
                or other.offset > view.len - body or PyBytes_GET_SIZE(wanted) > view.len - body - other.offset
                or memcmp(
                    <const char*> view.buf + body + other.offset, PyBytes_AS_STRING(wanted), PyBytes_GET_SIZE(wanted)
                )
            ):
                found.append(i)
    finally:
        PyBuffer_Release(&view)
    return found


cdef bint _take_bool(Text* t) except -1:
    value = take_value(t, None)
    if value is not True and value is not False:
        raise Unusual
    return value is True


cdef list _take_size(Text* t, Header header, Variable* var):
    """Take the shape of a variable, and return it as a list, or None if the variable does not have data."""
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
        if count > MAX_VALUES // total:
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


cdef int _take_type(Text* t, TypeTable table, Variable* var, dict meta) except -1:
    if next_byte(t) != b'"':
        if take_value(t, None) is not None:
            raise Unusual
        var.type = -1
        meta[".type"] = None
        return 0
    name = take_string(t, table.names)
    number = table.types.get(name)
    if number is None:
        raise Unusual
    var.type = number
    meta[".type"] = name
    return 0


cdef class TypeTable:
    """The types of the format by name, each with a number, and a table of names that earlier headers had."""

    def __cinit__(self, dict types):
        self.names = Names()
        self.types = types
        self.float64, self.str, self.unicode = types["float64"], types["str"], types["unicode"]


cdef void begin(Variable* var, Header header, TypeTable table) noexcept:
    """Set a variable to the defaults of the format."""
    var.type = table.float64
    var.ndim = 0
    var.first = header.n_sizes
    var.n_dims = -1
    var.n = 1
    var.offset = var.length = 0
    var.big = True
    var.missing = False
    var.flags = 0


cdef object take_name(Text* t, TypeTable table, bint is_variable, int* property):
    """Take the name of a member and the colon after it. For a storage property, set its bit and return None."""
    next_byte(t)
    property[0] = take_property(t) if is_variable else 0
    if property[0] == 0:
        return take_key(t, table.names)
    expect(t, b":")
    return None


cdef int take_member(
    Text* t, TypeTable table, int property, str name, Header header, Variable* var, dict meta
) except -1:
    """Take the value of a member, into the variable and, unless it describes bytes only, into the metadata."""
    if property == 0:
        value = take_value(t, table.names)
        PyDict_SetItem(meta, name, value)
        var.flags |= _flags_of(name, value)
    elif property == SIZE:
        meta[".size"] = _take_size(t, header, var)
    elif property == OFFSET:
        var.offset = take_count(t)
    elif property == LEN:
        var.length = take_count(t)
    elif property == TYPE:
        _take_type(t, table, var, meta)
    elif property == MISSING:
        var.missing = _take_bool(t)
    elif property == ENDIAN:
        endian = take_string(t, table.names) if next_byte(t) == b'"' else None
        if endian != "l" and endian != "b":
            raise Unusual
        var.big = endian == "b"
    elif property == DIMS:
        dims = _take_dims(t, table.names)
        var.n_dims = <int> len(dims)
        meta[".dims"] = dims
    else:
        take_value(t, None)  # `.dsize`, which the type determines
    return 0


cdef int finish(Variable* var, TypeTable table) except -1:
    """Check that the members of an entry match each other."""
    if var.ndim >= 0 and (var.type < 0 or (var.n_dims >= 0 and var.n_dims != var.ndim)):
        raise Unusual
    var.flags &= ~DOUBTFUL
    if var.type == table.str or (var.type == table.unicode and var.missing):
        var.flags |= DOUBTFUL
    return 0


cdef int _flags_of(str name, object value) except -1:
    """Return the flags of an attribute, or of a property that is not part of the format."""
    cdef Py_UCS4 first = PyUnicode_READ_CHAR(name, 0) if name else 0
    if first == "\\":
        raise Unusual
    if first != ".":
        return 0
    if name in STORAGE_NAMES:
        raise Unusual  # written with an escape, or in the entry of the dataset
    if name == ".dtypes":
        return DTYPES
    return PACKED if type(value) is dict and "packed" in <dict> value else 0
