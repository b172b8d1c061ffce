"""A file opened, its first bytes read, and a small one closed, in one call.

POSIX only; `portable.py` has the same function for other systems.
"""

import os

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING
from libc cimport errno
from libc.stdint cimport int64_t
from posix.fcntl cimport O_CLOEXEC, O_NONBLOCK, O_RDONLY
from posix.fcntl cimport open as c_open
from posix.stat cimport S_ISDIR, S_ISREG, fstat, struct_stat
from posix.unistd cimport close as c_close
from posix.time cimport clock_gettime, timespec
from posix.unistd cimport pread

from .system cimport PIECE, encoded_path, fail

from ...errors import ReplacedError

cdef extern from *:
    """
    #ifdef __APPLE__
    #define DS_CHANGED(status) ((status).st_mtimespec)
    #else
    #define DS_CHANGED(status) ((status).st_mtim)
    #endif
    #define DS_CHANGED_NS(status) ((int64_t) DS_CHANGED(status).tv_sec * 1000000000 + DS_CHANGED(status).tv_nsec)
    #include <time.h>
    #ifdef CLOCK_REALTIME_COARSE
    #define DS_CLOCK CLOCK_REALTIME_COARSE
    #else
    #define DS_CLOCK CLOCK_REALTIME
    #endif
    """
    int64_t changed_ns "DS_CHANGED_NS"(struct_stat status) noexcept nogil
    int DS_CLOCK

cdef enum:
    RECENT = 20_000_000  # ns; several times the step of the clock that file systems use


cdef int64_t time_changed(struct_stat* status) noexcept nogil:
    """Return the time of the last change in ns since 1970."""
    return changed_ns(status[0])


cdef bint is_changing(int fd, struct_stat* status) noexcept nogil:
    """Return whether a file was modified while it was read, and update what is known of it.

    A second fstat takes as long as a tenth of reading a small file. It is made where the file was modified a moment
    ago: a program that writes it in parts has most likely begun before.
    """
    cdef timespec now
    cdef struct_stat after
    cdef int64_t age
    clock_gettime(DS_CLOCK, &now)
    age = <int64_t> now.tv_sec * 1_000_000_000 + now.tv_nsec - changed_ns(status[0])
    if age > RECENT or fstat(fd, &after) < 0:
        return False
    if after.st_size == status.st_size and changed_ns(after) == changed_ns(status[0]):
        return False
    status[0] = after
    return True


cdef int refuse_changing(object path) except -1:
    """Raise what is said of a file that was modified each time it was read."""
    raise ReplacedError(f"the file was modified while it was read, {TRIES} times", path=os.fsdecode(path))


cdef int open_regular(object path, struct_stat* status) except -1:
    """Open a file to read, and return its descriptor; raise an OSError, also for what is no file."""
    cdef bytes encoded = encoded_path(path)
    cdef const char* name = PyBytes_AS_STRING(encoded)
    cdef int fd, failed, number
    while True:
        with nogil:
            fd = c_open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            failed = fd < 0 or fstat(fd, status) < 0
        if not failed and S_ISREG(status.st_mode):
            return fd
        number = errno.errno
        if not failed:
            number = errno.EISDIR if S_ISDIR(status.st_mode) else errno.ESPIPE
        if fd >= 0:
            c_close(fd)
        errno.errno = number
        fail(path)


cdef Py_ssize_t read_first(int fd, char* room, Py_ssize_t size, object path) except -1:
    """Read the first `size` bytes of an open file, and return how many there are."""
    cdef Py_ssize_t done = 0, got
    while done < size:
        with nogil:
            got = pread(fd, room + done, min(size - done, PIECE), done)
        if got < 0:
            fail(path)
        elif got == 0:
            break
        else:
            done += got
    return done


def open_first(object path not None, Py_ssize_t limit):
    """Open a file, and read its first bytes: open, fstat, read; and close, if these are all there are.

    Parameters
    ----------
    path : str, bytes or PathLike
    limit : int
        Bytes to read at most.

    Returns
    -------
    fd : int
        File descriptor, for the caller to close; where its next read begins is not said. -1: the file is closed, for
        all of it was read.
    size : int
        Bytes of the file.
    data : bytearray
        The first ones. Fewer than `limit` and `size` if the file shrank meanwhile.
    changed : int
        Time of the last change before they were read, in ns since 1970.

    Raises
    ------
    OSError
        As the system says; IsADirectoryError for a folder, ESPIPE for what is no file either.
    ReplacedError
        If a small file was modified each time it was read.
    """
    cdef struct_stat status
    cdef int fd = open_regular(path, &status)
    cdef Py_ssize_t size, done
    cdef int64_t changed
    cdef int tries = 0
    cdef bytearray data
    try:
        while True:
            size, changed = status.st_size, changed_ns(status)
            data = PyByteArray_FromStringAndSize(NULL, min(size, limit))
            done = read_first(fd, PyByteArray_AS_STRING(data), min(size, limit), path)
            if done < min(size, limit):
                PyByteArray_Resize(data, done)
            if size > limit or not is_changing(fd, &status):
                break
            tries += 1
            if tries == TRIES:
                refuse_changing(path)
    except BaseException:
        c_close(fd)
        raise
    if size <= limit:
        with nogil:
            c_close(fd)
        fd = -1
    return fd, size, data, changed
