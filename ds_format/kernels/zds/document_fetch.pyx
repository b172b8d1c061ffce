"""The document of one id, read from an open file.

POSIX only; other operating systems do not have this short cut.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr
from posix.unistd cimport pread

from .entries cimport Entry
from ..json.values cimport has_big_number
from .zdx cimport Table


cdef extern from "Python.h":
    bytes PyBytes_FromStringAndSize(char* data, Py_ssize_t size)

cdef enum:
    MAX_SIZE = 1 << 30  # bytes that one system call returns
    LINE_FEED = 10

cdef str ID = "_id"


cdef bint _is_line(const char* p, Py_ssize_t size) noexcept nogil:
    """Return whether the first and the last byte are line feeds, and no other byte is one."""
    return p[0] == LINE_FEED and memchr(p + 1, LINE_FEED, size - 1) == p + size - 1


def fetch_document(Table table not None, int fd, int64_t start, object loads not None, str id not None):
    """Return the document of an id: look up its position, read its bytes, and decode them.

    Parameters
    ----------
    table : Table
    fd : int
        File descriptor, which the caller keeps open.
    start : int
        Position of the first line in the file, in bytes.
    loads : callable
        Decodes bytes, or raises ValueError. It is not called for integers that need more than 64 bits.
    id : str

    Returns
    -------
    dict, None or False
        None: the id does not exist. False: the caller has to read it. The line is the first one or huge, the file is
        too short, or the bytes are not a whole line, not a document, or a document with another id.
    """
    cdef Py_ssize_t i = table.find(id), size, got
    cdef Entry entry
    cdef bytes line
    cdef char* p
    cdef object document
    cdef PyObject* own_id
    if i < 0:
        return None
    entry = table.at(i)
    if entry.offset == 0 or entry.length >= MAX_SIZE:
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
    own_id = PyDict_GetItemWithError(document, ID)
    return document if own_id != NULL and <object> own_id == id else False
