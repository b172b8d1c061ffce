"""Arrays and metadata → the bytes of a ds-1.0 file, in one pass.

The header is what `codec.line.build` makes of `codec.header.properties` and attributes, byte for byte.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItem
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from ..json.room cimport Room, make_room, put_byte, put_bytes
from ..json.values cimport put_int64, put_items, put_text
from .attributes cimport put_attributes

from numpy import False_ as nomask

from ..json.strings import Unusual

cdef enum:
    ALIGNMENT = 64     # bytes, see `codec.header`
    LARGE_SIZE = 4096  # bytes; smaller arrays are copied
    FIRST_ROOM = 4096


cdef inline int _fill(Room* room, uint8_t byte, Py_ssize_t n) except -1:
    make_room(room, n)
    memset(room.data + room.size, byte, n)
    room.size += n
    return 0


cdef int _put_numbers(Room* text, cnp.ndarray array, str name, int64_t offset) except -1:
    """Append the properties of numbers without a mask."""
    cdef int i
    put_bytes(text, b'".size": [', 10)
    for i in range(cnp.PyArray_NDIM(array)):
        if i:
            put_bytes(text, b", ", 2)
        put_int64(text, cnp.PyArray_DIM(array, i))
    put_bytes(text, b'], ".offset": ', 14)
    put_int64(text, offset)
    put_bytes(text, b', ".len": ', 10)
    put_int64(text, cnp.PyArray_NBYTES(array))
    put_bytes(text, b', ".type": ', 11)
    put_text(text, name)
    put_bytes(text, b', ".missing": false, ".endian": ', 32)
    return put_bytes(text, b'"b"}' if cnp.PyArray_ITEMSIZE(array) == 1 else b'"l"}', 4)


cdef inline bint _lies_as_written(object array) except -1:
    """Return whether the values of an array, all of which are there, are in C order."""
    if cnp.PyArray_CheckExact(array):
        return cnp.PyArray_IS_C_CONTIGUOUS(array)
    return cnp.PyArray_Check(array) and cnp.PyArray_IS_C_CONTIGUOUS(array) and (
        getattr(array, "_mask", nomask) is nomask
    )


cdef int64_t _aligned(int64_t offset, cnp.ndarray array) noexcept:
    """Return the first offset from `offset` on at which an array may start."""
    cdef int64_t step = ALIGNMENT if cnp.PyArray_NBYTES(array) >= LARGE_SIZE else cnp.PyArray_ITEMSIZE(array)
    return (offset + step - 1) // step * step


cdef int _flush(Room* body, list buffers) except -1:
    if body.size:
        buffers.append(PyBytes_FromStringAndSize(<const char*> body.data, body.size))
        body.size = 0
    return 0


cdef int _put_array(Room* body, list buffers, cnp.ndarray array) except -1:
    """Append the bytes of an array to the body."""
    cdef Py_ssize_t size = cnp.PyArray_NBYTES(array)
    if size < LARGE_SIZE:
        return put_bytes(body, cnp.PyArray_DATA(array), size)
    _flush(body, buffers)
    buffers.append(array)
    return 0


cdef int _put_attributes(Room* text, object attributes, frozenset without) except -1:
    if type(attributes) is not dict:
        raise Unusual
    try:
        return put_attributes(text, attributes, without)
    except (TypeError, ValueError):
        raise Unusual from None


cdef int64_t _put_variable(
    Room* text, Room* body, list buffers, object key, object array, object entry, dict types, frozenset without,
    object encode, int64_t end
) except -1:
    """Append the entry and the bytes of a variable; return where it ends in the body."""
    cdef PyObject* name = PyDict_GetItem(types, <object> cnp.PyArray_DESCR(array)) if _lies_as_written(array) else NULL
    cdef int64_t offset
    cdef dict properties
    cdef list parts
    if name == NULL:
        properties, parts = encode(key, array, entry, end)
        offset = properties[".offset"]
    else:
        offset = _aligned(end, array)
    put_text(text, key)
    put_bytes(text, b": {", 3)
    if _put_attributes(text, entry, without):
        put_bytes(text, b", ", 2)
    _fill(body, 0, offset - end)
    if name != NULL:
        _put_numbers(text, array, <str> name, offset)
        _put_array(body, buffers, array)
        end = offset + cnp.PyArray_NBYTES(array)
    else:
        put_items(text, properties, 0, False)
        for part in parts:
            _put_array(body, buffers, part)
        end = offset + properties[".len"]
    put_bytes(text, b", ", 2)
    return end


def compose(dict arrays not None, dict meta not None, dict types not None, frozenset without not None, encode not None):
    """Make a file.

    Parameters
    ----------
    arrays : dict
        Key → array, or None for a variable without data.
    meta : dict
        Key → attributes and properties of the variable; those of the dataset under `"."`.
    types : dict
        dtype → name of the type, of numbers that lie in memory as in a file.
    without : frozenset of str
        Properties that are made anew.
    encode : callable
        Gets the key, array and metadata of a variable of another kind, and where the body ends in front of it, in bytes;
        returns its properties, and C-contiguous arrays with its bytes.

    Returns
    -------
    (list of buffers, int) or None
        And the bytes of the body. None: some metadata are wrong or unusual.
    """
    cdef Room text = Room(NULL, 0, 0, NULL, True), body = Room(NULL, 0, 0, NULL, False)
    cdef list buffers = [None]
    cdef int64_t end = 0
    cdef object key, array, entry
    try:
        make_room(&text, FIRST_ROOM)
        put_bytes(&text, b"ds-1.0\n{", 8)
        for key, array in arrays.items():
            if type(key) is not str:
                return None
            entry = meta.get(key)
            if entry is None:
                entry = {}
            end = _put_variable(&text, &body, buffers, key, array, entry, types, without, encode, end)
        put_bytes(&text, b'".": {', 6)
        _put_attributes(&text, meta.get(".", {}), without)
        put_bytes(&text, b"}}", 2)
        _fill(&text, c" ", ALIGNMENT - 1 - text.size % ALIGNMENT)
        put_byte(&text, c"\n")
        buffers[0] = PyBytes_FromStringAndSize(<const char*> text.data, text.size)
        _flush(&body, buffers)
        return buffers, end
    except Unusual:
        return None
    finally:
        PyMem_RawFree(text.data)
        PyMem_RawFree(body.data)
