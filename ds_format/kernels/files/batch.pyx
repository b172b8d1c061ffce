"""Many small files in one call, without the GIL.

POSIX only; `portable.py` has the same function for other operating systems.
"""

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc cimport errno
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from posix.fcntl cimport O_CLOEXEC, O_NONBLOCK, O_RDONLY
from posix.fcntl cimport open as c_open
from posix.stat cimport S_ISREG, fstat, struct_stat
from posix.unistd cimport close as c_close
from posix.unistd cimport pread

from .files cimport TRIES, is_changing, time_changed
from .system cimport encoded_path

cdef enum:
    FAILED = -1
    OTHER = -2  # too large, or not a regular file
    FIRST_CAPACITY = 1 << 16


cdef struct FileBytes:
    char* data
    size_t size
    size_t capacity


cdef bint _grow(FileBytes* content, size_t size) noexcept nogil:
    """Allocate memory for `size` more bytes; return False if there is not enough."""
    cdef size_t capacity = content.size + size
    cdef void* moved
    if capacity <= content.capacity:
        return True
    capacity = max(capacity, 2 * content.capacity)
    moved = realloc(content.data, capacity)
    if moved == NULL:
        return False
    content.data = <char*> moved
    content.capacity = capacity
    return True


cdef struct Stamp:
    int64_t size
    int64_t changed
    int64_t inode


cdef Py_ssize_t _read_whole(
    const char* name, Py_ssize_t limit, FileBytes* content, int* failure, Stamp* stamp
) noexcept nogil:
    """Append a file to `content`, and set its stamp. Return its size, OTHER, or FAILED after setting the errno."""
    cdef struct_stat status
    cdef Py_ssize_t size, done = 0, got
    cdef int fd = c_open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if fd < 0:
        failure[0] = errno.errno
        return FAILED
    if fstat(fd, &status) < 0:
        failure[0] = errno.errno
        c_close(fd)
        return FAILED
    for _ in range(TRIES):
        size, done = status.st_size, 0
        stamp[0] = Stamp(size, time_changed(&status), <int64_t> status.st_ino)
        if not S_ISREG(status.st_mode) or size > limit:
            c_close(fd)
            return OTHER
        if not _grow(content, size):
            failure[0] = errno.ENOMEM
            c_close(fd)
            return FAILED
        while done < size:
            got = pread(fd, content.data + content.size + done, size - done, done)
            if got < 0 and errno.errno == errno.EINTR:
                continue
            if got < 0:
                failure[0] = errno.errno
                c_close(fd)
                return FAILED
            if got == 0:
                break
            done += got
        if not is_changing(fd, &status):
            break
    else:  # the caller then reads the file by itself, which raises the error
        c_close(fd)
        return OTHER
    c_close(fd)
    content.size += done
    return done


cdef class Contents:
    """The contents of files in their order. Iteration makes a bytearray of each file, or yields why it was not read.

    Bytearrays are made on demand, so that threads that read hold the GIL only briefly, and memory is allocated where
    it is used.
    """

    cdef FileBytes content
    cdef Py_ssize_t n
    cdef Py_ssize_t* sizes
    cdef int* failures
    cdef Stamp* kept

    def __cinit__(self, Py_ssize_t n):
        self.content = FileBytes(<char*> malloc(FIRST_CAPACITY), 0, FIRST_CAPACITY)
        self.sizes = <Py_ssize_t*> malloc(max(n, 1) * sizeof(Py_ssize_t))
        self.failures = <int*> malloc(max(n, 1) * sizeof(int))
        self.kept = <Stamp*> calloc(max(n, 1), sizeof(Stamp))
        if self.content.data == NULL or self.sizes == NULL or self.failures == NULL or self.kept == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.content.data)
        free(self.sizes)
        free(self.failures)
        free(self.kept)

    def __len__(self):
        return self.n

    def stamps(self):
        """Return the stamps of the files.

        Returns
        -------
        bytes
            For each file, three int64 in native byte order: its size in bytes, the time of its last change in ns since
            1970, and its inode. They are 0 if the operating system does not open it.
        """
        return PyBytes_FromStringAndSize(<char*> self.kept, self.n * sizeof(Stamp))

    def __iter__(self):
        cdef Py_ssize_t i
        cdef size_t start = 0
        for i in range(self.n):
            if self.sizes[i] >= 0:
                yield PyByteArray_FromStringAndSize(self.content.data + start, self.sizes[i])
                start += self.sizes[i]
            else:
                yield self.failures[i] if self.sizes[i] == FAILED else None


def read_files(list paths not None, Py_ssize_t limit):
    """Read whole files, one after another.

    Parameters
    ----------
    paths : list of str, bytes or PathLike
    limit : int
        Bytes; a larger file is not read.

    Returns
    -------
    iterable of bytearray, int or None
        For each path, the bytes of the file, or the errno if the operating system cannot read it. None if it is larger
        than `limit` bytes, is not a regular file, or was modified each time it was read.

    Raises
    ------
    MemoryError
        If there is not enough memory to begin. Later, a file gets the errno ENOMEM.
    """
    cdef Py_ssize_t i, n = len(paths)
    cdef list encoded = [encoded_path(path) for path in paths]
    cdef Contents contents = Contents(n)
    cdef const char** names = <const char**> malloc(max(n, 1) * sizeof(char*))
    if names == NULL:
        raise MemoryError
    for i in range(n):
        names[i] = PyBytes_AS_STRING(encoded[i])
    with nogil:
        for i in range(n):
            contents.sizes[i] = _read_whole(
                names[i], limit, &contents.content, &contents.failures[i], &contents.kept[i]
            )
    free(names)
    contents.n = n
    return contents
