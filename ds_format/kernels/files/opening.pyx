"""A file opened, its first bytes read, and a small one closed, in one call.

POSIX only; `portable.py` has the same function for other systems.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING
from libc cimport errno
from posix.fcntl cimport O_CLOEXEC, O_NONBLOCK, O_RDONLY
from posix.fcntl cimport open as c_open
from posix.stat cimport S_ISDIR, S_ISREG, fstat, struct_stat
from posix.unistd cimport close as c_close
from posix.unistd cimport pread

from .system cimport PIECE, encoded_path, fail


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

    Raises
    ------
    OSError
        As the system says; IsADirectoryError for a folder, ESPIPE for what is no file either.
    """
    cdef struct_stat status
    cdef int fd = open_regular(path, &status)
    cdef Py_ssize_t size = status.st_size, done
    cdef bytearray data
    try:
        data = PyByteArray_FromStringAndSize(NULL, min(size, limit))
        done = read_first(fd, PyByteArray_AS_STRING(data), min(size, limit), path)
        if done < min(size, limit):
            PyByteArray_Resize(data, done)
    except BaseException:
        c_close(fd)
        raise
    if size <= limit:
        with nogil:
            c_close(fd)
        fd = -1
    return fd, size, data
