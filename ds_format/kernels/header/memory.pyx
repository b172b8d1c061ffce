"""Entries of earlier headers, so that only the differences of a header are parsed.

The files of an archive usually have the same variables with equal entries, in the same order. So the last entry at each
position of a header is remembered as a template. The key is always bytes: a remembered object is used only if a file
has the same bytes, and is copied before it is returned. The functions at the end compare and merge the metadata of
successive files.
"""

from cpython.dict cimport PyDict_Copy, PyDict_Next, PyDict_SetItem, PyDict_Size
from cpython.list cimport PyList_GetSlice
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from ..common.words cimport load_u64
from ..json.decode cimport Text, expect, follows, next_byte, take_key
from .header cimport (
    DIMS, DTYPES, LEN, OFFSET, SIZE, TYPE, Header, TypeTable, Variable, begin, finish, take_member, take_name
)

from ..json.decode import Unusual

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX
    PyObject* PyDict_GetItemWithError(object items, object key) except? NULL
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef enum:
    MAX_SIZE = 2048  # bytes of an entry that is remembered
    POSITIONS = OFFSET | LEN  # members that are not metadata
    MANY = 4  # successive entries with the same different position, after which it is remembered

cdef str DTYPES_KEY = ".dtypes"
cdef frozenset PLAIN = frozenset((str, int, float, bool, type(None)))


cdef uint64_t _hash(const uint8_t* text, Py_ssize_t size) noexcept:
    """Return a hash of a text."""
    cdef uint64_t hash = <uint64_t> size, word = 0
    cdef Py_ssize_t i = 0
    while size - i >= 8:
        hash = (hash ^ load_u64(text + i, False)) * 0x9E3779B97F4A7C15u
        hash ^= hash >> 32
        i += 8
    memcpy(&word, text + i, size - i)
    return (hash ^ word) * 0x9E3779B97F4A7C15u


cdef Py_ssize_t _common(const uint8_t* text, const uint8_t* other, Py_ssize_t size) noexcept nogil:
    """Return how many of the first bytes are equal."""
    cdef Py_ssize_t i = 0
    while size - i >= 8 and load_u64(text + i, False) == load_u64(other + i, False):
        i += 8
    while i < size and text[i] == other[i]:
        i += 1
    return i


cdef object _copied(object value):
    """Return a deep copy of a value of metadata."""
    if type(value) is dict:
        return {name: _copied(inner) for name, inner in (<dict> value).items()}
    if type(value) is list:
        return [_copied(inner) for inner in <list> value]
    return value.copy() if _is_array(value) else value


cdef bint _is_array(object value) except -1:
    """Return whether a value is a NumPy array. NumPy is not imported for this."""
    return type(value) not in PLAIN and getattr(value, "ndim", 0) > 0


cdef bint _is_flat(object value) except -1:
    """Return whether a value is a list of immutable items."""
    return type(value) is list and PLAIN.issuperset(map(type, value))


cdef class Original:
    """Metadata of which only copies are returned.

    Parameters
    ----------
    meta : dict
        Neither it nor a value in it may be changed afterwards.
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
        """Return a deep copy."""
        cdef dict meta = <dict> PyDict_Copy(self.meta)
        cdef Py_ssize_t i
        for i in range(0, len(self.lists), 2):
            PyDict_SetItem(meta, self.lists[i], PyList_GetSlice(self.lists[i + 1], 0, PY_SSIZE_T_MAX))
        for i in range(0, len(self.deep), 2):
            PyDict_SetItem(meta, self.deep[i], _copied(self.deep[i + 1]))
        return meta


cdef class Template:
    """A parsed entry, with its text, and the position of each member in the text."""

    def __cinit__(self):
        self.names = []

    def __dealloc__(self):
        PyMem_Free(self.text)

    cdef int add(self, int property, str name, Py_ssize_t start, Py_ssize_t stop) except -1:
        """Add the next member."""
        if self.n < MAX_MEMBERS:
            self.members[self.n] = Member(property, start, stop, 0)
            self.names.append(name)
        self.n += 1
        return 0

    cdef bint fill(
        self, const uint8_t* text, Py_ssize_t size, str key, dict meta, Header header, Variable* var
    ) except -1:
        """Store the parsed entry, after all members were added. Return False if it is too large to be remembered."""
        cdef int i
        if size > MAX_SIZE or self.n > MAX_MEMBERS or var.ndim > MAX_DIMS:
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
        """Return a copy of its metadata; see `Parser.parse` for `typed`."""
        if typed is None or not self.var.flags & DTYPES:
            return self.meta.copy()
        if self.typed is None:
            self.typed = Original(typed(self.meta.copy()))
        return self.typed.copy()

    cdef int put(self, Header header, Variable* var) except -1:
        """Copy the variable of this entry into a header."""
        cdef int i
        var[0] = self.var
        var.first = header.n_sizes
        for i in range(max(self.var.ndim, 0)):
            var.ndim = i
            header.add_size(var, self.sizes[i])
        return 0

    cdef object follow(self, Text* t, TypeTable table, Header header, Variable* var, bint is_requested):
        """Take an entry with the same members in the same order, whose values may differ; None for any other entry.

        Return its metadata, or the template if these are the same. Positions of this entry become those of the
        template where their text has the same size.
        """
        cdef dict meta = None
        cdef Member* member
        cdef const uint8_t* start
        cdef uint64_t hash
        cdef Py_ssize_t at = 0, same  # position in the text of this entry that corresponds to `t.p`
        cdef int i = 0, property
        if self.n == 0:
            return None
        self.put(header, var)
        while True:
            same = _common(t.p, self.text + at, min(t.end - t.p, self.size - at))
            while i < self.n and self.members[i].stop - at < same:  # a number may go on behind its last equal digit
                i += 1
            if i == self.n:
                t.p += self.members[i - 1].stop - at
                break
            member = &self.members[i]
            if same < member.start - at:
                return None
            start = t.p = t.p + member.start - at
            if next_byte(t) == b"}":
                return None
            name = take_name(t, table, self.key != ".", &property)
            if property != member.property or name != self.names[i]:
                return None
            if meta is None and not property & POSITIONS:
                meta = self.meta.copy() if is_requested else {}
            take_member(t, table, property, name, header, var, meta)
            if property & POSITIONS and t.p - start == member.stop - member.start:
                memcpy(self.text + member.start, start, t.p - start)
                if property == OFFSET:
                    self.var.offset = var.offset
                else:
                    self.var.length = var.length
            else:
                hash = _hash(start, t.p - start)
                member.repeats = member.repeats + 1 if hash == member.other else 0
                member.other = hash
                self.is_stale |= member.repeats >= (MANY if property & POSITIONS else 1)
            i, at = i + 1, member.stop
            if i == self.n:
                break
        if next_byte(t) != b"}":
            return None
        t.p += 1
        finish(var, table)
        return self if meta is None else meta


cdef bint _is_known(list known, Py_ssize_t i, Template template) except -1:
    """Return whether an entry is as that of the file before, by their templates, and remember it; see `take_entry`."""
    if known is None:
        return False
    if i == len(known):
        known.append(template)
        return False
    before, known[i] = known[i], template
    return template is not None and before is template


cdef int _put_meta(dict out, str key, dict meta, Variable* var, object typed) except -1:
    PyDict_SetItem(out, key, meta if typed is None or not var.flags & DTYPES else typed(meta))
    return 0


cdef class Memory:
    """Templates by the positions of entries, for a single call at a time.

    Parameters
    ----------
    types : dict
        Name of each type → its number.
    """

    def __cinit__(self, dict types not None):
        self.table = TypeTable(types)
        self.templates = [None] * MAX_ENTRIES

    cdef str take_entry(
        self, Text* t, Py_ssize_t i, Header header, Variable* var, object requested, object typed, list known, dict out
    ):
        """Take the next entry, and return its key.

        Parameters
        ----------
        t : Text
            At the name of the entry.
        i : int
            Position of the entry: the number of entries before it.
        header, var
            Output: position and type of the variable.
        requested : collection of str or None
            Variables whose metadata to return; None: all.
        typed : callable or None
            See `Parser.parse`.
        known : list of Template or None
            See `Parser.parse`.
        out : dict
            Output: key → metadata, if they are requested.
        """
        cdef Template template = <Template> self.templates[i] if i < MAX_ENTRIES else None
        cdef const uint8_t* start = t.p
        cdef Py_ssize_t n_sizes = header.n_sizes
        cdef object taken
        cdef dict meta
        cdef str key
        cdef bint is_requested, is_kept = i < MAX_ENTRIES
        if template is not None:
            key = template.key
            is_requested = requested is None or key == "." or key in requested
            if follows(t, template.text, template.size):
                template.put(header, var)
                taken = template
            else:
                taken = template.follow(t, self.table, header, var, is_requested)
                if taken is not None:
                    self.refused[i] = False
                    if template.is_stale:
                        self.templates[i] = None
            if taken is template:
                if (not _is_known(known, i, template) or key == ".") and is_requested:
                    PyDict_SetItem(out, key, template.copy(typed))
                return key
            if taken is not None:
                _is_known(known, i, None)
                if is_requested:
                    _put_meta(out, key, <dict> taken, var, typed)
                return key
            t.p = start
            header.n_sizes = n_sizes
            is_kept = self.refused[i]  # the template is replaced only after two successive entries that differ
            self.refused[i] = not is_kept
        template = Template.__new__(Template) if is_kept else None
        meta = {}
        key = self._read(t, header, var, template, meta)
        if is_kept:
            template = template if template.fill(start, t.p - start, key, meta, header, var) else None
            self.templates[i] = template
        _is_known(known, i, template)
        if requested is None or key == "." or key in requested:
            _put_meta(out, key, meta, var, typed)
        return key

    cdef str _read(self, Text* t, Header header, Variable* var, Template template, dict meta):
        """Take an entry, member by member, and add these to a template, unless it is None."""
        cdef const uint8_t* first = t.p
        cdef const uint8_t* start
        cdef Py_ssize_t n = 0
        cdef int seen = 0, property
        key = take_key(t, self.table.names)
        cdef bint is_variable = key != "."
        if is_variable and key and PyUnicode_READ_CHAR(key, 0) in ".\\":
            raise Unusual
        begin(var, header, self.table)
        expect(t, b"{")
        if next_byte(t) == b"}" and not is_variable:
            t.p += 1
            return key
        while True:
            next_byte(t)
            start = t.p
            name = take_name(t, self.table, is_variable, &property)
            if property & seen:
                raise Unusual
            seen |= property
            n += property == 0 or property == SIZE or property == TYPE or property == DIMS
            take_member(t, self.table, property, name, header, var, meta)
            if template is not None:
                template.add(property, name, start - first, t.p - first)
            if next_byte(t) != b",":
                break
            t.p += 1
        expect(t, b"}")
        if PyDict_Size(meta) != n:
            raise Unusual  # a name occurs twice
        finish(var, self.table)
        if is_variable and not seen & SIZE:
            PyDict_SetItem(meta, ".size", [])
        if is_variable and not seen & TYPE:
            PyDict_SetItem(meta, ".type", "float64")
        return key


cdef bint _same(object left, object right) except -1:
    """Return whether two JSON values are equal, types of numbers and signs of zeros included."""
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
    """Return whether two dicts have the same value for a name, or both do not have it."""
    cdef PyObject* one = PyDict_GetItemWithError(left, name)
    cdef PyObject* other = PyDict_GetItemWithError(right, name)
    return one == other or (one != NULL and other != NULL and _same(<object> one, <object> other))


cdef bint _same_members(dict left, dict right, frozenset names) except -1:
    """Return whether two dicts have the same values for some names; a name may be missing from both."""
    cdef PyObject* name
    cdef PyObject* value
    cdef PyObject* other_name
    cdef PyObject* other
    cdef Py_ssize_t i = 0, k = 0
    cdef bint goes_on = True
    while goes_on:  # no look-ups are necessary as long as both have the same names in the same order
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
    """Return whether the metadata of two files have the same variables, with the same values for some names.

    A name may be missing from both. Among attributes of the dataset, only `.dtypes` is compared.
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
    """Copy all members of the entries of `right` into the entries of `left`, which has the same keys."""
    for key, entry in left.items():
        _merge(entry, right[key])
