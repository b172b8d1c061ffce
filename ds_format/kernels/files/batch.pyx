"""Many small files in one call, without the GIL.

POSIX only; `portable.py` has the same function for other systems.
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
    OTHER = -2  # too large, or not a file
    FIRST_ROOM = 1 << 16


cdef struct Room:
    char* data
    size_t used
    size_t size


cdef bint _make_room(Room* room, size_t size) noexcept nogil:
    """Make room for `size` more bytes."""
    cdef size_t wanted = room.used + size
    cdef void* moved
    if wanted <= room.size:
        return True
    wanted = max(wanted, 2 * room.size)
    moved = realloc(room.data, wanted)
    if moved == NULL:
        return False
    room.data = <char*> moved
    room.size = wanted
    return True


cdef struct Stamp:
    int64_t size
    int64_t changed
    int64_t inode


cdef Py_ssize_t _read_whole(const char* name, Py_ssize_t limit, Room* room, int* failure, Stamp* stamp) noexcept nogil:
    """Append a file to the room, and return its size, FAILED with the errno, or OTHER; its stamp tells which it was."""
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
        if not _make_room(room, size):
            failure[0] = errno.ENOMEM
            c_close(fd)
            return FAILED
        while done < size:
            got = pread(fd, room.data + room.used + done, size - done, done)
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
    else:  # who reads it by itself gets the error
        c_close(fd)
        return OTHER
    c_close(fd)
    room.used += done
    return done


cdef class Contents:
    """What was read of files, in their order: of each a bytearray that is made when it is asked for; or no bytes.

    So threads that read hold the lock of the interpreter for a moment only, and memory is taken where it is used.
    """

    cdef Room room
    cdef Py_ssize_t n
    cdef Py_ssize_t* sizes
    cdef int* failures
    cdef Stamp* kept

    def __cinit__(self, Py_ssize_t n):
        self.room = Room(<char*> malloc(FIRST_ROOM), 0, FIRST_ROOM)
        self.sizes = <Py_ssize_t*> malloc(max(n, 1) * sizeof(Py_ssize_t))
        self.failures = <int*> malloc(max(n, 1) * sizeof(int))
        self.kept = <Stamp*> calloc(max(n, 1), sizeof(Stamp))
        if self.room.data == NULL or self.sizes == NULL or self.failures == NULL or self.kept == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.room.data)
        free(self.sizes)
        free(self.failures)
        free(self.kept)

    def __len__(self):
        return self.n

    def stamps(self):
        """Return which files these were.

        Returns
        -------
        bytes
            Of each file three int64 in native byte order: its size in bytes, when it was changed in ns since 1970, and
            its inode; zeros if the system refuses it.
        """
        return PyBytes_FromStringAndSize(<char*> self.kept, self.n * sizeof(Stamp))

    def __iter__(self):
        cdef Py_ssize_t i
        cdef size_t start = 0
        for i in range(self.n):
            if self.sizes[i] >= 0:
                yield PyByteArray_FromStringAndSize(self.room.data + start, self.sizes[i])
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
        For each path the bytes of the file; the errno if the system refuses it; None if it is larger than `limit` bytes
        or not a regular file.

    Raises
    ------
    MemoryError
        If there is no room to begin with.
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
            contents.sizes[i] = _read_whole(names[i], limit, &contents.room, &contents.failures[i], &contents.kept[i])
    free(names)
    contents.n = n
    return contents
