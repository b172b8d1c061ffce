"""Paths and errors, for all kernels with system calls."""

from cpython.exc cimport PyErr_CheckSignals, PyErr_SetFromErrnoWithFilenameObject
from libc cimport errno

cdef extern from "Python.h":
    void Py_DECREF(object)
    int PyUnicode_FSConverter(object path, void* result) except 0

cdef enum:
    PIECE = 1 << 28  # maximum bytes of a system call; signals are checked between calls


cdef inline int fail(object path) except -1:
    """Raise the error of the last system call. If a signal interrupted it, only run the handlers of signals."""
    if errno.errno == errno.EINTR:
        PyErr_CheckSignals()
        return 0
    if errno.errno == errno.ESPIPE:
        raise OSError(errno.ESPIPE, "a pipe or a device, expected a file", path)
    PyErr_SetFromErrnoWithFilenameObject(OSError, path)
    return 0


cdef inline bytes encoded_path(object path):
    """Return a path, which is str, bytes or PathLike, in the encoding of the file system."""
    cdef void* result = NULL
    PyUnicode_FSConverter(path, &result)
    cdef object encoded = <object> result
    Py_DECREF(encoded)
    return encoded
