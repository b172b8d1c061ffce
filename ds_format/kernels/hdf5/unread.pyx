"""Structures of an HDF5 file that are not needed to read it: their checksums are compared.

Creation order is stored twice, in the records of links or attributes and in a B-tree of its own. Heaps know what is
free. A library that changes the file uses both.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free

from .headers cimport ATTRIBUTE_INFO, LINK_INFO, Header, Message, find_message, read_header
from .heaps cimport Heap, close_heap, open_dense
from .known cimport LACKING, UNDEFINED, Known, bytes_at, check, structure, u64
from .segments cimport Segments
from .trees cimport Records, read_tree

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
