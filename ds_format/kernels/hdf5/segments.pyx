"""Bytes from Python → known bytes of a file; lacking bytes, and faults → Python.

Structures that reading does not need are checked, and what two files say is compared. Nothing here needs NumPy.
"""

from ...errors import FormatError, TruncatedError

cimport cython
from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport Py_EQ
from libc.stdint cimport uint64_t, uint8_t
from libc.stdlib cimport calloc, free

from .headers cimport ATTRIBUTE_INFO, LINK_INFO, Header, Message, find_message, read_header
from .heaps cimport Heap, close_heap, open_dense
from .known cimport (
    DAMAGED, LACKING, MISMATCH, NONE, SHORT, UNDEFINED, UNUSUAL, Known, Segment, bytes_at, check, structure, u64
)
from .trees cimport Records, read_tree


@cython.final
cdef class Segments:
    """Holds the bytes of a file that are known."""

    def __dealloc__(self):
        self.release()
        free(self.k.needed)

    cdef int take(self, list segments, uint64_t size) except -1:
        """Take bytes of a file of `size` bytes.

        Parameters
        ----------
        segments : list of (int, C-contiguous buffer)
            Where they begin, in order and apart from each other, and the bytes. `release` gives them back.
        size : int
            Bytes of the whole file.
        """
        cdef Py_ssize_t n = PyList_GET_SIZE(segments)
        cdef Py_buffer* view
        cdef uint64_t begin
        self.views = <Py_buffer*> calloc(n + 1, sizeof(Py_buffer))
        self.k.segments = <Segment*> calloc(n + 1, sizeof(Segment))
        if self.views == NULL or self.k.segments == NULL:
            raise MemoryError
        for start, data in segments:
            begin = start
            view = &self.views[self.n_views]
            PyObject_GetBuffer(data, view, PyBUF_SIMPLE)
            self.n_views += 1
            if begin > size or <uint64_t> view.len > size - begin:
                raise ValueError(f"{view.len} bytes from {begin} on are not within {size} bytes")
            self.k.segments[self.k.n] = Segment(begin, begin + <uint64_t> view.len, <const uint8_t*> view.buf)
            self.k.n += 1
        self.k.size = size
        self.k.visited = self.k.decoded = self.k.n_needed = 0
        self.k.fault, self.k.odd, self.k.has_shared = NONE, NULL, False
        return 0

    cdef int release(self) except -1:
        """Give the bytes back."""
        cdef Py_ssize_t i
        for i in range(self.n_views):
            PyBuffer_Release(&self.views[i])
        free(self.views)
        free(self.k.segments)
        free(self.k.seen)
        self.views, self.n_views, self.k.segments, self.k.n = NULL, 0, NULL, 0
        self.k.seen, self.k.n_seen, self.k.n_slots = NULL, 0, 0
        return 0

    cdef list needed(self):
        """Return offsets and sizes of bytes that are needed as well."""
        cdef Py_ssize_t i
        return [(self.k.needed[i].start, self.k.needed[i].end - self.k.needed[i].start) for i in range(self.k.n_needed)]

    cdef str oddity(self):
        """Return why a library must read the file; empty: nothing is unusual."""
        if self.k.odd == NULL:
            return ""
        reason = (<bytes> self.k.odd).decode()
        return f"{reason} at {self.k.odd_address}" if self.k.odd_address else reason

    cdef object error(self, object unusual):
        """Return the error that the fault is; `unusual` makes the one for files that are left to the libraries."""
        cdef str reason, where
        if self.k.fault == UNUSUAL:
            return unusual(self.oddity())
        reason = (<bytes> self.k.reason).decode()
        where = f"{(<bytes> self.k.what).decode()} at {self.k.address}"
        if self.k.fault == SHORT:
            return TruncatedError(
                f"superblock: found {self.k.found} bytes in the file, expected {self.k.expected}: "
                "perhaps a copy was interrupted")
        if self.k.fault == MISMATCH:
            return FormatError(f"{where}: checksum 0x{self.k.found:08x}, expected 0x{self.k.expected:08x}")
        if self.k.fault != DAMAGED:
            return RuntimeError("no fault was found")
        if self.k.expected:
            return FormatError(f"{where}: {reason}: found {self.k.found}, expected at most {self.k.expected}")
        return FormatError(f"{where}: {reason}")


cdef enum:
    INDEXED = 2  # flag of an info message: it has the address of a B-tree by creation order
    # types of these, and bytes of their records
    LINK_ORDERS = 6
    LINK_RECORD = 15
    ATTRIBUTE_ORDERS = 9
    ATTRIBUTE_RECORD = 13
    FREE_SPACE_SIZE = 82  # bytes of the header
    SECTIONS_FRAME = 17  # bytes of a list of sections besides these: signature, version, address, checksum


def check_unread(list segments not None, uint64_t file_size, list addresses not None, unusual):
    """Check the structures that reading the objects of a file does not need.

    Parameters
    ----------
    segments : list of (int, C-contiguous buffer)
        Bytes of the file and where they begin, in order and apart from each other.
    file_size : int
        Bytes of the whole file.
    addresses : list of int
        Positions of the object headers.
    unusual : type
        The exception for structures that are not known. It takes a reason.

    Returns
    -------
    list of (int, int), or None
        Offsets and sizes of bytes that are needed as well. None: all of them are right.

    Raises
    ------
    FormatError
        If a structure is damaged: with its position.
    Exception
        The one that was given, if a structure is not known.
    """
    cdef Segments known = Segments()
    cdef Known* k = &known.k
    cdef Header header
    header.messages, header.n, header.room = NULL, 0, 0
    known.take(segments, file_size)
    try:
        for address in addresses:
            try:
                read_header(k, address, &header)
                _check_info(k, find_message(&header, LINK_INFO), b"link info message", 8, 7, LINK_ORDERS, LINK_RECORD)
                _check_info(k, find_message(&header, ATTRIBUTE_INFO), b"attribute info message", 2, 8,
                            ATTRIBUTE_ORDERS, ATTRIBUTE_RECORD)
            except EOFError:
                # other objects may lack bytes, too
                if k.fault != LACKING:
                    raise
    except EOFError:
        raise known.error(unusual) from None
    finally:
        free(header.messages)
        found = known.needed()
        known.release()
    return found or None


cdef int _check_info(
    Known* k, const Message* m, const char* what, uint64_t order_size, int id_size, uint8_t type, uint8_t record_size,
) except -1:
    """Check the B-tree by creation order of links or attributes, and the free space of their heap."""
    cdef uint64_t name_tree, at
    cdef Heap heap
    cdef Records records
    if m == NULL or not open_dense(k, m, what, order_size, id_size, &heap, &name_tree):
        return 0
    close_heap(&heap)
    _check_free_space(k, u64(bytes_at(k, heap.address + 38, 8, b"fractal heap")))
    if m.data[1] & INDEXED:
        at = 18 + (order_size if m.data[1] & 1 else 0)
        check(k, m.size >= at + 8, what, m.address, b"it is too short")
        records.owned = NULL
        try:
            read_tree(k, u64(m.data + at), type, record_size, &records)
        finally:
            free(records.owned)
    return 0


cdef int _check_free_space(Known* k, uint64_t address) except -1:
    cdef const uint8_t* p
    cdef uint64_t sections, size
    if address == UNDEFINED:
        return 0
    p = structure(k, address, FREE_SPACE_SIZE, b"FSHD", 0, b"free space")
    sections, size = u64(p + 54), u64(p + 62)
    if sections == UNDEFINED:
        return 0
    check(k, size >= SECTIONS_FRAME, b"free space", address, b"sections of a wrong size")
    p = structure(k, sections, size, b"FSSE", 0, b"sections of free space")
    check(k, u64(p + 5) == address, b"sections of free space", sections, b"they are of another heap")
    return 0


cdef extern from "Python.h":
    bint is_equal "PyObject_RichCompareBool"(object one, object other, int operation) except -1

cdef enum:
    # items of the record of a dataset
    ADDRESS = 1
    ORDER = 2
    LAYOUT = 6
    ATTRIBUTES = 10
    HIDDEN = 12
    LAYOUT_ADDRESS = 1  # item of the record of a layout


def are_alike(list datasets not None, list known not None):
    """Return whether the datasets of two files say the same, wherever these and their values are.

    Parameters
    ----------
    datasets, known : list of HDF5Dataset
        Records of files that were parsed with `share`: attributes that are equal are one object.

    Returns
    -------
    bool
        Addresses by which dimensions are named may differ if they are those of datasets in the same places of both
        lists. False also if there are others.
    """
    cdef Py_ssize_t i, n = len(datasets)
    if len(known) != n:
        return False
    for i in range(n):
        if not _is_alike(<tuple> datasets[i], <tuple> known[i]):
            return False
    return _name_same_dimensions(datasets, known)


cdef bint _is_alike(tuple one, tuple other) except -1:
    """Compare records, except for addresses, order and hidden attributes."""
    cdef int i
    if one[ATTRIBUTES] is not other[ATTRIBUTES]:  # equal ones may have other types
        return False
    for i in range(<int> len(one)):
        if i not in (ADDRESS, ORDER, LAYOUT, HIDDEN) and not is_equal(one[i], other[i], Py_EQ):
            return False
    one, other = <tuple> one[LAYOUT], <tuple> other[LAYOUT]
    for i in range(<int> len(one)):
        if i != LAYOUT_ADDRESS and not is_equal(one[i], other[i], Py_EQ):
            return False
    return (one[LAYOUT_ADDRESS] is None) == (other[LAYOUT_ADDRESS] is None)


cdef bint _name_same_dimensions(list datasets, list known) except -1:
    cdef Py_ssize_t i
    cdef tuple one, other
    for i in range(len(datasets)):
        one, other = <tuple> datasets[i], <tuple> known[i]
        if not is_equal(one[ADDRESS], other[ADDRESS], Py_EQ) or not is_equal(one[HIDDEN], other[HIDDEN], Py_EQ):
            break
    else:
        return True
    found = _numbered(datasets)
    return found is not None and is_equal(found, _numbered(known), Py_EQ)


cdef list _numbered(list datasets):
    """Return hidden attributes, with numbers of datasets for addresses in DIMENSION_LIST; None if one is of none."""
    cdef dict numbers = {(<tuple> each)[ADDRESS]: i for i, each in enumerate(datasets)}
    cdef dict hidden
    cdef list every = []
    for each in datasets:
        hidden = <dict> (<tuple> each)[HIDDEN]
        lists = hidden.get("DIMENSION_LIST")
        if type(lists) is tuple:
            try:
                lists = [[numbers[address] for address in axis] for axis in <tuple> lists]
            except KeyError:
                return None
            hidden = {**hidden, "DIMENSION_LIST": lists}
        every.append(hidden)
    return every
