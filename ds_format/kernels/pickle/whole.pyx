"""The buffers and the index of a small BinPickle file of version 1, all of them by one call.

The index has an entry for each buffer: a map of msgpack, with integers and without a codec. Whatever else a file has,
damage included, is left to `binpickle.format`, which names it.
"""

cimport cython
from cpython.buffer cimport PyBUF_ANY_CONTIGUOUS, PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from ..common.adler cimport adler32_of
from ..common.output cimport Output, put_byte, put_bytes
from ..common.words cimport big_endian

cdef extern from "Python.h":
    object PyByteArray_FromStringAndSize(const char* data, Py_ssize_t size)

cdef enum:
    N_FIELDS = 5  # offset, length in the file, length after decoding, checksum, codec
    NIL = 0xC0


cdef int _put_number(Output* out, uint64_t value) except -1:
    """Append an integer of msgpack, as short as possible."""
    cdef int size = 0, i
    if value < 0x80:
        return put_byte(out, <uint8_t> value)
    size = 1 if value < 0x100 else 2 if value < 0x10000 else 4 if value <= 0xFFFFFFFF else 8
    put_byte(out, 0xCC if size == 1 else 0xCD if size == 2 else 0xCE if size == 4 else 0xCF)
    for i in range(size - 1, -1, -1):
        put_byte(out, <uint8_t> (value >> (8 * i)))
    return 0


cdef int _put_entry(Output* index, tuple names, uint64_t offset, uint64_t size, uint32_t checksum) except -1:
    cdef int i
    put_byte(index, 0x80 | N_FIELDS)
    for i in range(N_FIELDS):
        name = <bytes> names[i]
        put_bytes(index, PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
        if i == N_FIELDS - 1:
            put_byte(index, NIL)
        else:
            _put_number(index, offset if i == 0 else checksum if i == N_FIELDS - 2 else size)
    return 0


cdef int _check_names(tuple names) except -1:
    if len(names) != N_FIELDS or not all(type(name) is bytes for name in names):
        raise ValueError(f"names: expected {N_FIELDS} strings of msgpack")
    return 0


@cython.final
cdef class Joiner:
    """Copies buffers as they come, one after another, and makes their index.

    Parameters
    ----------
    names : tuple of bytes
        Strings of msgpack: the fields of an entry.
    start : int
        Position of the first buffer, in bytes from the start of the file.
    limit : int
        Maximum bytes of all buffers.
    spill : callable
        Takes the first buffer that is not contiguous, or with which there are too many bytes, and all after it.
    """

    cdef Output body, index
    cdef tuple names
    cdef Py_ssize_t start, limit, n
    cdef object spill
    cdef bint is_spilled

    def __cinit__(self, tuple names not None, Py_ssize_t start, Py_ssize_t limit, spill):
        self.body = self.index = Output(NULL, 0, 0, NULL, False)
        _check_names(names)
        self.names, self.start, self.limit, self.spill = names, start, limit, spill

    def __dealloc__(self):
        PyMem_RawFree(self.body.data)
        PyMem_RawFree(self.index.data)

    def add(self, buffer):
        """Add a buffer, for example a PickleBuffer. The pickler treats it as out of band because this returns None."""
        cdef Py_buffer view
        if self.is_spilled:
            self.spill(buffer)
            return
        try:
            PyObject_GetBuffer(buffer, &view, PyBUF_ANY_CONTIGUOUS)
        except (BufferError, ValueError):  # of NumPy
            self.limit = -1
        else:
            try:
                if view.len <= self.limit - self.body.size and self.n < 0xFFFF:
                    _put_entry(
                        &self.index, self.names, self.start + self.body.size, view.len,
                        adler32_of(<const uint8_t*> view.buf, view.len, 1),
                    )
                    put_bytes(&self.body, view.buf, view.len)
                    self.n += 1
                    return
            finally:
                PyBuffer_Release(&view)
        self.is_spilled = True
        self.spill(buffer)

    def content(self):
        """Return the bytes of all buffers that were copied, and those of their index."""
        cdef Output head = Output(NULL, 0, 0, NULL, False)
        try:
            if self.n < 16:
                put_byte(&head, <uint8_t> (0x90 | self.n))
            else:
                put_byte(&head, 0xDC)
                put_byte(&head, <uint8_t> (self.n >> 8))
                put_byte(&head, <uint8_t> self.n)
            put_bytes(&head, self.index.data, self.index.size)
            return (
                PyBytes_FromStringAndSize(<const char*> self.body.data, self.body.size),
                PyBytes_FromStringAndSize(<const char*> head.data, head.size),
            )
        finally:
            PyMem_RawFree(head.data)


cdef bint _take_number(const uint8_t** p, const uint8_t* end, uint64_t* value) noexcept:
    """Take an unsigned integer of msgpack; return False if there is none."""
    cdef int size
    if p[0] == end:
        return False
    if p[0][0] < 0x80:
        value[0] = p[0][0]
        p[0] += 1
        return True
    if not 0xCC <= p[0][0] <= 0xCF:
        return False
    size = 1 << (p[0][0] - 0xCC)
    if end - p[0] <= size:
        return False
    value[0] = big_endian(p[0] + 1, size)
    p[0] += 1 + size
    return True


cdef bint _take_entry(const uint8_t** p, const uint8_t* end, tuple names, uint64_t* fields) except -1:
    """Take an entry without a codec; return False if it is another one."""
    cdef Py_ssize_t size
    cdef int i
    if p[0] == end or p[0][0] != (0x80 | N_FIELDS):
        return False
    p[0] += 1
    for i in range(N_FIELDS):
        name = <bytes> names[i]
        size = PyBytes_GET_SIZE(name)
        if end - p[0] < size or memcmp(p[0], PyBytes_AS_STRING(name), size):
            return False
        p[0] += size
        if i < N_FIELDS - 1 and not _take_number(p, end, fields + i):
            return False
    if p[0] == end or p[0][0] != NIL:
        return False
    p[0] += 1
    return True


def split(data not None, tuple names not None, Py_ssize_t start, Py_ssize_t end, Py_ssize_t size):
    """Return the buffers of a file, after a comparison of their checksums.

    Parameters
    ----------
    data : buffer
        The whole file.
    names : tuple of bytes
        As of `Joiner`.
    start : int
        End of the header, in bytes from the start of the file.
    end : int
        Start of the index, likewise.
    size : int
        Bytes of the index.

    Returns
    -------
    (list of bytearray, bytes) or None
        Copies of the buffers, and the pickle. None: the index is unusual, or something is damaged.
    """
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef const uint8_t* last
    cdef const uint8_t* first
    cdef uint64_t[N_FIELDS] fields
    cdef Py_ssize_t n, i, at = start
    cdef list buffers = []
    _check_names(names)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if not 0 <= start <= end or end > view.len or not 0 < size <= view.len - end:
            return None
        p = <const uint8_t*> view.buf + end
        last = p + size
        if p[0] & 0xF0 == 0x90:
            n = p[0] & 0x0F
            p += 1
        elif p[0] == 0xDC and size >= 3:
            n = p[1] << 8 | p[2]
            p += 3
        else:
            return None
        for i in range(n):
            if not _take_entry(&p, last, names, fields):
                return None
            # buffers follow each other, so that none shares bytes with another one
            if fields[1] != fields[2] or fields[0] < <uint64_t> at or fields[0] > <uint64_t> end:
                return None
            if fields[1] > <uint64_t> end - fields[0]:
                return None
            first = <const uint8_t*> view.buf + fields[0]
            if adler32_of(first, <Py_ssize_t> fields[1], 1) != fields[3]:
                return None
            at = <Py_ssize_t> (fields[0] + fields[1])
            if i == n - 1:
                pickled = PyBytes_FromStringAndSize(<const char*> first, <Py_ssize_t> fields[1])
            else:
                buffers.append(PyByteArray_FromStringAndSize(<const char*> first, <Py_ssize_t> fields[1]))
        return (buffers, pickled) if n and p == last else None
    finally:
        PyBuffer_Release(&view)
