"""Bytes, cut into pieces."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t


def cut(const uint8_t[::1] data not None, list spans not None):
    """Return the pieces of a block of a file.

    Parameters
    ----------
    data : (size,) uint8
        The block.
    spans : list of n + 1 int
        Where in the file each piece starts, and where the last one ends, in bytes. The block starts at the first one.

    Returns
    -------
    list of n bytes

    Raises
    ------
    ValueError
        If they do not ascend from the start of the block to its end.
    """
    cdef Py_ssize_t i, n = len(spans) - 1
    cdef int64_t origin, start = 0, stop, size = data.shape[0]
    cdef const char* p = NULL
    cdef list pieces = []
    if n < 0:
        raise ValueError("no spans")
    if size:
        p = <const char*> &data[0]
    origin = spans[0]
    for i in range(n):
        stop = <int64_t> spans[i + 1] - origin
        if stop < start or stop > size:
            raise ValueError(f"piece {i} goes from byte {start} to {stop} of {size}")
        pieces.append(PyBytes_FromStringAndSize(p + start, <Py_ssize_t> (stop - start)))
        start = stop
    if start != size:
        raise ValueError(f"the pieces end at byte {start} of {size}")
    return pieces
