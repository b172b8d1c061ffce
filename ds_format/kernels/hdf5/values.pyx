"""Attributes of HDF5 files → records and Python values.

Names, types, filters and attributes are alike in many objects and files. They are recalled by their bytes, of which
they are pure functions.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_SetItem
from cpython.list cimport PyList_Append, PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy, memmove

from ..common.words cimport load_u64
from .collections cimport free_collections, variable_value
from .datasets cimport read_filters
from .headers cimport DATATYPE, SHARED, Message, find_message, read_header, shared_address
from .heaps cimport Bytes
from .known cimport Known, check, note_unusual, u16, u64, unusual
from .spaces cimport Space, read_space
from .types cimport (
    NUL_ENDS, NUMBER, REFERENCES, SPACES, STRING, TEXT, Type, integer_at, is_array, numbers_of, parse_type,
)

cdef extern from *:
    """
    #define DS_MULTIPLIER 0x9E3779B97F4A7C15u
    """
    const uint64_t MULTIPLIER "DS_MULTIPLIER"

cdef enum:
    N_SETS = 512  # of values that are remembered: those whose hashes are alike
    WAYS = 4  # values of a set
    SLACK = 4096  # bytes: more than what is counted twice in the smallest file
    LONGEST = 1024  # bytes of one that is remembered
    N_TEXTS = 512  # attributes of strings that are remembered
    N_SHARED = 256  # attributes of an object that are remembered as a whole
    # topics
    NAME = 1
    TYPE = 2
    FILTER_LIST = 3
    ATTRIBUTE = 4
    # where an attribute belongs
    USUAL = 0
    LISTED = 1  # one string
    HIDDEN = 2
    # hidden attributes
    CLASS = 1
    TITLE = 2
    DIMENSION_ID = 3
    COORDINATES = 4
    DIMENSION_LIST = 5
    PROPERTIES = 6
    CLASSIC = 7
    REFERENCE_LIST = 8

cdef dict HIDDEN_NAMES = {
    "CLASS": CLASS, "NAME": TITLE, "_Netcdf4Dimid": DIMENSION_ID, "_Netcdf4Coordinates": COORDINATES,
    "DIMENSION_LIST": DIMENSION_LIST, "_NCProperties": PROPERTIES, "_nc3_strict": CLASSIC,
    "REFERENCE_LIST": REFERENCE_LIST,
}


@cython.final
cdef class Entry:
    """An attribute that is remembered."""

    cdef str name
    cdef object value
    cdef int where
    cdef bint is_pure  # it depends on the bytes of its message, and of its strings, alone
    cdef bint is_array


@cython.final
cdef class Memory:
    """Remembers a bounded number of values by the bytes of which they were made."""

    def __cinit__(self):
        self.slots = <Slot*> calloc(N_SETS * WAYS, sizeof(Slot))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int i
        if self.slots != NULL:
            for i in range(N_SETS * WAYS):
                Py_XDECREF(self.slots[i].key)
                Py_XDECREF(self.slots[i].value)
            free(self.slots)

    cdef object recall(self, int topic, const uint8_t* p, uint64_t size):
        """Return the value, or None."""
        cdef uint64_t hash
        cdef Slot* slot
        cdef int _
        if size > LONGEST:
            return None
        hash = _hash(p, size) + topic
        slot = &self.slots[hash % N_SETS * WAYS]
        for _ in range(WAYS):
            if slot.hash == hash and slot.key != NULL and PyBytes_GET_SIZE(<object> slot.key) == <Py_ssize_t> size \
                    and slot.topic == topic and memcmp(PyBytes_AS_STRING(<object> slot.key), p, size) == 0:
                return <object> slot.value
            slot += 1
        return None

    cdef int keep(self, int topic, const uint8_t* p, uint64_t size, object value) except -1:
        """Remember a value that is not yet, and forget one if there are too many like it."""
        cdef uint64_t hash
        cdef Slot* slot
        cdef Slot old
        if size > LONGEST:
            return 0
        key = PyBytes_FromStringAndSize(<const char*> p, size)
        hash = _hash(p, size) + topic
        slot = &self.slots[hash % N_SETS * WAYS]
        # the last of a set goes, the others move on
        old = slot[WAYS - 1]
        memmove(slot + 1, slot, (WAYS - 1) * sizeof(Slot))
        Py_INCREF(key)
        Py_INCREF(value)
        slot[0] = Slot(hash, <PyObject*> key, <PyObject*> value, topic)
        Py_XDECREF(old.key)
        Py_XDECREF(old.value)
        return 0


cdef inline uint64_t _hash(const uint8_t* p, uint64_t size) noexcept nogil:
    """Hash the size, the first bytes and the last ones. Messages that are recalled are compared as a whole."""
    cdef uint64_t hash = size * MULTIPLIER, last = 0
    if size < 8:
        memcpy(&last, p, size)
    else:
        hash = (hash ^ load_u64(p, False)) * MULTIPLIER
        last = load_u64(p + size - 8, False)
    if size > 32:
        hash = (hash ^ load_u64(p + 8, False) ^ hash >> 32) * MULTIPLIER
        hash = (hash ^ load_u64(p + 16, False) ^ hash >> 32) * MULTIPLIER
        hash = (hash ^ load_u64(p + size - 16, False) ^ hash >> 32) * MULTIPLIER
    hash = (hash ^ last ^ hash >> 32) * MULTIPLIER
    # twice, since the bits of numbers that differ are mostly high ones, and the set is in the low ones
    hash = (hash ^ hash >> 32) * MULTIPLIER
    return hash ^ hash >> 32


@cython.final
cdef class Attributes:
    """Attributes of one object; `shares`: they may be those of another one, and must not be changed."""

    def __cinit__(self, bint shares):
        self.usual, self.hidden, self.strings, self.n_other = {}, {}, [], 0
        self.shares, self.are_pure, self.entries = shares, True, [] if shares else None


@cython.final
cdef class Values:
    """Reads what has types.

    Parameters
    ----------
    type_record, attribute_record, filter_record : type
        Named tuples to make: `HDF5Type`, `HDF5Attribute`, `HDF5Filter` of `hdf5.records`.
    numbers : callable or None
        As of `objects.Parser`.
    netcdf : bool
        As of `objects.Parser.parse`.
    """

    def __init__(self, type type_record not None, type attribute_record not None, type filter_record not None,
                 numbers, bint netcdf):
        self.type_record, self.attribute_record, self.filter_record = type_record, attribute_record, filter_record
        self.numbers, self.netcdf = numbers, netcdf
        self.memory = Memory()
        self.committed_types, self.shared, self.texts = {}, {}, {}

    def __dealloc__(self):
        free(self.header.messages)
        free_collections(&self.collections)

    cdef int forget(self) except -1:
        """Forget everything of a file but what depends on its bytes alone."""
        free_collections(&self.collections)
        self.committed_types.clear()
        return 0

    cdef str name(self, Known* k, const uint8_t* p, uint64_t size):
        """Read a name, without a NUL at its end."""
        known = self.memory.recall(NAME, p, size)
        if known is not None:
            return <str> known
        if size == 0 or memchr(p, 0, size) != NULL:
            note_unusual(k, b"a name that is empty, or has a NUL")
        try:
            known = PyUnicode_DecodeUTF8(<const char*> p, size, NULL)
        except UnicodeDecodeError:
            note_unusual(k, b"a name that is not UTF-8")
            return PyUnicode_DecodeUTF8(<const char*> p, size, b"backslashreplace")
        if k.odd == NULL:
            self.memory.keep(NAME, p, size, known)
        return <str> known

    cdef Type type_of(self, Known* k, const Message* m):
        """Read a datatype message, which may be in the header of another object."""
        if m.flags & SHARED:
            return self.committed(k, shared_address(k, m.data, m.size, m.address))
        return self._type(k, m.data, m.size, m.address)

    cdef Type committed(self, Known* k, uint64_t address):
        cdef Message* m
        cdef Type found = <Type> self.committed_types.get(address)
        if found is not None:
            return found
        read_header(k, address, &self.header)
        m = find_message(&self.header, DATATYPE)
        if m == NULL or m.flags & SHARED:
            unusual(k, b"a committed type without a type", address)
        found = parse_type(k, m.data, m.size, m.address, self.type_record)
        found.record = found.record._replace(address=address)
        self.committed_types[address] = found
        return found

    cdef Type _type(self, Known* k, const uint8_t* p, uint64_t size, uint64_t address):
        cdef object known = self.memory.recall(TYPE, p, size)
        if known is None:
            known = parse_type(k, p, size, address, self.type_record)
            self.memory.keep(TYPE, p, size, known)
        return <Type> known

    cdef tuple filters(self, Known* k, const Message* m):
        """Read a filter pipeline message."""
        known = self.memory.recall(FILTER_LIST, m.data, m.size)
        if known is None:
            known = read_filters(k, m, self.filter_record)
            self.memory.keep(FILTER_LIST, m.data, m.size, known)
        return <tuple> known

    cdef int attribute(self, Known* k, const uint8_t* p, uint64_t size, uint64_t address, Attributes to) except -1:
        """Read an attribute message, or recall it."""
        k.decoded += size
        check(k, k.decoded <= k.size + SLACK, b"attribute", address, b"values of the file are more than its bytes")
        known = self.memory.recall(ATTRIBUTE, p, size)
        if known is None:
            return self._read_attribute(k, p, size, address, to)
        return _add(to, <Entry> known)

    cdef int _read_attribute(self, Known* k, const uint8_t* p, uint64_t size, uint64_t address,
                             Attributes to) except -1:
        cdef uint64_t head = 8, name_size, type_size, space_size, n, padding = 0
        cdef uint8_t version, flags
        cdef const uint8_t* start = p
        cdef const uint8_t* stop = p + size
        cdef const uint8_t* title
        cdef Type type_
        cdef Space space
        cdef int which, where = USUAL
        cdef Entry entry
        cdef object value = None
        check(k, size >= 9, b"attribute", address, b"it is too short")
        version, flags = p[0], p[1]
        if version == 1:
            flags, padding = 0, 7
        elif version == 3:
            head = 9
        elif version != 2:
            unusual(k, b"an attribute of an unknown version", address)
        if flags & ~1:
            unusual(k, b"an attribute with a shared dataspace", address)
        name_size, type_size, space_size = u16(p + 2), u16(p + 4), u16(p + 6)
        name_size, n = (name_size + padding) & ~padding, name_size
        type_size, space_size = (type_size + padding) & ~padding, (space_size + padding) & ~padding
        check(k, head + name_size + type_size + space_size <= size, b"attribute", address, b"it is too short")
        p += head
        title = <const uint8_t*> memchr(p, 0, n)
        check(k, title != NULL, b"attribute", address, b"its name has no end")
        n = title - p
        title = p
        name = self.name(k, title, n)
        which = HIDDEN_NAMES.get(name, 0)
        if not self.netcdf and which != DIMENSION_LIST:
            which = 0
        p += name_size
        if which == REFERENCE_LIST:
            to.n_other += 1
            return 0
        if flags & 1:
            type_ = self.committed(k, shared_address(k, p, type_size, address))
        else:
            type_ = self._type(k, p, type_size, address)
        p += type_size
        read_space(k, p, space_size, address, &space)
        p += space_size
        check(k, space.n <= <uint64_t> (stop - p) // type_.size, b"attribute", address,
              b"its values do not end within it")
        if which:
            where, value = HIDDEN, self._hidden(k, which, type_, &space, p)
            if value is None:
                value = self._record(k, type_, &space, p)
        else:
            value = self._value(k, type_, &space, p)
            if type_.kind == STRING and space.n == 1 and space.rank <= 1 \
                    or type_.kind == TEXT and space.n == 1 and space.rank == 1:
                where = LISTED
        is_text = type_.kind == STRING and where != HIDDEN and not flags & 1 and k.odd == NULL \
            and (type(value) is str or type(value) is list)
        if is_text:  # its characters are elsewhere in the file, where other files may have them at other positions
            form = PyBytes_FromStringAndSize(<const char*> start, p - start)
            key = form, tuple(value) if type(value) is list else value
            known = self.texts.get(key)
            if known is not None:
                return _add(to, <Entry> known)
            if len(self.texts) >= N_TEXTS:
                self.texts.clear()
        entry = Entry.__new__(Entry)
        entry.name, entry.value, entry.where = name, value, where
        entry.is_pure = is_text or (not flags & 1 and type_.kind <= TEXT)
        entry.is_array = isinstance(value, list) or is_array(value)
        if is_text:
            self.texts[key] = entry
        elif entry.is_pure and k.odd == NULL:
            self.memory.keep(ATTRIBUTE, start, size, entry)
        return _add(to, entry)

    cdef int finish(self, Attributes to) except -1:
        """Put together the attributes of an object, or recall them all."""
        cdef list entries = to.entries
        cdef Entry entry
        if entries is None:
            return 0
        key = tuple(entries)
        if to.are_pure:
            known = self.shared.get(key)
            if known is not None:
                to.usual, to.strings = <tuple> known
                return 0
        to.entries = None
        for entry in entries:
            _add(to, entry)
        if to.are_pure:
            if len(self.shared) >= N_SHARED:
                self.shared.clear()
            self.shared[key] = to.usual, to.strings
        return 0

    cdef object _value(self, Known* k, Type type_, const Space* space, const uint8_t* p):
        cdef Py_ssize_t length = <Py_ssize_t> space.n
        cdef Py_ssize_t i
        cdef list texts
        cdef bint is_one = not space.is_null and (space.rank == 0 or (self.netcdf and space.rank == 1 and length == 1))
        if type_.kind > STRING or space.rank > 1 or (self.netcdf and type_.kind == NUMBER and type_.code == "f2"):
            return self._record(k, type_, space, p)  # netCDF has no such numbers
        if type_.kind == NUMBER:
            if space.is_null and not self.netcdf:
                return None
            return numbers_of(type_, p, length, is_one, self.numbers)
        if space.is_null:
            return ""
        if is_one:
            return self._one_text(k, type_, p, space.rank == 1)
        texts = PyList_New(length)
        for i in range(length):
            text = self._one_text(k, type_, p + i * type_.size, True)
            Py_INCREF(text)
            PyList_SET_ITEM(texts, i, text)
        return texts

    cdef object _record(self, Known* k, Type type_, const Space* space, const uint8_t* p):
        cdef object data
        cdef uint64_t i
        if type_.kind == STRING and not self.netcdf:
            data = [self._one_text(k, type_, p + i * type_.size, True) for i in range(space.n)]
        else:
            data = PyBytes_FromStringAndSize(<const char*> p, space.n * type_.size)
        return self.attribute_record(type_.record, _shape(space), data)

    cdef object _one_text(self, Known* k, Type type_, const uint8_t* p, bint is_item):
        """Decode text: up to its first NUL, or without the padding at its end if it is alone and of fixed length.

        Unless it is netCDF's, the padding is that of its type, also in lists.
        """
        cdef Bytes text
        cdef const uint8_t* end
        if type_.kind == STRING:
            variable_value(k, &self.collections, p, 1, &text)
            k.decoded += text.size
            check(k, k.decoded <= k.size + SLACK, b"attribute", 0, b"values of the file are more than its bytes")
            is_item = True
        else:
            text.data, text.size = p, type_.size
            if not self.netcdf:
                is_item = type_.padding == NUL_ENDS
                while type_.padding == SPACES and text.size and text.data[text.size - 1] == c" ":
                    text.size -= 1
        if is_item:
            end = <const uint8_t*> memchr(text.data, 0, text.size)
            if end != NULL:
                text.size = end - text.data
        while text.size and text.data[text.size - 1] == 0:
            text.size -= 1
        return PyUnicode_DecodeUTF8(<const char*> text.data, text.size, b"surrogateescape")

    cdef object _hidden(self, Known* k, int which, Type type_, const Space* space, const uint8_t* p):
        """Return the value of an attribute by which netCDF-4 stores dimensions; None if its form is unusual."""
        cdef Bytes axis
        cdef tuple found
        cdef uint64_t i, j
        if which == CLASSIC:
            return True
        if space.is_null or space.rank > 1:
            return None
        if which == DIMENSION_LIST:
            if type_.kind != REFERENCES or space.rank != 1:
                return None
            found = PyTuple_New(space.n)
            for i in range(space.n):
                variable_value(k, &self.collections, p + 16 * i, 8, &axis)
                k.decoded += axis.size
                check(k, k.decoded <= k.size + SLACK, b"attribute", 0, b"values of the file are more than its bytes")
                addresses = tuple([u64(axis.data + 8 * j) for j in range(axis.size // 8)])
                Py_INCREF(addresses)
                PyTuple_SET_ITEM(found, i, addresses)
            return found
        if which == COORDINATES:
            if not type_.is_integer:
                return None
            return tuple([integer_at(p + i * type_.size, type_) for i in range(space.n)])
        if space.n != 1:
            return None
        if which == DIMENSION_ID:
            return integer_at(p, type_) if type_.is_integer else None
        if which == CLASS and type_.padding != NUL_ENDS or type_.kind not in (TEXT, STRING):
            return None
        return self._one_text(k, type_, p, space.rank == 1)


cdef inline int _add(Attributes to, Entry entry) except -1:
    cdef object value
    if entry.where == HIDDEN:
        return PyDict_SetItem(to.hidden, entry.name, entry.value)
    if to.entries is not None:
        to.are_pure &= entry.is_pure
        return PyList_Append(to.entries, entry)
    if entry.where == LISTED:
        PyList_Append(to.strings, entry.name)
    if entry.is_array and not to.shares:
        # the remembered one stays as it is
        value = entry.value.copy()
        return PyDict_SetItem(to.usual, entry.name, value)
    return PyDict_SetItem(to.usual, entry.name, entry.value)


cdef inline tuple _shape(const Space* space):
    cdef int i
    return None if space.is_null else tuple([space.shape[i] for i in range(space.rank)])
