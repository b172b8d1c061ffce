"""Bytes from Python → known bytes of a file; lacking bytes, and faults → Python."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.list cimport PyList_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from ...errors import FormatError, TruncatedError

from .known cimport DAMAGED, MISMATCH, NONE, SHORT, UNUSUAL, Segment


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
        """Return why a library shall read the file; empty: nothing is unusual."""
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
