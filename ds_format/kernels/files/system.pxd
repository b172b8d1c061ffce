"""What the kernels that call the system share: paths and errors."""

from cpython.exc cimport PyErr_CheckSignals, PyErr_SetFromErrnoWithFilenameObject
from libc cimport errno

cdef extern from "Python.h":
    void Py_DECREF(object)
    int PyUnicode_FSConverter(object path, void* result) except 0

cdef enum:
    PIECE = 1 << 28  # bytes of one system call: signals are looked at in between


cdef inline int fail(object path) except -1:
    """Raise the error of the last system call, unless a signal merely interrupted it."""
    if errno.errno == errno.EINTR:
        PyErr_CheckSignals()
        return 0
    PyErr_SetFromErrnoWithFilenameObject(OSError, path)
    return 0


cdef inline bytes encoded_path(object path):
    """Return a path, str, bytes or PathLike, as the system wants it."""
    cdef void* result = NULL
    PyUnicode_FSConverter(path, &result)
    cdef object encoded = <object> result
    Py_DECREF(encoded)
    return encoded
