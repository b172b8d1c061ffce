"""Hidden names of files that are being written; `portable.py` makes the same."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy, strrchr
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec
from posix.unistd cimport getpid

cdef enum:
    NAME_SIZE = 255  # bytes of the longest file name of common file systems


cdef inline char* _hex(char* out, uint64_t value) noexcept nogil:
    while value:
        out[0] = (<const char*> b"0123456789abcdef")[value & 15]
        out += 1
        value >>= 4
    return out


cdef inline void temporary_name(const char* name, Py_ssize_t size, char* out) noexcept nogil:
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
