"""A part of a variable of an open file → an array in native byte order, searched for sentinels in the same pass.

POSIX only.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from posix.unistd cimport pread

from ..common.filling cimport MAX_RANK, Search, copy_and_search, empty, rank_of, search_values, start_search
from ..common.words cimport native
from ..files.system cimport fail

cnp.import_array()

cdef enum:
    BUFFER = 256 << 10  # bytes that are read by one call, and then decoded while they are in a cache
    GAP = 16 << 10  # bytes between two runs that are read, too, since that is faster than a second call
    SIGNALS = 256  # system calls between two checks for signals


cdef struct Slab:
    int fd
    int rank
    int axis  # all values of the axes from this one on form one run
    int stretched  # the axes from this one up to `axis` are read together with the bytes between their runs
    int64_t* shape
    int64_t* strides  # in bytes, in the file
    int64_t run  # bytes of a run
    int64_t begin
    uint8_t* target
    uint8_t* buffer
    int calls


def read(
    int fd, int64_t begin, tuple shape not None, tuple strides not None, cnp.dtype dtype not None,
    cnp.ndarray sentinels, bint is_big=True,
):
    """Return a part of a variable.

    Parameters
    ----------
    fd : int
        File descriptor.
    begin : int
        Bytes from the start of the file to the first value of the part.
    shape : tuple of int
    strides : tuple of int
        Bytes in the file from one value to the next along each axis. Each is at least the bytes that the axes after it
        take together.
    dtype : dtype
        Native, of 1, 2, 4 or 8 bytes.
    sentinels : (N,) ndarray or None
        Values of this dtype to search for.
    is_big : bool
        Whether the values in the file are big-endian.

    Returns
    -------
    array : ndarray
    found : bool
        Whether the array contains a sentinel.

    Raises
    ------
    EOFError
        If the file ends before the last value.
    OSError
        If the operating system cannot read the file.
    ValueError
        If shape, strides and `begin` do not fit, or the part takes more than 2**62 bytes of the file.
    """
    cdef Slab s
    cdef Search search
    cdef cnp.npy_intp lengths[MAX_RANK]
    cdef cnp.npy_intp steps[MAX_RANK]
    cdef cnp.npy_intp extent
    cdef int axis
    start_search(&search, dtype, sentinels, is_big)
    s.rank = rank_of(shape, lengths)
    if rank_of(strides, steps) != s.rank or begin < 0:
        raise ValueError(f"shape {shape}, strides {strides}, begin {begin}: they do not fit")
    array = empty(dtype, s.rank, lengths)
    if not cnp.PyArray_SIZE(array):
        return array, False
    s.fd, s.begin, s.calls = fd, begin, 0
    s.shape, s.strides = <int64_t*> lengths, <int64_t*> steps
    s.target = <uint8_t*> cnp.PyArray_DATA(array)
    s.axis, s.run = s.rank, search.size
    while s.axis and (steps[s.axis - 1] == s.run or lengths[s.axis - 1] == 1):
        s.axis -= 1
        s.run *= lengths[s.axis]
    extent = s.run
    s.stretched = s.axis
    for axis in range(s.axis - 1, -1, -1):
        if steps[axis] < extent or (lengths[axis] - 1) > (<int64_t> 1 << 62) // steps[axis]:
            raise ValueError(f"shape {shape}, strides {strides}: they do not fit")
        if s.stretched == axis + 1 and steps[axis] - extent <= GAP and extent + GAP <= BUFFER:
            s.stretched = axis
        extent += (lengths[axis] - 1) * steps[axis]
        if extent > <int64_t> 1 << 62:
            raise ValueError(f"shape {shape}, strides {strides}: they do not fit")
    s.buffer = NULL
    if s.stretched < s.axis:
        s.buffer = <uint8_t*> malloc(BUFFER)
        if s.buffer == NULL:
            raise MemoryError
    try:
        with nogil:
            _walk(&s, &search, 0, begin)
    finally:
        free(s.buffer)
    return array, search.found


cdef int _walk(Slab* s, Search* search, int axis, int64_t offset) except -1 nogil:
    """Read the values of all axes from `axis` on, whose first byte is at `offset`."""
    cdef int64_t i
    if axis == s.axis:
        return _run(s, search, offset)
    if axis == s.stretched:
        return _stretch(s, search, offset)
    for i in range(s.shape[axis]):
        _walk(s, search, axis + 1, offset + i * s.strides[axis])
    return 0


cdef int _run(Slab* s, Search* search, int64_t offset) except -1 nogil:
    """Read one run directly into the array, and swap it in place."""
    cdef int64_t done = 0, size
    while done < s.run:
        size = min(s.run - done, <int64_t> BUFFER)
        _pread(s, s.target, size, offset + done)
        copy_and_search(s.target, s.target, size // search.size, search)
        s.target += size
        done += size
    return 0


cdef int _stretch(Slab* s, Search* search, int64_t offset) except -1 nogil:
    """Read several positions of the stretched axis by one call, and copy the runs from them."""
    cdef int64_t stride = s.strides[s.stretched], n = s.shape[s.stretched], m, size = s.run
    cdef int64_t most = max(<int64_t> BUFFER // stride, <int64_t> 1)
    cdef int axis
    for axis in range(s.stretched + 1, s.axis):
        size += (s.shape[axis] - 1) * s.strides[axis]
    while n:
        m = min(n, most)
        _pread(s, s.buffer, (m - 1) * stride + size, offset)
        _gather(s, search, s.stretched, s.buffer, m)
        offset += m * stride
        n -= m
    return 0


cdef void _gather(Slab* s, Search* search, int axis, const uint8_t* source, int64_t n) noexcept nogil:
    """Copy the runs of `n` positions of an axis, with all axes after it, into the array."""
    cdef int64_t i, stride = s.strides[axis]
    cdef uint8_t* start = s.target
    for i in range(n):
        if axis + 1 < s.axis:
            _gather(s, search, axis + 1, source + i * stride, s.shape[axis + 1])
        else:
            native(source + i * stride, s.target, s.run // search.size, search.size, search.swapped)
            s.target += s.run
    if axis + 1 == s.axis:
        search_values(search, start, (s.target - start) // search.size)


cdef int _pread(Slab* s, uint8_t* target, int64_t size, int64_t offset) except -1 nogil:
    cdef int64_t done = 0
    cdef Py_ssize_t got
    s.calls += 1
    if s.calls % SIGNALS == 0:
        with gil:
            PyErr_CheckSignals()
    while done < size:
        got = pread(s.fd, target + done, size - done, offset + done)
        if got < 0:
            with gil:
                fail(None)
        elif got == 0:
            with gil:
                raise EOFError
        else:
            done += got
    return 0
