"""Whole files, in as few system calls as there can be, without the GIL.

POSIX only; `portable.py` has the same functions for other systems.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_SetFromErrnoWithFilenameObject
from libc cimport errno
from posix.fcntl cimport O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_RDONLY, O_WRONLY
from posix.fcntl cimport open as c_open
from posix.stat cimport S_ISREG, chmod, fchmod, lstat, struct_stat
from posix.types cimport mode_t
from posix.unistd cimport close as c_close
from posix.unistd cimport fsync, unlink

from .hidden cimport temporary_name
from .opening cimport TRIES, is_changing, open_regular, read_first, refuse_changing
from .system cimport encoded_path, fail
from .vectors cimport Vectors

cdef extern from "<stdio.h>" nogil:
    int c_rename "rename"(const char* old, const char* new)

cdef extern from *:
    """
    #include <fcntl.h>
    #include <stdio.h>
    #if defined(__linux__) && defined(RENAME_NOREPLACE)
    #define ds_rename_new(a, b) renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE)
    #else
    #define ds_rename_new(a, b) ((void)(a), (void)(b), -1)
    #endif
    """
    int rename_new "ds_rename_new"(const char* old, const char* new) nogil


def read_file(object path not None, Py_ssize_t limit):
    """Read a whole file: open, fstat, read, close.

    Parameters
    ----------
    path : str, bytes or PathLike
    limit : int
        Bytes; a larger file is not read.

    Returns
    -------
    bytearray or None
        None if the file is larger than `limit`. Shorter than the file was if it shrank meanwhile.

    Raises
    ------
    OSError
        As the system says; IsADirectoryError for a folder.
    ReplacedError
        If the file was modified each time it was read.
    """
    cdef struct_stat status
    cdef int fd = open_regular(path, &status)
    cdef Py_ssize_t size, done
    cdef int tries = 0
    cdef bytearray data = None
    try:
        while status.st_size <= limit:
            size = status.st_size
            data = PyByteArray_FromStringAndSize(NULL, size)
            done = read_first(fd, PyByteArray_AS_STRING(data), size, path)
            if done < size:
                PyByteArray_Resize(data, done)
            if not is_changing(fd, &status):
                break
            data = None
            tries += 1
            if tries == TRIES:
                refuse_changing(path)
    finally:
        with nogil:
            c_close(fd)
    return data


def write_file(object path not None, list buffers not None, bint atomic=True, bint durable=False):
    """Write a whole file from buffers, one after another.

    Parameters
    ----------
    path : str, bytes or PathLike
    buffers : list of C-contiguous buffers
    atomic : bool
        Write to a temporary file in the same folder and rename it; a file that it replaces gives its permissions from
        the beginning. Else create the file, which must not exist yet, and write straight into it.
    durable : bool
        Flush file and folder to the disk before returning.

    Returns
    -------
    bool
        False, and nothing is left behind, if a link or something else than a file stands under the name.

    Raises
    ------
    OSError
        As the system says. Nothing is left behind.
    """
    cdef bytes encoded = encoded_path(path), room
    cdef const char* name = PyBytes_AS_STRING(encoded)
    cdef char* written = <char*> name
    cdef Py_ssize_t size = PyBytes_GET_SIZE(encoded)
    cdef int fd = -1, failed, found = 0
    cdef bint placed = False
    cdef mode_t mode = 0o666
    cdef Vectors vectors = Vectors(buffers)
    if atomic:
        room = PyBytes_FromStringAndSize(NULL, size + 64)
        written = PyBytes_AS_STRING(room)
        found = -1
        while found < 0:
            with nogil:
                found = _look(name, &mode)
            if found < 0:
                fail(path)
        if found > 1:
            return False
    while fd < 0:
        with nogil:
            if atomic:
                temporary_name(name, size, written)
            fd = c_open(written, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, <mode_t> (mode & 0o777 | 0o600))
        if fd < 0 and not (atomic and errno.errno == errno.EEXIST):
            fail(path)
    try:
        vectors.write(fd, path)
        if durable:
            _sync(fd, path)
        with nogil:
            failed = -(found > 0 and fchmod(fd, mode) < 0)
            failed |= -(c_close(fd) < 0)
            fd = -1
            if atomic and not failed:
                failed = -(c_rename(written, name) < 0) if found else _place(written, name)
        if failed < 0:
            PyErr_SetFromErrnoWithFilenameObject(OSError, path)
        placed = failed == 0
    finally:
        if not placed:
            _close_quietly(fd)
            unlink(written)
    if placed and durable:
        sync_folder(path)
    return placed


cdef int _look(const char* name, mode_t* mode) noexcept nogil:
    """Return 1, and its permissions, if a file stands under a name; 0 for nothing, 2 for something else, -1: error."""
    cdef struct_stat status
    if lstat(name, &status) < 0:
        return 0 if errno.errno == errno.ENOENT else -1
    mode[0] = status.st_mode & 0o7777
    return 1 if S_ISREG(status.st_mode) else 2


cdef int _place(const char* written, const char* name) noexcept nogil:
    """Rename a new file; 1 if something that is not a file stands in the way by now, -1 on an error."""
    cdef mode_t mode
    cdef int found
    if rename_new(written, name) == 0:
        return 0
    found = _look(name, &mode)
    if found > 1:
        return 1
    return -1 if found < 0 or (found > 0 and chmod(written, mode) < 0) or c_rename(written, name) < 0 else 0


cdef void _close_quietly(int fd) noexcept:
    """Close, and leave the error of the call before it in place."""
    cdef int number = errno.errno
    if fd >= 0:
        c_close(fd)
    errno.errno = number


cdef int _sync(int fd, object path) except -1:
    cdef int failed = 1
    while failed:
        with nogil:
            failed = fsync(fd) < 0
        if failed:
            fail(path)
    return 0


def sync_folder(object path not None):
    """Flush the folder of a file to the disk, so that a rename in it lasts.

    Raises
    ------
    OSError
        As the system says.
    """
    cdef bytes encoded = encoded_path(path)
    cdef bytes folder = encoded.rpartition(b"/")[0] or (b"/" if encoded.startswith(b"/") else b".")
    cdef const char* name = PyBytes_AS_STRING(folder)
    cdef int fd
    with nogil:
        fd = c_open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if fd < 0:
        PyErr_SetFromErrnoWithFilenameObject(OSError, path)
    try:
        _sync(fd, path)
    finally:
        c_close(fd)
