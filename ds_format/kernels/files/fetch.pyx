"""One sample of a file, by its number.

POSIX only; elsewhere there is no such short cut.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t, uint64_t
from posix.unistd cimport pread

from ..common.words cimport LITTLE_HOST, load_u64

cdef extern from "Python.h":
    bytes PyBytes_FromStringAndSize(char* data, Py_ssize_t size)

cdef enum:
    LONGEST = 1 << 30  # bytes that one call of the system returns


@cython.final
cdef class Fetcher:
    """Reads samples of an open file, in two steps without a Python object between: where it lies, and its bytes.

    Parameters
    ----------
    fd : int
        File descriptor, which the caller keeps open.
    offsets : (8 * (n + 1),) uint8
        Where each sample starts, and where the last one ends: integers of 64 bits, big-endian.
    size : int
        Bytes of the file.

    Raises
    ------
    ValueError
        If there are no whole offsets.
    """

    cdef const uint8_t[::1] view
    cdef const uint8_t* offsets
    cdef Py_ssize_t n
    cdef uint64_t size
    cdef int fd

    def __cinit__(self, int fd, const uint8_t[::1] offsets not None, uint64_t size):
        if not offsets.shape[0] or offsets.shape[0] % 8:
            raise ValueError(f"{offsets.shape[0]} bytes are no offsets of 8 bytes")
        self.view = offsets
        self.offsets = &offsets[0]
        self.n = offsets.shape[0] // 8 - 1
        self.size = size
        self.fd = fd

    def get(self, Py_ssize_t i):
        """Return the bytes of sample i; None where there is more to say: wrong offsets, a short file, a huge sample."""
        cdef uint64_t start, stop
        cdef Py_ssize_t size, got
        cdef bytes data
        cdef char* p
        if i < 0 or i >= self.n:
            return None
        start = load_u64(self.offsets + 8 * i, LITTLE_HOST)
        stop = load_u64(self.offsets + 8 * i + 8, LITTLE_HOST)
        if start > stop or stop > self.size or stop - start > LONGEST:
            return None
        size = <Py_ssize_t> (stop - start)
        data = PyBytes_FromStringAndSize(NULL, size)
        p = PyBytes_AS_STRING(data)
        with nogil:
            got = pread(self.fd, p, size, <int64_t> start)
        return data if got == size else None
