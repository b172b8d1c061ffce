"""A small member of a ZIP archive whose directory is known, in one call: open, fstat, read, close.

POSIX only. Elsewhere the caller does the same by several calls.
"""

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from posix.fcntl cimport O_CLOEXEC, O_NONBLOCK, O_RDONLY
from posix.fcntl cimport open as c_open
from posix.stat cimport S_ISREG, fstat, stat, struct_stat
from posix.unistd cimport close as c_close
from posix.unistd cimport pread

from .directory cimport END, FAULT, N_COLUMNS, OFFSET, SIZE, data_start
from .files cimport is_changing, time_changed
from .system cimport encoded_path

cdef extern from *:
    """
    #include <sys/stat.h>
    #ifdef __APPLE__
    #define DS_STATUS_NS(status) ((int64_t) (status).st_ctimespec.tv_sec * 1000000000 + (status).st_ctimespec.tv_nsec)
    #else
    #define DS_STATUS_NS(status) ((int64_t) (status).st_ctim.tv_sec * 1000000000 + (status).st_ctim.tv_nsec)
    #endif
    """
    int64_t status_ns "DS_STATUS_NS"(struct_stat status) noexcept nogil

cdef enum:
    SPARE = 512  # bytes of a local header, with its name, that are read together with the data


cdef Py_ssize_t _read(
    const char* name, const int64_t* stamp, const int64_t* row, uint8_t* out, Py_ssize_t size
) noexcept nogil:
    """Read bytes from a local header on, if the file has a stamp; return how many, or -1."""
    cdef struct_stat status
    cdef Py_ssize_t got = -1
    cdef int fd = c_open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if fd < 0:
        return -1
    if (
        fstat(fd, &status) == 0
        and status.st_size == stamp[0]
        and time_changed(&status) == stamp[1]
        and status_ns(status) == stamp[2]
        and <int64_t> status.st_ino == stamp[3]
        and <int64_t> status.st_dev == stamp[4]
    ):
        got = pread(fd, out, size, row[OFFSET])
        if is_changing(fd, &status):
            got = -1
    c_close(fd)
    return got


def read_member(
    object path not None,
    const int64_t[::1] stamp not None,
    const uint8_t[::1] directory not None,
    const int64_t[:, ::1] rows not None,
    Py_ssize_t i,
    Py_ssize_t limit,
):
    """Return the bytes of a member.

    Parameters
    ----------
    path : str, bytes or PathLike
        The archive.
    stamp : (5,) int64
        Size in bytes, times of the last change of the content and of the status in ns, inode and device of the file
        whose directory is known.
    directory, rows, i
        As for `directory.find_data`.
    limit : int
        Maximum bytes.

    Returns
    -------
    bytearray or None
        None if the file has another stamp or cannot be read, or the member is larger or has any fault.
    """
    cdef bytes encoded = encoded_path(path)
    cdef const char* name = PyBytes_AS_STRING(encoded)
    cdef const int64_t* row
    cdef Py_ssize_t size, got
    cdef int64_t start = -1
    cdef uint8_t* data
    cdef bytearray found = None
    if rows.shape[1] != N_COLUMNS or not 0 <= i < rows.shape[0] or stamp.shape[0] != 5 or directory.shape[0] == 0:
        return None
    row = &rows[i, 0]
    if row[FAULT] != 0 or not 0 <= row[SIZE] <= limit or row[END] <= row[OFFSET]:
        return None
    size = <Py_ssize_t> min(row[END] - row[OFFSET], row[SIZE] + SPARE)
    data = <uint8_t*> malloc(size)
    if data == NULL:
        raise MemoryError
    try:
        with nogil:
            got = _read(name, &stamp[0], row, data, size)
            if got > 0:
                start = data_start(&directory[0], directory.shape[0], row, data, got)
        if start >= 0 and row[SIZE] <= got - start:
            found = PyByteArray_FromStringAndSize(<const char*> data + start, row[SIZE])
    finally:
        free(data)
    return found


def is_regular(object path not None):
    """Return whether a path is a regular file, or a link to one."""
    cdef bytes encoded = encoded_path(path)
    cdef const char* name = PyBytes_AS_STRING(encoded)
    cdef struct_stat status
    cdef int failed
    with nogil:
        failed = stat(name, &status)
    return failed == 0 and S_ISREG(status.st_mode)
