"""Small members of a ZIP archive whose directory is known: one call for each, or for many.

POSIX only; `portable.py` has the same class and function for other operating systems.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp
from posix.fcntl cimport F_DUPFD_CLOEXEC, fcntl
from posix.stat cimport S_ISREG, fstat, stat, struct_stat
from posix.types cimport off_t
from posix.uio cimport iovec
from posix.unistd cimport close as c_close
from posix.unistd cimport pread

from .directory cimport CRC, END, FAULT, N_COLUMNS, OFFSET, SIZE, data_start
from .files cimport is_changing, time_changed
from .system cimport encoded_path

from .names import signed

cdef extern from "<sys/uio.h>" nogil:
    ssize_t preadv(int fd, const iovec* items, int n, off_t offset)

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
    HEADER = 512  # bytes of a local header, with its name, that are read together with the data
    RUN = 64  # members that one system call reads


cdef struct Part:
    const int64_t* row
    char* content
    Py_ssize_t header  # bytes before the data that are read
    Py_ssize_t index
    bint is_read


cdef struct Stamp:
    int64_t size
    int64_t modified  # ns
    int64_t changed  # ns; also by a change of the times
    int64_t inode
    int64_t device


cdef Stamp _stamp(object status):
    """Return the numbers of an `os.stat_result` by which a file is recognised."""
    return Stamp(
        status.st_size, status.st_mtime_ns, status.st_ctime_ns, signed(status.st_ino), signed(status.st_dev)
    )


cdef class OpenPack:
    """An archive that stays open, so that a member is read by two system calls: stat, which compares, and preadv.

    Its position is not used, so threads and forked processes can share it. It is closed when nothing refers to it.

    Parameters
    ----------
    path : str
    fd : int
        Descriptor of the file, which is duplicated.
    status : os.stat_result
        Its status before the directory was read.
    directory, rows
        As for `directory.find_data`.
    numbers : dict
        Name of a member → its row.

    Raises
    ------
    ValueError
        If the table has another number of columns.
    """

    cdef bytes _path
    cdef int _fd
    cdef Stamp _stamp
    cdef const uint8_t[::1] _directory
    cdef const int64_t[:, ::1] _rows
    cdef dict _numbers

    def __cinit__(
        self,
        object path not None,
        int fd,
        object status not None,
        const uint8_t[::1] directory not None,
        const int64_t[:, ::1] rows not None,
        dict numbers not None,
    ):
        self._fd = -1
        if rows.shape[1] != N_COLUMNS:
            raise ValueError(f"{rows.shape[1]} columns, expected {<int> N_COLUMNS}")
        self._path = encoded_path(path)
        self._directory, self._rows, self._numbers = directory, rows, numbers
        self._stamp = _stamp(status)
        self._fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)  # if there are too many, members are read by other ways

    def __dealloc__(self):
        if self._fd >= 0:
            c_close(self._fd)

    cdef bint _is_same(self, struct_stat* status) noexcept nogil:
        return (
            status.st_size == self._stamp.size
            and time_changed(status) == self._stamp.modified
            and status_ns(status[0]) == self._stamp.changed
            and <int64_t> status.st_ino == self._stamp.inode
            and <int64_t> status.st_dev == self._stamp.device
        )

    def is_at(self, object status not None):
        """Return whether a file with this status is the archive."""
        cdef Stamp other = _stamp(status)
        return memcmp(&other, &self._stamp, sizeof(Stamp)) == 0

    def is_deleted(self):
        """Return whether the file has no name anymore, so that only this object keeps its content on the disk."""
        cdef struct_stat status
        return self._fd < 0 or fstat(self._fd, &status) < 0 or status.st_nlink == 0

    def read(self, list members not None, Py_ssize_t limit, int64_t[:, ::1] stamps=None):
        """Return the bytes of members.

        Parameters
        ----------
        members : list of str
            Their names. Those that are next to each other in the archive are read together.
        limit : int
            Maximum bytes of a member.
        stamps : (n, 3) int64, optional
            Output: size, CRC-32 and 0 of each member; zeros for one that does not exist.

        Returns
        -------
        list of bytearray or None
            None for a member that is larger or has any fault. None instead of the list if the file has another stamp.
        """
        cdef struct_stat status
        cdef Part[RUN] parts
        cdef Py_ssize_t k, n = len(members), n_parts = 0
        cdef int64_t end = -1
        cdef const int64_t* row
        cdef const char* name = PyBytes_AS_STRING(self._path)
        cdef bint failed
        cdef list found = [None] * n
        if stamps is not None and (stamps.shape[0] != n or stamps.shape[1] != 3):
            raise ValueError(f"{stamps.shape[0]} stamps, expected {n}")
        with nogil:
            failed = self._fd < 0 or stat(name, &status) < 0 or not self._is_same(&status)
        if failed:
            return None
        for k in range(n):
            number = self._numbers.get(members[k])
            if number is None or not 0 <= <Py_ssize_t> number < self._rows.shape[0]:
                continue
            row = &self._rows[<Py_ssize_t> number, 0]
            if stamps is not None:
                stamps[k, 0], stamps[k, 1] = row[SIZE], row[CRC]
            if row[FAULT] != 0 or not 0 <= row[SIZE] <= limit or row[END] - row[OFFSET] < row[SIZE]:
                continue
            if n_parts == RUN or row[OFFSET] != end:
                self._take(parts, n_parts, found)
                n_parts = 0
            content = PyByteArray_FromStringAndSize(NULL, row[SIZE])
            found[k] = content
            parts[n_parts] = Part(row, PyByteArray_AS_STRING(content), row[END] - row[OFFSET] - row[SIZE], k, False)
            end = row[END]
            if parts[n_parts].header > HEADER:  # something is between the members
                parts[n_parts].header, end = HEADER, -1
            n_parts += 1
        self._take(parts, n_parts, found)
        with nogil:
            failed = fstat(self._fd, &status) < 0 or not self._is_same(&status) if n > 1 else is_changing(
                self._fd, &status
            )
        return None if failed else found

    cdef int _take(self, Part* parts, Py_ssize_t n, list found) except -1:
        """Read members that follow each other."""
        cdef Py_ssize_t k
        if n:
            with nogil:
                self._read(parts, n)
            for k in range(n):
                if not parts[k].is_read:
                    found[parts[k].index] = None
        return 0

    cdef void _read(self, Part* parts, Py_ssize_t n) noexcept nogil:
        cdef uint8_t[RUN * HEADER] headers
        cdef iovec[2 * RUN] items
        cdef Py_ssize_t k, got, used = 0
        cdef int64_t start
        cdef const int64_t* row
        for k in range(n):
            items[2 * k] = iovec(&headers[k * HEADER], parts[k].header)
            items[2 * k + 1] = iovec(parts[k].content, parts[k].row[SIZE])
        got = preadv(self._fd, items, <int> (2 * n), parts[0].row[OFFSET])
        for k in range(n):
            row = parts[k].row
            used += parts[k].header
            start = -1
            if self._directory.shape[0] and used <= got:
                start = data_start(
                    &self._directory[0], self._directory.shape[0], row, &headers[k * HEADER], parts[k].header
                )
            used += row[SIZE]
            if start == parts[k].header:
                parts[k].is_read = used <= got
            elif start >= 0:  # the directory does not say that there is something after the data
                parts[k].is_read = pread(self._fd, parts[k].content, row[SIZE], row[OFFSET] + start) == row[SIZE]


def is_regular(object path not None):
    """Return whether a path is a regular file, or a link to one."""
    cdef bytes encoded = encoded_path(path)
    cdef const char* name = PyBytes_AS_STRING(encoded)
    cdef struct_stat status
    cdef int failed
    with nogil:
        failed = stat(name, &status)
    return failed == 0 and S_ISREG(status.st_mode)
