"""A buffer that grows at its end, for messages and JSON text."""

from cpython.mem cimport PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

cdef enum:
    FIRST_ROOM = 256


cdef struct Room:
    uint8_t* data
    Py_ssize_t size, room
    PyObject* fallback  # for JSON: what converts values of other types, or None; borrowed
    bint like_python    # for JSON: text as `json.dumps` makes it: ASCII, blanks behind `,` and `:`, NaN and infinities


cdef inline int make_room(Room* room, Py_ssize_t more) except -1:
    """Make room for more bytes."""
    cdef Py_ssize_t wanted = room.size + more
    cdef void* moved
    if wanted <= room.room:
        return 0
    wanted = max(wanted, 2 * room.room, FIRST_ROOM)
    moved = PyMem_RawRealloc(room.data, wanted)
    if moved == NULL:
        raise MemoryError
    room.data, room.room = <uint8_t*> moved, wanted
    return 0


cdef inline int put_bytes(Room* room, const void* data, Py_ssize_t size) except -1:
    """Append bytes."""
    make_room(room, size)
    memcpy(room.data + room.size, data, size)
    room.size += size
    return 0


cdef inline int put_byte(Room* room, uint8_t byte) except -1:
    """Append one byte."""
    if room.size == room.room:
        make_room(room, 1)
    room.data[room.size] = byte
    room.size += 1
    return 0
