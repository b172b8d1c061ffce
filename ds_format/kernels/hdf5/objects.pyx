"""The bytes of an HDF5 file → the records of its objects, in one pass.

Everything that the metadata alone decide is checked here, and all checksums are compared. Damage is a FormatError.
The record of a file that is left to the libraries says why, and has the objects that are not unusual.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memchr, memcmp

from .datasets cimport CHUNKED, VIRTUAL, Layout, read_fill, read_layout
from .headers cimport (
    ATTRIBUTE, ATTRIBUTE_INFO, CACHE_IMAGE, DATASPACE, DATATYPE, DRIVER_INFO, EXTERNAL, FILTERS, LAYOUT, LINK_INFO,
    SHARED, SHARED_TABLE, SYMBOL_TABLE, TRACKED, Header, Message, check_shared, find_message, read_header,
)
from .heaps cimport Bytes, Heap, close_heap, heap_object, open_dense
from .known cimport (
    SHORT, UNDEFINED, Known, bytes_at, check, check_sum, fail, go_on, grown, note_unusual, u32, u64, unusual,
)
from .links cimport Link, Links, read_links
from .segments cimport Segments
from .spaces cimport Space, read_space
from .trees cimport Records, read_tree
from .types cimport Type
from .values cimport Attributes, Values

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        object (*tp_new)(type kind, tuple arguments, PyObject* keywords)

cdef enum:
    NAME_TREE = 8  # type of the B-tree of dense attributes by name
    RECORD = 17  # bytes of its records
    MAX_DEPTH = 32  # groups in groups
    SLASH = 0x2F
    IN_USE = 5  # flags of a file that is being written
    IDLE = 8  # most readers that are kept for others

cdef tuple KINDS = ("compact", "contiguous", "chunked", "unusual")
cdef tuple INDEXES = ("btree1", "single", "implicit", "fixed", "extensible", "btree2")


cdef struct Item:  # the message of an attribute
    uint64_t order
    uint64_t address
    const uint8_t* data
    uint64_t size


cdef int _by_order(const void* a, const void* b) noexcept nogil:
    cdef uint64_t one = (<const Item*> a).order, other = (<const Item*> b).order
    return (one > other) - (one < other)


cdef inline object _record(type kind, tuple values):
    """Make a named tuple, without the look-up of a method."""
    return (<PyTypeObject*> tuple).tp_new(kind, (values,), NULL)


@cython.final
cdef class Reader:
    """Reads one file after another."""

    cdef Known* k
    cdef Header header
    cdef Item* items
    cdef Py_ssize_t n_items, room
    cdef Values values
    cdef type group_record, dataset_record, layout_record, file_record
    cdef list groups, datasets, types, links
    cdef set seen
    cdef bint is_ordered, shares

    def __dealloc__(self):
        free(self.header.messages)
        free(self.items)

    cdef object read(self, Known* k, Segments known):
        """Return the file; it may be incomplete if bytes are needed."""
        self.k = k
        self.groups, self.datasets, self.types, self.links, self.seen, self.is_ordered = [], [], [], [], set(), True
        try:
            self._group("", self._root(), -1, 0)
        except EOFError:
            go_on(k)
        finally:
            found = self.groups, self.datasets, self.types, self.is_ordered, self.links, known.oddity()
            self.groups = self.datasets = self.types = self.links = self.seen = None
            self.values.forget()
        return _record(self.file_record, found)

    cdef uint64_t _root(self) except? 0:
        """Read the superblock, and return the address of the root group."""
        cdef Known* k = self.k
        cdef const uint8_t* p
        cdef uint64_t shift, base, end, root, extension = UNDEFINED
        cdef uint8_t version
        if k.size < 48:
            fail(k, SHORT, b"superblock", 0, b"", k.size, 48)
        p = bytes_at(k, 0, 48, b"superblock")
        if memcmp(p, b"\x89HDF\r\n\x1a\n", 8):
            unusual(k, b"the file does not begin with HDF5: a user block")
        version = p[8]
        if version > 3:
            unusual(k, b"a superblock of an unknown version")
        if version < 2:
            if k.size < 100:
                fail(k, SHORT, b"superblock", 0, b"", k.size, 100)
            p = bytes_at(k, 0, 100, b"superblock")
            shift = 4 * version
            if p[13] != 8 or p[14] != 8:
                unusual(k, b"addresses or sizes that do not have 8 bytes")
            base, end, root = u64(p + 24 + shift), u64(p + 40 + shift), u64(p + 64 + shift)
            if u64(p + 48 + shift) != UNDEFINED:
                unusual(k, b"a driver that spreads the file")
        else:
            if p[9] != 8 or p[10] != 8:
                unusual(k, b"addresses or sizes that do not have 8 bytes")
            check_sum(k, p, 44, b"superblock", 0)
            if version == 3 and p[11] & IN_USE:
                unusual(k, b"the file is open for writing, or was not closed")
            base, extension, end, root = u64(p + 12), u64(p + 20), u64(p + 28), u64(p + 36)
        # all addresses are relative to the superblock, and the end is the base address further on
        check(k, base <= end, b"superblock", 0, b"the file ends before it begins")
        end -= base
        if end > k.size:
            fail(k, SHORT, b"superblock", 0, b"", k.size, end)
        k.size = end
        if extension != UNDEFINED:
            read_header(k, extension, &self.header)
            if find_message(&self.header, DRIVER_INFO) != NULL or find_message(&self.header, CACHE_IMAGE) != NULL:
                unusual(k, b"a driver that spreads the file, or an image of the cache")
            k.has_shared = find_message(&self.header, SHARED_TABLE) != NULL
        return root

    cdef int _group(self, str name, uint64_t address, int64_t order, int depth) except -1:
        """Read a group and what is in it."""
        cdef Known* k = self.k
        cdef Links links
        cdef Py_ssize_t i
        cdef list inner = []
        cdef tuple one
        if depth > MAX_DEPTH:
            unusual(k, b"groups that are nested too deep", address)
        if not depth:
            self.seen.add(address)
        read_header(k, address, &self.header)
        links.items, links.n, links.room = NULL, 0, 0
        try:
            try:
                read_links(k, &self.header, &links)
            except EOFError:
                go_on(k)
            self.is_ordered &= links.is_tracked
            attributes = self._attributes()
            found = name, address, order, attributes.usual, attributes.strings, attributes.hidden
            self.groups.append(_record(self.group_record, found))
            for i in range(links.n):
                try:
                    self._link(name, &links.items[i], links.is_tracked, inner)
                except EOFError:
                    go_on(k)  # others may lack bytes, too: these are read together
        finally:
            free(links.items)
        for one in inner:
            try:
                self._group(one[0], one[1], one[2], depth + 1)
            except EOFError:
                go_on(k)
        return 0

    cdef int _link(self, str group, const Link* link, bint is_tracked, list inner) except -1:
        """Read an object; of a soft link, and of an object that was read, only the target."""
        cdef Known* k = self.k
        cdef int64_t order = <int64_t> link.order if is_tracked else -1
        cdef str name = self.values.name(k, link.name, link.size)
        cdef object target
        if memchr(link.name, SLASH, link.size) != NULL:
            note_unusual(k, b"a link whose name has a slash")
        if group:
            name = f"{group}/{name}"
        if link.target != NULL:
            target = self.values.name(k, link.target, link.target_size)
        else:
            target = link.address
            if target not in self.seen:
                self.seen.add(target)
                return self._object(name, link.address, order, inner)
        self.links.append((name, order, target))
        return 0

    cdef int _object(self, str name, uint64_t address, int64_t order, list inner) except -1:
        """Read an object, except for a group, which is read after the other objects."""
        cdef Known* k = self.k
        cdef Header* h = &self.header
        read_header(k, address, h)
        if find_message(h, LAYOUT) != NULL:
            self._dataset(name, address, order)
        elif find_message(h, LINK_INFO) != NULL or find_message(h, SYMBOL_TABLE) != NULL:
            inner.append((name, address, order))
        elif find_message(h, DATATYPE) != NULL and find_message(h, DATASPACE) == NULL:
            self.types.append((name, self.values.committed(k, address).record))
        else:
            note_unusual(k, b"an object of an unknown kind", address)
        return 0

    cdef int _dataset(self, str name, uint64_t address, int64_t order) except -1:
        cdef Known* k = self.k
        cdef Header* h = &self.header
        cdef const Message* m = find_message(h, DATATYPE)
        cdef const Message* other = find_message(h, DATASPACE)
        cdef Space space
        cdef Type type_
        cdef tuple filters = ()
        cdef bint is_written
        check(k, m != NULL and other != NULL, b"object header", address, b"a dataset without a type or a dataspace")
        type_ = self.values.type_of(k, m)
        if other.flags & SHARED:
            unusual(k, b"a shared dataspace", address)
        read_space(k, other.data, other.size, other.address, &space)
        m = find_message(h, FILTERS)
        if m != NULL:
            filters = self.values.filters(k, m)
        layout = self._layout(&space, type_.size)
        fill = read_fill(k, h, type_.size, &is_written)
        shape = None if space.is_null else _numbers(space.shape, space.rank)
        attributes = self._attributes()
        found = (
            name, address, order, type_.record, shape, _maxima(&space), layout, filters, fill, is_written,
            attributes.usual, attributes.strings, attributes.hidden,
        )
        self.datasets.append(_record(self.dataset_record, found))
        return 0

    cdef object _layout(self, const Space* space, uint32_t size):
        cdef Layout layout
        cdef tuple found
        if find_message(&self.header, EXTERNAL) != NULL:
            layout.kind = VIRTUAL
        else:
            read_layout(self.k, find_message(&self.header, LAYOUT), space, size, &layout)
        if layout.kind == VIRTUAL:
            found = "unusual", None, 0, None, None, (), 0
        else:
            found = (
                KINDS[layout.kind],
                None if layout.address == UNDEFINED else <object> layout.address,
                layout.size,
                _numbers(layout.chunk, layout.rank) if layout.kind == CHUNKED else None,
                INDEXES[layout.index] if layout.kind == CHUNKED else None,
                _numbers(layout.parameters, layout.n_parameters),
                layout.flags,
            )
        return _record(self.layout_record, found)

    cdef Attributes _attributes(self):
        """Read the attributes of an object."""
        cdef Known* k = self.k
        cdef Header* h = &self.header
        cdef Message* m
        cdef Py_ssize_t i
        cdef bint is_sorted = True
        cdef Attributes found = Attributes.__new__(Attributes, self.shares)
        self.n_items = 0
        for i in range(h.n):
            m = &h.messages[i]
            if m.type == ATTRIBUTE:
                if m.flags & SHARED:
                    note_unusual(k, b"a shared attribute", m.address)
                else:
                    self._add(m.order, m.data, m.size, m.address)
            elif m.type == ATTRIBUTE_INFO:
                try:
                    self._dense(m)
                except EOFError:
                    go_on(k)
        if h.flags & TRACKED:
            for i in range(1, self.n_items):
                is_sorted &= self.items[i].order > self.items[i - 1].order
            if not is_sorted:
                qsort(self.items, self.n_items, sizeof(Item), &_by_order)
        i = 0
        while i < self.n_items:
            try:
                while i < self.n_items:  # most objects have many, and no fault
                    self.values.attribute(k, self.items[i].data, self.items[i].size, self.items[i].address, found)
                    i += 1
            except EOFError:
                go_on(k)
                i += 1
        self.values.finish(found)
        if not self.values.netcdf and not h.flags & TRACKED:
            found.usual = dict(sorted(found.usual.items()))
        if not k.n_needed and len(found.usual) + len(found.hidden) + found.n_other != self.n_items:
            note_unusual(k, b"two attributes with the same name", h.address)
        return found

    cdef int _add(self, uint64_t order, const uint8_t* data, uint64_t size, uint64_t address) except -1:
        if self.n_items == self.room:
            self.items = <Item*> grown(self.items, &self.room, sizeof(Item))
        self.items[self.n_items] = Item(order, address, data, size)
        self.n_items += 1
        return 0

    cdef int _dense(self, const Message* m) except -1:
        """Find attributes that are in a heap."""
        cdef Known* k = self.k
        cdef uint64_t tree_address, i
        cdef Heap heap
        cdef Records records
        cdef Bytes one
        cdef const uint8_t* record
        if not open_dense(k, m, b"attribute info message", 2, 8, &heap, &tree_address):
            return 0
        records.owned = NULL
        try:
            read_tree(k, tree_address, NAME_TREE, RECORD, &records)
            for i in range(records.n):
                record = records.data + RECORD * i
                try:
                    if record[8] & SHARED:
                        check_shared(k, b"B-tree of attributes", tree_address)
                        note_unusual(k, b"a shared attribute", tree_address)
                    else:
                        heap_object(k, &heap, record, &one)
                        self._add(u32(record + 9), one.data, one.size, one.address)
                except EOFError:
                    go_on(k)
        finally:
            free(records.owned)
            close_heap(&heap)
        return 0


cdef tuple _numbers(const uint64_t* values, int n):
    cdef tuple found = PyTuple_New(n)
    cdef object one
    cdef int i
    for i in range(n):
        one = values[i]
        Py_INCREF(one)
        PyTuple_SET_ITEM(found, i, one)
    return found


cdef tuple _maxima(const Space* space):
    cdef int i
    return tuple([-1 if space.most[i] == UNDEFINED else <object> space.most[i] for i in range(space.rank)])


@cython.final
cdef class Parser:
    """Parses files, and remembers what is alike in them.

    Parameters
    ----------
    records : tuple of type
        `HDF5Type`, `HDF5Attribute`, `HDF5Filter`, `HDF5Layout`, `HDF5Dataset`, `HDF5Group` and `HDF5File` of
        `hdf5.records`.
    numbers : callable, optional
        Makes the numbers of an attribute from a number of Python or a list of them, and the NumPy kind and bytes of one
        (`f4`). By default, they are a scalar or an array of NumPy.
    """

    cdef tuple records
    cdef object numbers
    cdef list plain, netcdf

    def __init__(self, tuple records not None, numbers=None):
        self.records, self.numbers = records, numbers
        self.plain, self.netcdf = [], []

    def parse(self, list segments not None, uint64_t file_size, bint netcdf=False, bint share=False):
        """Read the metadata of a file.

        Parameters
        ----------
        segments : list of (int, C-contiguous buffer)
            Bytes of the file and where they begin, in order and apart from each other.
        file_size : int
            Bytes of the whole file.
        netcdf : bool
            Whether attributes are given as netCDF has them; see `hdf5.records.HDF5Dataset`.
        share : bool
            With `netcdf`, whether attributes of an object may be the same dict as those of another one that has the
            same. Then they must not be changed, nor their values.

        Returns
        -------
        HDF5File or list of (int, int)
            A list: offsets and sizes of bytes that are needed as well.

        Raises
        ------
        FormatError
            If the file is damaged: with the structure and its position.
        TruncatedError
            If it is shorter than it says.
        """
        cdef list idle = self.netcdf if netcdf else self.plain
        cdef Segments known = Segments.__new__(Segments)
        cdef Reader reader
        known.take(segments, file_size)
        try:
            reader = <Reader> idle.pop()
        except IndexError:
            reader = self._reader(netcdf)
        try:
            reader.shares = share and netcdf
            found = reader.read(&known.k, known)
            if known.k.n_needed:
                found = known.needed()
        except EOFError:
            raise known.error(None) from None
        finally:
            if len(idle) < IDLE:
                idle.append(reader)
        return found

    cdef Reader _reader(self, bint netcdf):
        cdef Reader reader = Reader.__new__(Reader)
        cdef tuple records = self.records
        reader.values = Values(records[0], records[1], records[2], self.numbers, netcdf)
        reader.layout_record, reader.dataset_record = records[3], records[4]
        reader.group_record, reader.file_record = records[5], records[6]
        return reader
