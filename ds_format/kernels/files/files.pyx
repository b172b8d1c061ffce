"""Files that are opened, read or written in one call: whole ones, and the first bytes of larger ones.

These functions make as few system calls as possible, without the GIL. POSIX only; `portable.py` has the same functions
for other operating systems.
"""

import os

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals, PyErr_SetFromErrnoWithFilenameObject
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc cimport errno
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, strrchr
from posix.fcntl cimport O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_NONBLOCK, O_RDONLY, O_WRONLY, open as c_open
from posix.stat cimport S_ISDIR, S_ISREG, chmod, fchmod, fstat, lstat, struct_stat
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec
from posix.types cimport mode_t
from posix.uio cimport iovec, writev
from posix.unistd cimport close as c_close, fsync, getpid, pread, unlink

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
    RECENT = 20_000_000  # ns; several steps of the clock of file systems


cdef int64_t time_changed(struct_stat* status) noexcept nogil:
    """Return the time of the last change in ns since 1970."""
    return changed_ns(status[0])


cdef bint is_changing(int fd, struct_stat* status) noexcept nogil:
    """Return whether a file was modified while it was read, and update its status.

    A second fstat takes a tenth of the time of reading a small file. So it is made only if the file was modified a
    moment ago. A program that writes the file in parts has most likely started before.
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


cdef int _open_regular(object path, struct_stat* status) except -1:
    """Open a file for reading, and return its descriptor. Raise an OSError if it is not a regular file."""
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


cdef bytearray _read_first(
    int fd, struct_stat* status, Py_ssize_t limit, object path, Py_ssize_t* size, int64_t* changed
):
    """Read the first bytes of an open file, at most `limit`. A smaller file is read again if it changes meanwhile.

    Output: `size` in bytes, and `changed`, the time of its last change before it was read.
    """
    cdef Py_ssize_t done, got, end
    cdef bytearray data
    cdef char* buffer
    cdef int _
    for _ in range(TRIES):
        size[0], changed[0] = status.st_size, time_changed(status)
        end, done = min(size[0], limit), 0
        data = PyByteArray_FromStringAndSize(NULL, end)
        buffer = PyByteArray_AS_STRING(data)
        while done < end:
            with nogil:
                got = pread(fd, buffer + done, min(end - done, PIECE), done)
            if got < 0:
                fail(path)
            elif got == 0:
                PyByteArray_Resize(data, done)
                break
            else:
                done += got
        if size[0] > limit or not is_changing(fd, status):
            return data
    raise ReplacedError(f"the file was modified while it was read, {TRIES} times", path=os.fsdecode(path))


cdef bytearray _opened(
    object path, Py_ssize_t limit, Py_ssize_t first, int* fd, Py_ssize_t* size, int64_t* changed
):
    """Read and close a file of at most `limit` bytes: `fd` is -1. Open a larger one, and read its `first` bytes."""
    cdef struct_stat status
    cdef bytearray data
    fd[0] = _open_regular(path, &status)
    size[0], changed[0] = 0, 0
    try:
        data = _read_first(fd[0], &status, limit if status.st_size <= limit else first, path, size, changed)
    except BaseException:
        c_close(fd[0])
        raise
    if size[0] <= limit:
        with nogil:
            c_close(fd[0])
        fd[0] = -1
    return data


def open_first(object path not None, Py_ssize_t limit, Py_ssize_t first=-1):
    """Open a file, and read its first bytes: open, fstat, read. Close it if these are all bytes.

    Parameters
    ----------
    path : str, bytes or PathLike
    limit : int
        Maximum number of bytes to read.
    first : int, optional
        Bytes to read from the start of a file that has more. Default: the limit.

    Returns
    -------
    fd : int
        File descriptor, which the caller closes. Its position is undefined. -1: the file was read completely, and
        closed.
    size : int
        Bytes of the file.
    data : bytearray
        The first bytes. Fewer than `limit` and `size` if the file was truncated meanwhile.
    changed : int
        Time of the last change before reading, in ns since 1970.

    Raises
    ------
    OSError
        From the operating system. IsADirectoryError for a folder, ESPIPE for other paths that are not regular files.
    ReplacedError
        If a small file was modified each time it was read.
    """
    cdef int fd
    cdef Py_ssize_t size
    cdef int64_t changed
    cdef bytearray data = _opened(path, limit, limit if first < 0 else first, &fd, &size, &changed)
    return fd, size, data, changed


cdef enum:
    IOV_MAX = 1024  # buffers of one system call


@cython.final
cdef class Vectors:
    """Buffers that are held during a vectored write."""

    cdef Py_buffer* views
    cdef iovec* items
    cdef Py_ssize_t n, held

    def __cinit__(self, list buffers):
        cdef Py_ssize_t i
        self.n = len(buffers)
        self.views = <Py_buffer*> PyMem_Malloc(max(self.n, 1) * sizeof(Py_buffer))
        self.items = <iovec*> PyMem_Malloc(max(self.n, 1) * sizeof(iovec))
        if self.views == NULL or self.items == NULL:
            raise MemoryError
        for i in range(self.n):
            PyObject_GetBuffer(buffers[i], &self.views[i], PyBUF_SIMPLE)
            self.held += 1
            self.items[i].iov_base = self.views[i].buf
            self.items[i].iov_len = self.views[i].len

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.held):
            PyBuffer_Release(&self.views[i])
        PyMem_Free(self.views)
        PyMem_Free(self.items)

    cdef int write(self, int fd, object path) except -1:
        """Write all buffers at the end of a file."""
        cdef Py_ssize_t first = 0, got, size
        while first < self.n:
            with nogil:
                got = writev(fd, &self.items[first], <int> min(self.n - first, IOV_MAX))
            if got < 0:
                fail(path)
                continue
            while first < self.n:
                size = <Py_ssize_t> self.items[first].iov_len
                if got < size:
                    self.items[first].iov_base = <char*> self.items[first].iov_base + got
                    self.items[first].iov_len = size - got
                    break
                got -= size
                first += 1
            if first < self.n:
                PyErr_CheckSignals()
        return 0


cdef enum:
    NAME_SIZE = 255  # maximum bytes of a file name on common file systems


cdef inline char* _hex(char* out, uint64_t value) noexcept nogil:
    while value:
        out[0] = (<const char*> b"0123456789abcdef")[value & 15]
        out += 1
        value >>= 4
    return out


cdef void _temporary_name(const char* name, Py_ssize_t size, char* out) noexcept nogil:
    """Make a name in the same folder that is unique: folder/.name.process-time.tmp, at most 40 bytes longer."""
    cdef timespec now
    cdef const char* slash = strrchr(name, b"/")
    cdef Py_ssize_t folder = slash - name + 1 if slash != NULL else 0
    cdef Py_ssize_t kept = min(size - folder, NAME_SIZE - 40)
    clock_gettime(CLOCK_MONOTONIC, &now)
    memcpy(out, name, folder)
    out += folder
    out[0] = b"."
    memcpy(out + 1, name + folder, kept)
    out[kept + 1] = b"."
    out = _hex(out + kept + 2, <uint64_t> getpid())
    out[0] = b"-"
    out = _hex(out + 1, <uint64_t> now.tv_sec * 1000000000u + <uint64_t> now.tv_nsec)
    memcpy(out, b".tmp", 5)


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
        None if the file is larger than `limit`. Shorter than the file was if it was truncated meanwhile.

    Raises
    ------
    OSError
        From the operating system. IsADirectoryError for a folder.
    ReplacedError
        If the file was modified each time it was read.
    """
    cdef struct_stat status
    cdef int fd = _open_regular(path, &status)
    cdef Py_ssize_t size = 0
    cdef int64_t changed = 0
    cdef bytearray data = None
    try:
        if status.st_size <= limit:
            data = _read_first(fd, &status, limit, path, &size, &changed)
    finally:
        with nogil:
            c_close(fd)
    return data if size <= limit else None


def read_or_open(object path not None, Py_ssize_t limit, Py_ssize_t first):
    """Read a whole file like `read_file`, or open a larger one and read its first bytes. The file is opened only once.

    Parameters
    ----------
    path : str, bytes or PathLike
    limit : int
        Maximum bytes of a file that is read completely.
    first : int
        Bytes to read from the start of a larger file.

    Returns
    -------
    bytearray or (fd, size, data, changed)
        All bytes of a small file. For a larger one, the result of `open_first`.

    Raises
    ------
    OSError
        From the operating system. IsADirectoryError for a folder.
    ReplacedError
        If a small file was modified each time it was read.
    """
    cdef int fd
    cdef Py_ssize_t size
    cdef int64_t changed
    cdef bytearray data = _opened(path, limit, first, &fd, &size, &changed)
    return data if fd < 0 else (fd, size, data, changed)


def write_file(object path not None, list buffers not None, bint atomic=True, bint durable=False):
    """Write a whole file from buffers, one after another.

    Parameters
    ----------
    path : str, bytes or PathLike
    buffers : list of C-contiguous buffers
    atomic : bool
        Write to a temporary file in the same folder, and rename it. If it replaces a file, it gets the permissions of
        that file before anything is written. If false, create the file, which must not exist, and write directly to it.
    durable : bool
        Flush file and folder to the disk before returning.

    Returns
    -------
    bool
        False if the path is a link or anything other than a regular file. Then no file is left behind.

    Raises
    ------
    OSError
        From the operating system. No file is left behind.
    """
    cdef bytes encoded = encoded_path(path), temporary
    cdef const char* name = PyBytes_AS_STRING(encoded)
    cdef char* written = <char*> name
    cdef Py_ssize_t size = PyBytes_GET_SIZE(encoded)
    cdef int fd = -1, failed, found = 0
    cdef bint placed = False
    cdef mode_t mode = 0o666
    cdef Vectors vectors = Vectors(buffers)
    if atomic:
        temporary = PyBytes_FromStringAndSize(NULL, size + 64)
        written = PyBytes_AS_STRING(temporary)
        found = -1
        while found < 0:
            with nogil:
                found = _check_name(name, &mode)
            if found < 0:
                fail(path)
        if found > 1:
            return False
    while fd < 0:
        with nogil:
            if atomic:
                _temporary_name(name, size, written)
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
                failed = -(c_rename(written, name) < 0) if found else _rename_new(written, name)
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


cdef int _check_name(const char* name, mode_t* mode) noexcept nogil:
    """Return 1, and set the permissions, for a regular file; 0 if it is missing, 2 for other things, -1 on an error."""
    cdef struct_stat status
    if lstat(name, &status) < 0:
        return 0 if errno.errno == errno.ENOENT else -1
    mode[0] = status.st_mode & 0o7777
    return 1 if S_ISREG(status.st_mode) else 2


cdef int _rename_new(const char* written, const char* name) noexcept nogil:
    """Rename a file to a name that was free. Return 1 if the name is no longer free, and not a file; -1 on an error."""
    cdef mode_t mode
    cdef int found
    if rename_new(written, name) == 0:
        return 0
    found = _check_name(name, &mode)
    if found > 1:
        return 1
    return -1 if found < 0 or (found > 0 and chmod(written, mode) < 0) or c_rename(written, name) < 0 else 0


cdef void _close_quietly(int fd) noexcept:
    """Close a descriptor without changing errno."""
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
    """Flush the folder of a file to the disk, so that a rename in it is durable.

    Raises
    ------
    OSError
        From the operating system.
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
