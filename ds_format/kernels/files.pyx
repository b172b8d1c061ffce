"""Whole files and ranges of files, in as few system calls as there can be, without the GIL.

POSIX only; `portable.py` has the same functions for other systems.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals, PyErr_SetFromErrnoWithFilenameObject
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc cimport errno
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy, strrchr
from posix.fcntl cimport O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_NONBLOCK, O_RDONLY, O_WRONLY
from posix.fcntl cimport open as c_open
from posix.stat cimport S_ISDIR, S_ISREG, chmod, fstat, lstat, struct_stat
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec
from posix.types cimport mode_t, off_t
from posix.uio cimport iovec, pwritev
from posix.unistd cimport close as c_close
from posix.unistd cimport fsync, getpid, pread, pwrite, unlink

cdef extern from "Python.h":
    void Py_DECREF(object)
    bytes PyBytes_FromStringAndSize(char* text, Py_ssize_t size)
    int PyUnicode_FSConverter(object path, void* result) except 0

cdef extern from "<stdio.h>" nogil:
    int c_rename "rename"(const char* old, const char* new)

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
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
    #if defined(__linux__) && defined(RENAME_NOREPLACE)
    #define ds_rename_new(a, b) renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE)
    #else
    #define ds_rename_new(a, b) ((void)(a), (void)(b), -1)
    #endif
    #define DS_IOV_MAX 1024
    """
    int rename_new "ds_rename_new"(const char* old, const char* new) nogil
    Py_ssize_t copy_file_range "ds_copy_file_range"(
        int source, off_t* source_offset, int target, off_t* target_offset, size_t size, unsigned int flags) nogil
    enum:
        IOV_MAX "DS_IOV_MAX"

cdef enum:
    PIECE = 1 << 28  # bytes of one system call: signals are looked at in between
    COPY_SIZE = 1 << 20  # bytes of the buffer where the system cannot copy by itself
    NAME_SIZE = 255  # the longest file name of common file systems


cdef int _fail(object path) except -1:
    """Raise the error of the last system call, unless a signal merely interrupted it."""
    if errno.errno == errno.EINTR:
        PyErr_CheckSignals()
        return 0
    PyErr_SetFromErrnoWithFilenameObject(OSError, path)
    return 0


cdef bytes _encoded(object path):
    cdef object encoded = None
    cdef void* result = NULL
    PyUnicode_FSConverter(path, &result)
    encoded = <object> result
    Py_DECREF(encoded)
    return encoded


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
    """
    cdef bytes encoded = _encoded(path)
    cdef const char* name = PyBytes_AS_STRING(encoded)
    cdef struct_stat status
    cdef int fd, failed
    cdef Py_ssize_t size, done = 0, got = 0
    cdef bytearray data = None
    cdef char* start = NULL
    while True:
        with nogil:
            fd = c_open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            failed = fd < 0 or fstat(fd, &status) < 0
        if not failed:
            break
        _close_quietly(fd)
        _fail(path)
    size = status.st_size
    if not S_ISREG(status.st_mode):
        c_close(fd)
        errno.errno = errno.EISDIR if S_ISDIR(status.st_mode) else errno.ESPIPE
        _fail(path)
    if size > limit:
        c_close(fd)
        return None
    try:
        data = PyByteArray_FromStringAndSize(NULL, size)
        start = PyByteArray_AS_STRING(data)
        while done < size:
            with nogil:
                got = pread(fd, start + done, min(size - done, PIECE), done)
            if got < 0:
                _fail(path)
            elif got == 0:
                PyByteArray_Resize(data, done)
                break
            else:
                done += got
    finally:
        with nogil:
            c_close(fd)
    return data


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
                _fail(None)
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
                _fail(None)
            elif got == 0:
                return i * size + done
            else:
                done += got
        return n * size
    finally:
        PyBuffer_Release(&view)


cdef class _Vectors:
    """Buffers held for one vectored write."""

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

    cdef int64_t write(self, int fd, int64_t offset, object path) except -1:
        """Write all buffers from a position on; return the bytes written."""
        cdef Py_ssize_t first = 0, got, size
        cdef int64_t start = offset
        while first < self.n:
            with nogil:
                got = pwritev(fd, &self.items[first], <int> min(self.n - first, IOV_MAX), offset)
            if got < 0:
                _fail(path)
                continue
            offset += got
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
        return offset - start


def write_at(int fd, int64_t offset, list buffers not None):
    """Write buffers one after another at a position of an open file.

    Parameters
    ----------
    fd : int
        File descriptor.
    offset : int
        Bytes from the start of the file.
    buffers : list of C-contiguous buffers

    Returns
    -------
    int
        Bytes written: all.

    Raises
    ------
    OSError
        As the system says.
    """
    return _Vectors(buffers).write(fd, offset, None)


cdef char* _hex(char* out, uint64_t value) noexcept nogil:
    while value:
        out[0] = b"0123456789abcdef"[value & 15]
        out += 1
        value >>= 4
    return out


cdef void _temporary_name(const char* name, Py_ssize_t size, char* out) noexcept nogil:
    """Make a name in the same folder that nobody else uses: folder/.name.process-time.tmp, at most 40 bytes longer."""
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


def write_file(object path not None, list buffers not None, bint atomic=True, bint durable=False):
    """Write a whole file from buffers, one after another.

    Parameters
    ----------
    path : str, bytes or PathLike
    buffers : list of C-contiguous buffers
    atomic : bool
        Write to a temporary file in the same folder and rename it; a file under the name is replaced and gives its
        permissions. Else create the file, which must not exist yet, and write straight into it.
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
    cdef bytes encoded = _encoded(path), room
    cdef const char* name = PyBytes_AS_STRING(encoded)
    cdef char* written = <char*> name
    cdef Py_ssize_t size = PyBytes_GET_SIZE(encoded)
    cdef int fd = -1, failed
    cdef bint placed = False
    cdef struct_stat status
    cdef _Vectors vectors = _Vectors(buffers)
    if atomic:
        room = PyBytes_FromStringAndSize(NULL, size + 64)
        written = PyBytes_AS_STRING(room)
    while fd < 0:
        with nogil:
            if atomic:
                _temporary_name(name, size, written)
            fd = c_open(written, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, <mode_t> 0o666)
        if fd < 0 and not (atomic and errno.errno == errno.EEXIST):
            _fail(path)
    try:
        vectors.write(fd, 0, path)
        if durable:
            _sync(fd, path)
        with nogil:
            failed = -(fstat(fd, &status) < 0)
            failed |= -(c_close(fd) < 0)
            fd = -1
            if atomic and not failed:
                failed = _place(written, name, status.st_mode)
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


cdef int _place(const char* written, const char* name, mode_t mode) noexcept nogil:
    """Rename a file of some mode; 1 if something that is not a file is in the way, -1 on an error.

    The first attempt suffices where nothing stands under the name, and saves looking.
    """
    cdef struct_stat status
    if rename_new(written, name) == 0:
        return 0
    if lstat(name, &status) == 0:
        if not S_ISREG(status.st_mode):
            return 1
        if status.st_mode != mode and chmod(written, status.st_mode & 0o7777) < 0:
            return -1
    return -1 if c_rename(written, name) < 0 else 0


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
            _fail(path)
    return 0


def sync_folder(object path not None):
    """Flush the folder of a file to the disk, so that a rename in it lasts.

    Raises
    ------
    OSError
        As the system says.
    """
    cdef bytes encoded = _encoded(path)
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
            _fail(None)
        else:
            done += got
            if done < size:
                PyErr_CheckSignals()
    return done
