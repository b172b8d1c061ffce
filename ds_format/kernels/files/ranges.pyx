"""Ranges of open files: read, written, copied, reserved, without the GIL.

POSIX only; `portable.py` has the same functions for other operating systems, except `Fetcher`.
"""

import os

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc cimport errno
from libc.stdint cimport int64_t, uint8_t, uint64_t
from posix.types cimport off_t
from posix.unistd cimport pread, pwrite

from ..common.words cimport LITTLE_HOST, load_u64
from .system cimport PIECE, fail

cdef extern from *:
    """
    #include <errno.h>
    #include <unistd.h>
    #if defined(__linux__) && defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 27)
    #define ds_copy_file_range copy_file_range
    #else
    static ssize_t ds_copy_file_range(int a, off_t *b, int c, off_t *d, size_t n, unsigned f) {
        (void)a; (void)b; (void)c; (void)d; (void)n; (void)f;
        errno = ENOSYS;
        return -1;
    }
    #endif
    """
    Py_ssize_t copy_file_range "ds_copy_file_range"(
        int source, off_t* source_offset, int target, off_t* target_offset, size_t size, unsigned int flags) nogil

cdef enum:
    COPY_SIZE = 1 << 20  # bytes of the buffer for copies, if the operating system does not support copy_file_range


def read_at(int fd, int64_t offset, object buffer not None):
    """Fill a buffer from a position of an open file.

    Parameters
    ----------
    fd : int
        File descriptor.
    offset : int
        Bytes from the start of the file.
    buffer : writable, C-contiguous buffer
        Output.

    Returns
    -------
    int
        Bytes read; fewer than the size of the buffer only at the end of the file.

    Raises
    ------
    OSError
        From the operating system.
    """
    cdef Py_buffer view
    cdef Py_ssize_t done = 0, got
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
    try:
        while done < view.len:
            with nogil:
                got = pread(fd, <char*> view.buf + done, min(view.len - done, PIECE), offset + done)
            if got < 0:
                fail(None)
            elif got == 0:
                break
            else:
                done += got
    finally:
        PyBuffer_Release(&view)
    return done


def read_ranges(int fd, const int64_t[::1] offsets not None, const int64_t[::1] sizes not None, list outs not None):
    """Fill buffers with ranges of an open file, one after another.

    Parameters
    ----------
    fd : int
        File descriptor.
    offsets : (N,) int64
        Bytes from the start of the file.
    sizes : (N,) int64
        Bytes of each range.
    outs : list of writable, C-contiguous buffers
        Output. The first ranges fill the first buffer, the following ones the next. A range must not cross from one
        buffer to the next.

    Returns
    -------
    int
        Bytes read; fewer than the size of all buffers if a range ends after the end of the file.

    Raises
    ------
    OSError
        From the operating system.
    ValueError
        If the ranges do not fill the buffers.
    """
    cdef Py_buffer view
    cdef Py_ssize_t i = 0, n = min(offsets.shape[0], sizes.shape[0]), got = 0, done = 0, at, total = 0
    if offsets.shape[0] != sizes.shape[0]:
        raise ValueError(f"{offsets.shape[0]} offsets for {sizes.shape[0]} sizes")
    for out in outs:
        PyObject_GetBuffer(out, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
        at = 0
        try:
            while at < view.len:
                with nogil:
                    # without the GIL, until a range is read only in part
                    while at < view.len and i < n and done <= sizes[i] <= view.len - at + done:
                        got = pread(fd, <char*> view.buf + at, sizes[i] - done, offsets[i] + done)
                        if got != sizes[i] - done:
                            break
                        at += got
                        done = 0
                        i += 1
                if at == view.len:
                    break
                if i == n or not done <= sizes[i] <= view.len - at + done:
                    raise ValueError(f"{n} ranges do not fill {len(outs)} buffers")
                if got < 0:
                    fail(None)
                elif got == 0:
                    return total + at
                else:
                    at += got
                    done += got
            total += view.len
        finally:
            PyBuffer_Release(&view)
    while i < n and not sizes[i]:
        i += 1
    if i < n:
        raise ValueError(f"{n} ranges do not fill {len(outs)} buffers")
    return total


def write_at(int fd, int64_t offset, object buffer not None):
    """Write a buffer at a position of an open file.

    Parameters
    ----------
    fd : int
        File descriptor.
    offset : int
        Bytes from the start of the file.
    buffer : C-contiguous buffer

    Returns
    -------
    int
        Bytes written: all of them.

    Raises
    ------
    OSError
        From the operating system.
    """
    cdef Py_buffer view
    cdef Py_ssize_t done = 0, put
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        while done < view.len:
            with nogil:
                put = pwrite(fd, <char*> view.buf + done, min(view.len - done, PIECE), offset + done)
            if put < 0:
                fail(None)
            else:
                done += put
    finally:
        PyBuffer_Release(&view)
    return done


def copy_range(int source, int64_t source_offset, int target, int64_t target_offset, int64_t size):
    """Copy bytes from one open file to another, with copy_file_range if the operating system supports it.

    Parameters
    ----------
    source, target : int
        File descriptors.
    source_offset, target_offset : int
        Bytes from the start of each file.
    size : int
        Bytes.

    Returns
    -------
    int
        Bytes copied; fewer than `size` only if the source ends before.

    Raises
    ------
    OSError
        From the operating system.
    """
    cdef int64_t done = 0
    cdef off_t from_, to
    cdef Py_ssize_t got, put, written
    cdef bint is_supported = True
    cdef bytearray memory = None
    cdef char* buffer = NULL
    while done < size:
        from_, to = source_offset + done, target_offset + done
        if is_supported:
            with nogil:
                got = copy_file_range(source, &from_, target, &to, <size_t> min(size - done, PIECE), 0)
            # a file system without sizes of files also returns 0
            if got == 0 or (got < 0 and errno.errno in (
                    errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF)):
                is_supported = False
                memory = PyByteArray_FromStringAndSize(NULL, COPY_SIZE)
                buffer = PyByteArray_AS_STRING(memory)
                continue
        else:
            with nogil:
                got = pread(source, buffer, <size_t> min(size - done, COPY_SIZE), from_)
                written = 0
                while written < got:
                    put = pwrite(target, buffer + written, got - written, to + written)
                    if put < 0:
                        break
                    written += put
            if got == 0:
                break
            if got > 0:
                got = written if written else put
        if got < 0:
            fail(None)
        else:
            done += got
            if done < size:
                PyErr_CheckSignals()
    return done


cdef extern from *:
    """
    #include <errno.h>
    #if defined(__linux__)
    #include <fcntl.h>
    #include <linux/falloc.h>
    #define ds_allocate(fd, keep, offset, size) fallocate(fd, (keep) ? FALLOC_FL_KEEP_SIZE : 0, offset, size)
    #else
    #define ds_allocate(fd, keep, offset, size) ((void)(fd), (void)(offset), (void)(size), errno = ENOSYS, -1)
    #endif
    """
    int allocate "ds_allocate"(int fd, bint keep, off_t offset, off_t size) nogil


def reserve(int fd, int64_t offset, int64_t size):
    """Inform the operating system about `size` bytes that will be written soon. This makes writing faster on Linux.

    Errors are ignored.

    Parameters
    ----------
    fd : int
        File descriptor.
    offset, size : int
        Bytes.
    """
    with nogil:
        allocate(fd, True, offset, size)


def extend(int fd, int64_t size):
    """Extend an open file to at least `size` bytes, and reserve space for them on the disk, if this is supported.

    Bytes of the file are not changed, even if other processes write them at the same time.

    Parameters
    ----------
    fd : int
        File descriptor.
    size : int
        Bytes from the start of the file.

    Raises
    ------
    OSError
        From the operating system, for example if the disk does not have enough space.
    """
    cdef int failed
    while size > 0:
        with nogil:
            failed = allocate(fd, False, 0, size)
        if not failed:
            return
        if errno.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
            if os.fstat(fd).st_size < size:
                os.ftruncate(fd, size)
            return
        fail(None)


def write_ranges(int fd, const int64_t[::1] offsets not None, Py_ssize_t size, object buffer not None):
    """Write the bytes of a buffer, one after another, to ranges of the same size.

    Parameters
    ----------
    fd : int
        File descriptor.
    offsets : (N,) int64
        Bytes from the start of the file.
    size : int
        Bytes of each range.
    buffer : C-contiguous buffer of N * size bytes

    Returns
    -------
    int
        Bytes written: all of them.

    Raises
    ------
    OSError
        From the operating system.
    ValueError
        If the buffer has another size.
    """
    cdef Py_buffer view
    cdef Py_ssize_t i = 0, n = offsets.shape[0], done = 0, put = 0, piece
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        if size < 0 or view.len != n * size:
            raise ValueError(f"{n} ranges of {size} bytes do not take {view.len} bytes")
        while i < n and size:
            with nogil:
                # without the GIL, until a range is written only in part
                while i < n:
                    piece = min(size - done, PIECE)
                    put = pwrite(fd, <char*> view.buf + i * size + done, piece, offsets[i] + done)
                    if put != size - done:
                        break
                    done = 0
                    i += 1
            if i == n:
                break
            if put < 0:
                fail(None)
            else:
                done += put
        return n * size
    finally:
        PyBuffer_Release(&view)


cdef enum:
    MAX_SAMPLE_SIZE = 1 << 30  # bytes that one system call returns


@cython.final
cdef class Fetcher:
    """Reads samples of an open file by their numbers, without a Python object for their positions.

    Parameters
    ----------
    fd : int
        File descriptor, which the caller keeps open.
    offsets : (8 * (n + 1),) uint8
        Start of each sample, and end of the last one: 64-bit integers, big-endian.
    size : int
        Bytes of the file.
    memory : (size,) uint8, optional
        All bytes of the file, if they are mapped. Then `fd` is not used.

    Raises
    ------
    ValueError
        If the size of `offsets` is 0, or not a multiple of 8 bytes, or if that of `memory` is another one.
    """

    cdef const uint8_t[::1] view
    cdef const uint8_t[::1] memory
    cdef const uint8_t* offsets
    cdef Py_ssize_t n
    cdef uint64_t size
    cdef int fd

    def __cinit__(self, int fd, const uint8_t[::1] offsets not None, uint64_t size, const uint8_t[::1] memory=None):
        if not offsets.shape[0] or offsets.shape[0] % 8:
            raise ValueError(f"{offsets.shape[0]} bytes are no offsets of 8 bytes")
        if memory is not None and <uint64_t> memory.shape[0] != size:
            raise ValueError(f"found {memory.shape[0]} bytes, expected {size}")
        self.view = offsets
        self.memory = memory
        self.offsets = &offsets[0]
        self.n = offsets.shape[0] // 8 - 1
        self.size = size
        self.fd = fd

    def get(self, Py_ssize_t i):
        """Return the bytes of sample i; None for wrong offsets, a truncated file or a huge sample."""
        cdef uint64_t start, stop
        cdef Py_ssize_t size, got
        cdef bytes data
        cdef char* p
        if i < 0 or i >= self.n:
            return None
        start = load_u64(self.offsets + 8 * i, LITTLE_HOST)
        stop = load_u64(self.offsets + 8 * i + 8, LITTLE_HOST)
        if start > stop or stop > self.size or stop - start > MAX_SAMPLE_SIZE:
            return None
        size = <Py_ssize_t> (stop - start)
        if self.memory is not None:
            return PyBytes_FromStringAndSize(<const char*> &self.memory[start] if size else NULL, size)
        data = PyBytes_FromStringAndSize(NULL, size)
        p = PyBytes_AS_STRING(data)
        with nogil:
            got = pread(self.fd, p, size, <int64_t> start)
        return data if got == size else None
