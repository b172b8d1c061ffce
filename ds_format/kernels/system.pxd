"""What files.pyx and ranges.pyx share: the errors of system calls."""

from cpython.exc cimport PyErr_CheckSignals, PyErr_SetFromErrnoWithFilenameObject
from libc cimport errno

cdef enum:
    PIECE = 1 << 28  # bytes of one system call: signals are looked at in between


cdef inline int fail(object path) except -1:
    """Raise the error of the last system call, unless a signal merely interrupted it."""
    if errno.errno == errno.EINTR:
        PyErr_CheckSignals()
        return 0
    PyErr_SetFromErrnoWithFilenameObject(OSError, path)
    return 0
