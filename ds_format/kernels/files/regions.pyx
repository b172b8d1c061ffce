"""Regions of files that are written at once, or by several processes, without the GIL.

POSIX only; `portable.py` has the same functions for other systems.
"""

import os

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc cimport errno
from libc.stdint cimport int64_t
from posix.types cimport off_t
from posix.unistd cimport pwrite

from .system cimport PIECE, fail

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
    """Tell the system of `size` bytes that will be written at once, by which Linux is faster; it does not have to care.

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
    """Give an open file at least `size` bytes, and have the disk keep room for them, where the system can do that.

    What the file has stays, also what others write at the same time.

    Parameters
    ----------
    fd : int
        File descriptor.
    size : int
        Bytes from the start of the file.

    Raises
    ------
    OSError
        As the system says; if the disk has no room for them, that.
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
    """Write the bytes of a buffer, one after another, to ranges of one size.

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
        Bytes written: all.

    Raises
    ------
    OSError
        As the system says.
    ValueError
        If the buffer has another size.
    """
    cdef Py_buffer view
    cdef Py_ssize_t i = 0, n = offsets.shape[0], done = 0, put = 0, wanted
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        if size < 0 or view.len != n * size:
            raise ValueError(f"{n} ranges of {size} bytes do not take {view.len} bytes")
        while i < n and size:
            with nogil:
                # Stays outside of the GIL until a range goes in part.
                while i < n:
                    wanted = min(size - done, PIECE)
                    put = pwrite(fd, <char*> view.buf + i * size + done, wanted, offsets[i] + done)
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
