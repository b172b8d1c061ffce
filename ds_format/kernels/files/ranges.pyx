"""Ranges of open files, without the GIL.

POSIX only; `portable.py` has the same functions for other systems.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc cimport errno
from libc.stdint cimport int64_t
from posix.types cimport off_t
from posix.unistd cimport pread, pwrite

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
    COPY_SIZE = 1 << 20  # bytes of the buffer where the system cannot copy by itself


def read_at(int fd, int64_t offset, object buffer not None):
    """Fill a buffer from a position of an open file.

    Parameters
    ----------
    fd : int
        File descriptor.
    offset : int
        Bytes from the start of the file.
    buffer : writable, C-contiguous buffer
        Out.

    Returns
    -------
    int
        Bytes read; fewer than the buffer holds only at the end of the file.

    Raises
    ------
    OSError
        As the system says.
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


def read_ranges(int fd, const int64_t[::1] offsets not None, Py_ssize_t size, object buffer not None):
    """Read ranges of one size, one after another, into a buffer.

    Parameters
    ----------
    fd : int
        File descriptor.
    offsets : (N,) int64
        Bytes from the start of the file.
    size : int
        Bytes of each range.
    buffer : writable, C-contiguous buffer of N * size bytes
        Out.

    Returns
    -------
    int
        Bytes read; fewer than the buffer holds if a range ends beyond the file.

    Raises
    ------
    OSError
        As the system says.
    ValueError
        If the buffer has another size.
    """
    cdef Py_buffer view
    cdef Py_ssize_t i = 0, n = offsets.shape[0], got = 0, done = 0
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE | PyBUF_WRITABLE)
    try:
        if size < 0 or view.len != n * size:
            raise ValueError(f"{n} ranges of {size} bytes do not fill {view.len} bytes")
        while i < n and size:
            with nogil:
                # Stays outside of the GIL until a range comes in part.
                while i < n:
                    got = pread(fd, <char*> view.buf + i * size + done, size - done, offsets[i] + done)
                    if got != size - done:
                        break
                    done = 0
                    i += 1
            if i == n:
                break
            if got < 0:
                fail(None)
            elif got == 0:
                return i * size + done
            else:
                done += got
        return n * size
    finally:
        PyBuffer_Release(&view)


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
        Bytes written: all.

    Raises
    ------
    OSError
        As the system says.
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
    """Copy bytes from one open file to another, inside of the system where it can.

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
        As the system says.
    """
    cdef int64_t done = 0
    cdef off_t from_, to
    cdef Py_ssize_t got, put, written
    cdef bint inside = True
    cdef bytearray room = None
    cdef char* buffer = NULL
    while done < size:
        from_, to = source_offset + done, target_offset + done
        if inside:
            with nogil:
                got = copy_file_range(source, &from_, target, &to, <size_t> min(size - done, PIECE), 0)
            # Zero may also come from a file system that cannot tell sizes.
            if got == 0 or (got < 0 and errno.errno in (
                    errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF)):
                inside = False
                room = PyByteArray_FromStringAndSize(NULL, COPY_SIZE)
                buffer = PyByteArray_AS_STRING(room)
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
