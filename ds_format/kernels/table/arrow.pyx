"""Columns → a stream of Arrow, which other libraries of this process take without copies.

The structures are those of https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html. A stream
has one batch, whose children are the columns. Each structure holds a reference to the object with its bytes, and gives
it back when it is released, which another thread may do.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from ..common.utf8 cimport utf8_size

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030D0000
    #define is_finalizing Py_IsFinalizing
    #else
    #define is_finalizing _Py_IsFinalizing
    #endif
    struct ArrowSchema {
        const char* format; const char* name; const char* metadata;
        int64_t flags, n_children;
        struct ArrowSchema** children; struct ArrowSchema* dictionary;
        void (*release)(struct ArrowSchema*); void* private_data;
    };
    struct ArrowArray {
        int64_t length, null_count, offset, n_buffers, n_children;
        const void** buffers;
        struct ArrowArray** children; struct ArrowArray* dictionary;
        void (*release)(struct ArrowArray*); void* private_data;
    };
    struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema*);
        int (*get_next)(struct ArrowArrayStream*, struct ArrowArray*);
        const char* (*get_last_error)(struct ArrowArrayStream*);
        void (*release)(struct ArrowArrayStream*); void* private_data;
    };
    """
    bint is_finalizing() noexcept nogil

    struct ArrowSchema:
        const char* format
        const char* name
        const char* metadata
        int64_t flags, n_children
        ArrowSchema** children
        void (*release)(ArrowSchema*) noexcept nogil
        void* private_data

    struct ArrowArray:
        int64_t length, null_count, n_buffers, n_children
        const void** buffers
        ArrowArray** children
        void (*release)(ArrowArray*) noexcept nogil
        void* private_data

    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept
        const char* (*get_last_error)(ArrowArrayStream*) noexcept
        void (*release)(ArrowArrayStream*) noexcept nogil
        void* private_data

cdef int64_t NULLABLE = 2  # ARROW_FLAG_NULLABLE
cdef const char* STREAM = "arrow_array_stream"


cdef class Column:
    """The buffers of a column.

    Parameters
    ----------
    name, format, metadata : bytes
        In UTF-8; a format string; and pairs of keys and values: all as in an ArrowSchema.
    length, nulls : int
        Values, and how many of them are missing.
    buffers : list
        Objects with a C-contiguous buffer, whose sizes the caller has checked; or None. At most three.
    """

    cdef readonly bytes name, format, metadata
    cdef readonly Py_ssize_t length, nulls
    cdef Py_ssize_t n_buffers
    cdef Py_buffer views[3]
    cdef const void* pointers[3]

    def __init__(self, bytes name, bytes format, bytes metadata, Py_ssize_t length, Py_ssize_t nulls, list buffers):
        if self.n_buffers or len(buffers) > 3:
            raise ValueError(f"found {len(buffers)} buffers, expected at most 3, once")
        self.name, self.format, self.metadata, self.length, self.nulls = name, format, metadata, length, nulls
        for buffer in buffers:
            if buffer is not None:
                PyObject_GetBuffer(buffer, &self.views[self.n_buffers], PyBUF_SIMPLE)
                self.pointers[self.n_buffers] = self.views[self.n_buffers].buf
            self.n_buffers += 1

    def __dealloc__(self):
        for i in range(self.n_buffers):
            PyBuffer_Release(&self.views[i])


cdef class Batch:
    """Columns of the same length, and the metadata of all.

    Parameters
    ----------
    columns : list of Column
    length : int
        Rows.
    metadata : bytes
        As of a Column.
    """

    cdef readonly list columns
    cdef readonly Py_ssize_t length
    cdef readonly bytes metadata
    cdef const void* pointers[1]

    def __init__(self, list columns, Py_ssize_t length, bytes metadata):
        for column in columns:
            if (<Column?> column).length != length:
                raise ValueError(f"a column has {(<Column> column).length} values, expected {length}")
        self.columns, self.length, self.metadata = columns, length, metadata

    def stream(self):
        """Return the batch as a capsule that `__arrow_c_stream__` may return."""
        cdef ArrowArrayStream* stream = <ArrowArrayStream*> calloc(1, sizeof(ArrowArrayStream))
        cdef _Reading reading = _Reading()
        reading.batch = self
        if stream == NULL:
            raise MemoryError
        stream.get_schema, stream.get_next, stream.get_last_error = get_schema, get_next, last_error
        stream.release, stream.private_data = release_stream, <void*> reading
        Py_INCREF(reading)
        try:
            return PyCapsule_New(stream, STREAM, free_stream)
        except BaseException:
            release_stream(stream)
            free(stream)
            raise


cdef class _Reading:
    """A batch, and whether a stream has given it."""

    cdef Batch batch
    cdef bint is_over


cdef void free_stream(object capsule) noexcept:
    cdef ArrowArrayStream* stream = <ArrowArrayStream*> PyCapsule_GetPointer(capsule, STREAM)
    if stream.release != NULL:  # it was not moved
        stream.release(stream)
    free(stream)


cdef const char* last_error(ArrowArrayStream* stream) noexcept:
    return NULL


cdef void give_back(void* owner) noexcept nogil:
    """Drop a reference, unless the interpreter is about to end: threads that want it then are ended by force."""
    if not is_finalizing():
        with gil:
            Py_DECREF(<object> <PyObject*> owner)


cdef void release_stream(ArrowArrayStream* stream) noexcept nogil:
    stream.release = NULL
    give_back(stream.private_data)


cdef int get_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept with gil:
    cdef Batch batch = (<_Reading> stream.private_data).batch
    cdef Column column
    cdef Py_ssize_t i, n = len(batch.columns)
    memset(out, 0, sizeof(ArrowSchema))
    out.children = <ArrowSchema**> malloc(n * (sizeof(ArrowSchema*) + sizeof(ArrowSchema)) + 1)
    if out.children == NULL:
        return ENOMEM
    fill_schema(out, b"+s", b"", batch.metadata, 0, batch)
    out.n_children = n
    for i in range(n):
        column = <Column> batch.columns[i]
        out.children[i] = <ArrowSchema*> (out.children + n) + i
        memset(out.children[i], 0, sizeof(ArrowSchema))
        fill_schema(out.children[i], column.format, column.name, column.metadata, NULLABLE, column)
    return 0


cdef void fill_schema(
    ArrowSchema* out, const char* format, const char* name, bytes metadata, int64_t flags, object owner
) noexcept:
    """Fill a structure whose strings `owner` keeps alive."""
    out.format, out.name, out.flags = format, name, flags
    if metadata:
        out.metadata = metadata
    out.release, out.private_data = release_schema, <void*> owner
    Py_INCREF(owner)


cdef void release_schema(ArrowSchema* schema) noexcept nogil:
    cdef int64_t i
    for i in range(schema.n_children):
        if schema.children[i].release != NULL:
            schema.children[i].release(schema.children[i])
    free(schema.children)
    schema.release = NULL
    give_back(schema.private_data)


cdef int get_next(ArrowArrayStream* stream, ArrowArray* out) noexcept with gil:
    cdef _Reading reading = <_Reading> stream.private_data
    cdef Batch batch = reading.batch
    cdef Column column
    cdef Py_ssize_t i, n = len(batch.columns)
    memset(out, 0, sizeof(ArrowArray))
    if reading.is_over:
        return 0
    out.children = <ArrowArray**> malloc(n * (sizeof(ArrowArray*) + sizeof(ArrowArray)) + 1)
    if out.children == NULL:
        return ENOMEM
    fill_array(out, batch.length, 0, 1, batch.pointers, batch)
    out.n_children = n
    for i in range(n):
        column = <Column> batch.columns[i]
        out.children[i] = <ArrowArray*> (out.children + n) + i
        memset(out.children[i], 0, sizeof(ArrowArray))
        fill_array(out.children[i], column.length, column.nulls, column.n_buffers, column.pointers, column)
    reading.is_over = True
    return 0


cdef void fill_array(
    ArrowArray* out, Py_ssize_t length, Py_ssize_t nulls, Py_ssize_t n_buffers, const void** buffers, object owner
) noexcept:
    """Fill a structure whose buffers `owner` keeps alive."""
    out.length, out.null_count, out.n_buffers, out.buffers = length, nulls, n_buffers, buffers
    out.release, out.private_data = release_array, <void*> owner
    Py_INCREF(owner)


cdef void release_array(ArrowArray* array) noexcept nogil:
    cdef int64_t i
    for i in range(array.n_children):
        if array.children[i].release != NULL:
            array.children[i].release(array.children[i])
    free(array.children)
    array.release = NULL
    give_back(array.private_data)


def is_text(const int64_t[::1] offsets not None, const uint8_t[::1] data not None):
    """Return whether each of the strings in a buffer is UTF-8.

    Parameters
    ----------
    offsets : (N + 1,) int64
        Starts of the strings, and the end of the last one. They never decrease.
    data : (offsets[N],) uint8

    Raises
    ------
    IndexError
        If an offset is not inside of the data.
    """
    cdef Py_ssize_t i, at, n = offsets.shape[0] - 1
    cdef const uint8_t* first = &data[0] if data.shape[0] else NULL
    if first != NULL and utf8_size(first, data.shape[0]) < data.shape[0]:
        return False
    for i in range(n + 1):  # between two characters?
        at = offsets[i]
        if at < 0 or at > data.shape[0]:
            raise IndexError(f"offset {at} in {data.shape[0]} bytes")
        if at < data.shape[0] and first[at] & 0xC0 == 0x80:
            return False
    return True
