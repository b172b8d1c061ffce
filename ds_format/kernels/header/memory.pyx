"""What is remembered from one file to the next, so that of a header only what is new is read.

The files of an archive have the same variables, described in the same words, at the same places of their headers. So
for each place there is a template: the entry that was there in a file before. `Model` is a whole header before. The key
is always bytes: what is remembered counts if a file has the same bytes there, and is copied before it is given away.
The functions at the end compare and merge the metadata of files in a row.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Copy, PyDict_Next, PyDict_SetItem, PyDict_Size
from cpython.list cimport PyList_GetSlice
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy

from ..common.words cimport load_u64
from ..json.decode cimport Text, borrow_names, expect, follows, give_back, next_byte, take_key, take_value
from .header cimport (
    DIMS, DTYPES, SIZE, TYPE, Header, Known, Variable, append_values, begin, finish, take_member, take_name
)

from ..json.decode import Unusual

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX
    PyObject* PyDict_GetItemWithError(object items, object key) except? NULL
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef enum:
    LONGEST = 2048  # bytes of an entry that is remembered

cdef str DTYPES_KEY = ".dtypes"
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


cdef object _copied(object value):
    """Return a value of metadata that shares nothing with another that could be changed."""
    if type(value) is dict:
        return {name: _copied(inner) for name, inner in (<dict> value).items()}
    if type(value) is list:
        return [_copied(inner) for inner in <list> value]
    return value.copy() if _is_array(value) else value


cdef bint _is_array(object value) except -1:
    """Whether a value is an array of NumPy, which is not loaded where none is requested."""
    return type(value) not in PLAIN and getattr(value, "ndim", 0) > 0


cdef bint _is_flat(object value) except -1:
    """Whether a value is a list of such that cannot be changed."""
    return type(value) is list and PLAIN.issuperset(map(type, value))


cdef class Original:
    """Metadata that are never given away, but copied.

    Parameters
    ----------
    meta : dict
        It must not be changed afterwards, nor anything in it.
    """

    def __init__(self, dict meta not None):
        self.meta = meta
        self.lists, self.deep = [], []
        for name, value in meta.items():
            if _is_flat(value):
                self.lists += (name, value)
            elif type(value) is list or type(value) is dict or _is_array(value):
                self.deep += (name, value)

    cpdef dict copy(self):
        """Return them as they are, with lists, dicts and arrays that nothing else refers to."""
        cdef dict meta = <dict> PyDict_Copy(self.meta)
        cdef Py_ssize_t i
        for i in range(0, len(self.lists), 2):
            PyDict_SetItem(meta, self.lists[i], PyList_GetSlice(self.lists[i + 1], 0, PY_SSIZE_T_MAX))
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
        """Return its metadata, which nothing else refers to; `typed` as of `Parser.parse`."""
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
        return follows(t, self.text, self.size)

    cdef dict follow(self, Text* t, Known known, Header header, Variable* var, bint is_wanted):
        """Take an entry of the same members, some with other values; None: it has others, or in another order."""
        cdef dict meta = self.meta.copy() if is_wanted else {}
        cdef Member* member
        cdef const uint8_t* start
        cdef uint64_t hash
        cdef uint8_t c
        cdef int i, which
        if self.n == 0 or not follows(t, self.text, self.members[0].start) or next_byte(t) == b"}":
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
            if follows(t, self.text + member.start, member.stop - member.start):
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


cdef int _give(dict out, str key, dict meta, Variable* var, object typed) except -1:
    PyDict_SetItem(out, key, meta if typed is None or not var.flags & DTYPES else typed(meta))
    return 0


cdef class Memory:
    """Templates, by the places of entries; for one call at a time.

    Parameters
    ----------
    types : dict
        Name of each type → its number.
    """

    def __cinit__(self, dict types not None):
        self.known = Known(types)
        self.templates = [None] * MOST_ENTRIES

    cdef str take_entry(
        self, Text* t, Py_ssize_t place, Header header, Variable* var, object wanted, object typed, dict out
    ):
        """Take the entry that is next, and return its key.

        Parameters
        ----------
        t : Text
            At the name of the entry.
        place : int
            How many entries were before it.
        header, var
            Where to say where the values are.
        wanted : collection of str or None
            Of which variables the metadata are; None: all.
        typed : callable or None
            As of `Parser.parse`.
        out : dict
            Gets the metadata, if they are wanted.
        """
        cdef Template template = <Template> self.templates[place] if place < MOST_ENTRIES else None
        cdef const uint8_t* start = t.p
        cdef Py_ssize_t n_sizes = header.n_sizes
        cdef dict meta
        cdef str key
        cdef bint is_wanted, is_kept = place < MOST_ENTRIES
        if template is not None:
            key = template.key
            is_wanted = wanted is None or key == "." or key in wanted
            if template.is_next(t):
                template.put(header, var)
                if is_wanted:
                    PyDict_SetItem(out, key, template.copy(typed))
                return key
            meta = template.follow(t, self.known, header, var, is_wanted)
            if meta is not None:
                self.refused[place] = False
                if template.is_stale:
                    self.templates[place] = None
                if is_wanted:
                    _give(out, key, meta, var, typed)
                return key
            t.p = start
            header.n_sizes = n_sizes
            is_kept = self.refused[place]  # only the second one in a row takes the place of the template
            self.refused[place] = not is_kept
        template = Template.__new__(Template) if is_kept else None
        meta = {}
        key = self._read(t, header, var, template, meta)
        if is_kept:
            self.templates[place] = template if template.fill(start, t.p - start, key, meta, header, var) else None
        if wanted is None or key == "." or key in wanted:
            _give(out, key, meta, var, typed)
        return key

    cdef str _read(self, Text* t, Header header, Variable* var, Template template, dict meta):
        """Take an entry, member by member, and note these in a template, if there is one."""
        cdef const uint8_t* first = t.p
        cdef const uint8_t* start
        cdef Py_ssize_t n = 0
        cdef int seen = 0, which
        key = take_key(t, self.known.names)
        cdef bint is_variable = key != "."
        if is_variable and key and PyUnicode_READ_CHAR(key, 0) in ".\\":
            raise Unusual
        begin(var, header, self.known)
        expect(t, b"{")
        if next_byte(t) == b"}" and not is_variable:
            t.p += 1
            return key
        while True:
            next_byte(t)
            start = t.p
            name = take_name(t, self.known, is_variable, &which)
            if which & seen:
                raise Unusual
            seen |= which
            n += which == 0 or which == SIZE or which == TYPE or which == DIMS
            take_member(t, self.known, which, name, header, var, meta)
            if template is not None:
                template.add(which, name, start - first, t.p - first)
            if next_byte(t) != b",":
                break
            t.p += 1
        expect(t, b"}")
        if PyDict_Size(meta) != n:
            raise Unusual  # a name occurs twice
        finish(var, self.known)
        if is_variable and not seen & SIZE:
            PyDict_SetItem(meta, ".size", [])
        if is_variable and not seen & TYPE:
            PyDict_SetItem(meta, ".type", "float64")
        return key


cdef bint _same(object left, object right) except -1:
    """Whether two JSON values are the same, types of numbers and signs of zeros included."""
    cdef double first, second
    cdef Py_ssize_t i
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if type(left) is float:
        first, second = left, right
        return not memcmp(&first, &second, sizeof(double))
    if type(left) is list:
        if len(left) != len(right):
            return False
        for i in range(len(left)):
            if not _same((<list> left)[i], (<list> right)[i]):
                return False
        return True
    if type(left) is dict:
        if len(left) != len(right):
            return False
        for name, one in (<dict> left).items():
            if name not in right or not _same(one, right[name]):
                return False
        return True
    return left == right


cdef bint same_member(dict left, dict right, str name) except -1:
    """Whether a member of some name is the same, or absent from both."""
    cdef PyObject* one = PyDict_GetItemWithError(left, name)
    cdef PyObject* other = PyDict_GetItemWithError(right, name)
    return one == other or (one != NULL and other != NULL and _same(<object> one, <object> other))


cdef bint _same_members(dict left, dict right, frozenset names) except -1:
    """Whether members of some names are the same, or absent from both."""
    cdef PyObject* name
    cdef PyObject* value
    cdef PyObject* other_name
    cdef PyObject* other
    cdef Py_ssize_t i = 0, k = 0
    cdef bint goes_on = True
    while goes_on:  # as long as both have the same names in the same order, none is looked up
        goes_on = PyDict_Next(left, &i, &name, &value)
        if PyDict_Next(right, &k, &other_name, &other) != goes_on or (goes_on and name != other_name):
            break
        if goes_on and value != other and <str> name in names and not _same(<object> value, <object> other):
            return False
    else:
        return True
    for one in names:
        if not same_member(left, right, one):
            return False
    return True


def are_alike(dict left not None, dict right not None, frozenset names not None):
    """Return whether in the metadata of two files some members of each variable are the same, or absent from both.

    Of the attributes of the dataset this is asked of `.dtypes` only.
    """
    if len(left) != len(right):
        return False
    for key, entry in left.items():
        other = right.get(key)
        if other is None:
            return False
        if not (same_member(entry, other, DTYPES_KEY) if key == "." else _same_members(entry, other, names)):
            return False
    return True


cdef int _merge(dict left, dict right) except -1:
    cdef PyObject* name
    cdef PyObject* value
    cdef PyObject* other_name
    cdef PyObject* other
    cdef Py_ssize_t i = 0, k = 0
    cdef bint has_same_order = True
    while PyDict_Next(right, &k, &other_name, &other):
        if has_same_order:
            has_same_order = PyDict_Next(left, &i, &name, &value) and name == other_name
        if not has_same_order or value != other:
            PyDict_SetItem(left, <object> other_name, <object> other)
    return 0


def merge_entries(dict left not None, dict right not None):
    """Put the members of each entry of one metadata into those of another, which has the same keys."""
    for key, entry in left.items():
        _merge(entry, right[key])


cdef class Model:
    """A file which the next one may follow: that differs in attributes of the dataset, and in values, only.

    Parameters
    ----------
    line : bytes
        All before the body.
    last : int
        Where the value of the last member of the header may begin, if that are the attributes of the dataset, in bytes;
        0: nowhere.
    header : Header
        What the kernel has found in it.
    attributes : dict
        Those of the dataset, plain JSON values.
    """

    cdef bytes line
    cdef Py_ssize_t last
    cdef bint is_sure
    cdef Header header
    cdef dict attributes

    def __init__(self, bytes line not None, Py_ssize_t last, Header header not None, dict attributes not None):
        self.line, self.last, self.header, self.attributes = line, last, header, attributes
        self.is_sure = False

    def take(self, data not None, list sizes not None, list rooms not None, dict attributes not None):
        """Take a file that follows.

        Parameters
        ----------
        data : buffer
            The whole file.
        sizes, rooms
            As `append_numbers`.
        attributes : dict
            Those of the files before, plain JSON values; `.dtypes` among them has to be the same.

        Returns
        -------
        dict or None
            The attributes of the dataset in this file, plain JSON values; those of the model itself if the headers are
            equal. None if the file has not been taken: it does not follow, is unusual or damaged, or a requested
            variable is not of plain numbers.
        """
        cdef Py_buffer view
        cdef Py_ssize_t body = 0, size = PyBytes_GET_SIZE(self.line)
        cdef dict found = self.attributes
        if len(rooms) != len(self.header.keys):
            raise ValueError(f"{len(rooms)} rooms for {len(self.header.keys)} variables")
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if view.len >= size and not memcmp(view.buf, PyBytes_AS_STRING(self.line), size):
                body = size
            elif self.last and view.len > self.last and not memcmp(view.buf, PyBytes_AS_STRING(self.line), self.last):
                if not self.is_sure:
                    self.is_sure = self._attributes(PyBytes_AS_STRING(self.line), size, &body) is not None
                    self.last = self.last if self.is_sure else 0
                if self.is_sure:
                    found = self._attributes(<const char*> view.buf, view.len, &body)
            if not body or (found is not self.attributes and not same_member(attributes, found, DTYPES_KEY)):
                return None
            if append_values(self.header, body, &view, sizes, rooms):
                return None
            return found
        finally:
            PyBuffer_Release(&view)

    cdef dict _attributes(self, const char* data, Py_ssize_t size, Py_ssize_t* body):
        """Return the last member of a header, and where the body begins; None: there is something else, or unusual."""
        cdef Text t
        cdef dict found
        cdef Py_UCS4 first
        t.p = <const uint8_t*> data + self.last
        t.end = <const uint8_t*> memchr(t.p, b"\n", size - self.last)
        t.depth = 0
        body[0] = 0
        if t.end == NULL or next_byte(&t) != b"{":
            return None
        names = borrow_names()
        try:
            found = take_value(&t, names)
            for name in found:
                first = PyUnicode_READ_CHAR(name, 0) if name else 0
                if first == "\\" or (first == "." and name != DTYPES_KEY):
                    return None
            expect(&t, b"}")
            next_byte(&t)
            if t.p != t.end:
                return None
        except (Unusual, UnicodeDecodeError):
            return None
        finally:
            give_back(names)
        body[0] = t.end + 1 - <const uint8_t*> data
        return found
