"""The document of one id, from an open file.

POSIX only; elsewhere there is no such short cut.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr
from posix.unistd cimport pread

from .entries cimport Entry
from ..json.check cimport has_big_number
from .zdx cimport Table


cdef extern from "Python.h":
    bytes PyBytes_FromStringAndSize(char* data, Py_ssize_t size)

cdef enum:
    LONGEST = 1 << 30  # bytes that one call of the system returns
    LINE_FEED = 10

cdef str ID = "_id"


cdef bint _is_line(const char* p, Py_ssize_t size) noexcept nogil:
    """Return whether the first byte is a line feed, and the next one is the last byte."""
    return p[0] == LINE_FEED and memchr(p + 1, LINE_FEED, size - 1) == p + size - 1


def fetch_document(Table table not None, int fd, int64_t start, object loads not None, str id not None):
    """Return the document of an id: where it is, its bytes, and what they mean, with no other object between.

    Parameters
    ----------
    table : Table
    fd : int
        File descriptor, which the caller keeps open.
    start : int
        Where the lines begin in the file, in bytes.
    loads : callable
        Decodes bytes, and raises ValueError if it cannot. It is not called for integers that need more than 64 bits.
    id : str

    Returns
    -------
    dict, None or False
        None: there is no such id. False: there is more to say: it is the first line, a huge one, a short file, no whole
        line, no document, or one of another id.
    """
    cdef Py_ssize_t i = table.find(id), size, got
    cdef Entry entry
    cdef bytes line
    cdef char* p
    cdef object document
    cdef PyObject* found
    if i < 0:
        return None
    entry = table.at(i)
    if entry.offset == 0 or entry.length >= LONGEST:
        return False
    size = <Py_ssize_t> entry.length + 1
    line = PyBytes_FromStringAndSize(NULL, size)
    p = PyBytes_AS_STRING(line)
    with nogil:
        got = pread(fd, p, size, start + <int64_t> entry.offset - 1)
    if got != size or not _is_line(p, size) or has_big_number(<const uint8_t*> p, size):
        return False
    try:
        document = loads(line)
    except ValueError:
        return False
    if type(document) is not dict:
        return False
    found = PyDict_GetItemWithError(document, ID)
    return document if found != NULL and <object> found == id else False
