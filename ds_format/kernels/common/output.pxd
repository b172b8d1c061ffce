"""A buffer that grows at its end, for messages and JSON text."""

from cpython.mem cimport PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

cdef enum:
    FIRST_CAPACITY = 256


cdef struct Output:
    uint8_t* data
    Py_ssize_t size, capacity
    PyObject* fallback  # for JSON: function that converts values of other types, or None; borrowed
    bint like_python    # for JSON: text like that of `json.dumps`: ASCII, spaces after `,` and `:`, NaN and infinities


cdef inline int grow(Output* output, Py_ssize_t more) except -1:
    """Allocate memory for `more` bytes, if necessary."""
    cdef Py_ssize_t capacity = output.size + more
    cdef void* moved
    if capacity <= output.capacity:
        return 0
    capacity = max(capacity, 2 * output.capacity, FIRST_CAPACITY)
    moved = PyMem_RawRealloc(output.data, capacity)
    if moved == NULL:
        raise MemoryError
    output.data, output.capacity = <uint8_t*> moved, capacity
    return 0


cdef inline int put_bytes(Output* output, const void* data, Py_ssize_t size) except -1:
    """Append bytes."""
    grow(output, size)
    memcpy(output.data + output.size, data, size)
    output.size += size
    return 0


cdef inline int put_byte(Output* output, uint8_t byte) except -1:
    """Append one byte."""
    if output.size == output.capacity:
        grow(output, 1)
    output.data[output.size] = byte
    output.size += 1
    return 0
