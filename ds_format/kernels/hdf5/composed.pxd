"""A file that is composed: bytes that grow, positions that are not yet known, and collections of the global heap.

Positions are zeros until all are known: those of objects, values and collections.
"""

from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from ..common.output cimport Output, grow, put_bytes
from ..common.words cimport LITTLE_HOST, swap64

cdef enum:
    SMALLEST_COLLECTION = 4096  # bytes (H5HG_MINSIZE)
    FULL_COLLECTION = 32768  # bytes from which on another one begins
    ALIGNMENT = 8  # of values


cdef struct File:
    Output out
    Output heap  # collections
    int64_t collection  # position of the open one; -1: none
    int count  # objects in it
    Output to_objects  # positions in `out` of numbers of objects, which become addresses
    Output heap_to_objects  # the same in `heap`
    Output to_heap  # positions in `out` of positions in `heap`, which become addresses
    Output blocks  # start and end of what is followed by its checksum
    int64_t shift  # address of a byte of `out` minus its position


cdef inline void store(uint8_t* target, uint64_t value, int n) noexcept nogil:
    cdef uint64_t little = value if LITTLE_HOST else swap64(value)
    memcpy(target, &little, n)


cdef inline uint64_t load(const uint8_t* source) noexcept nogil:
    cdef uint64_t little
    memcpy(&little, source, 8)
    return little if LITTLE_HOST else swap64(little)


cdef inline int put(Output* out, uint64_t value, int n) except -1:
    """Append a number of n bytes."""
    grow(out, 8)
    store(out.data + out.size, value, n)
    out.size += n
    return 0


cdef inline int put_zeros(Output* out, Py_ssize_t n) except -1:
    grow(out, n)
    memset(out.data + out.size, 0, n)
    out.size += n
    return 0


cdef inline int align(File* file) except -1:
    return put_zeros(&file.out, -file.out.size & (ALIGNMENT - 1))


cdef inline int put_text(Output* out, bytes data) except -1:
    return put_bytes(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef inline int note(Output* positions, int64_t position) except -1:
    return put_bytes(positions, &position, sizeof(position))


cdef inline Py_ssize_t put_buffer(Output* out, object data) except -1:
    """Append the bytes of a C-contiguous buffer; return how many these are."""
    cdef Py_buffer view
    if type(data) is bytes:
        put_text(out, data)
        return PyBytes_GET_SIZE(data)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        put_bytes(out, view.buf, view.len)
        return view.len
    finally:
        PyBuffer_Release(&view)


# --- collections of the global heap ---


cdef inline int close_collection(File* file) except -1:
    cdef Output* heap = &file.heap
    cdef int64_t free, size
    if file.collection < 0:
        return 0
    size = max(heap.size - file.collection, SMALLEST_COLLECTION)
    free = size - (heap.size - file.collection)
    if free >= 16:
        put_zeros(heap, 8)
        put(heap, free, 8)
        free -= 16
    put_zeros(heap, free)
    store(heap.data + file.collection + 8, size, 8)
    file.collection = -1
    return 0


cdef inline uint8_t* new_object(File* file, Py_ssize_t size, bint refers) except NULL:
    """Append an object to the heap, and a reference to it to `out`; return where its bytes are to be put.

    A reference is an address, or position in the heap, and a number. `refers` says whether the bytes are a number of an
    object of the file.
    """
    cdef Output* heap = &file.heap
    cdef Py_ssize_t padded = (size + 7) // 8 * 8
    if file.collection >= 0 and heap.size - file.collection + padded > FULL_COLLECTION:
        close_collection(file)
    if file.collection < 0:
        file.collection, file.count = heap.size, 0
        put_bytes(heap, b"GCOL\1\0\0\0", 8)
        put_zeros(heap, 8)
    file.count += 1
    put(heap, file.count, 8)
    put(heap, size, 8)
    note(&file.to_heap, file.out.size)
    put(&file.out, file.collection, 8)
    put(&file.out, file.count, 4)
    if refers:
        note(&file.heap_to_objects, heap.size)
    put_zeros(heap, padded)
    return heap.data + heap.size - padded


cdef inline int put_strings(File* file, list strings) except -1:
    """Append references to strings of variable length."""
    cdef uint8_t* target
    cdef bytes each
    for each in strings:
        put(&file.out, PyBytes_GET_SIZE(each), 4)
        target = new_object(file, PyBytes_GET_SIZE(each), False)
        memcpy(target, PyBytes_AS_STRING(each), PyBytes_GET_SIZE(each))
    return 0


cdef inline Py_ssize_t put_values(File* file, object values) except -1:
    """Append values, which are a buffer or a list of strings; return the number of bytes."""
    if type(values) is list:
        put_strings(file, values)
        return 16 * len(<list> values)
    return put_buffer(&file.out, values)
