"""A part of a variable of an open file → an array in native byte order, and whether some value is in it, in one pass.

POSIX only.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from posix.unistd cimport pread

from ..common.filling cimport MAX_RANK, Wanted, empty, native, put, rank_of, seek, want
from ..files.system cimport fail

cnp.import_array()

cdef enum:
    BUFFER = 256 << 10  # bytes that are read at once and then worked on, in a cache
    GAP = 16 << 10  # bytes between two wanted ones that are rather read than left out by another call
    SIGNALS = 256  # calls of the system between two looks for signals


cdef struct Slab:
    int fd
    int rank
    int axis  # what lies behind this one is in one run
    int stretched  # the axes from here on are read together with what lies between
    int64_t* shape
    int64_t* strides  # in the file
    int64_t run  # bytes
    int64_t begin
    uint8_t* target
    uint8_t* buffer
    int calls


def read(
    int fd, int64_t begin, tuple shape not None, tuple strides not None, cnp.dtype dtype not None, cnp.ndarray wanted,
    bint is_big=True,
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
        Bytes in the file from one value to the next along each axis: not less than what the axes behind it take. The
        last byte of the part must be inside of a file, and values enough for a buffer must fit into memory.
    dtype : dtype
        Native, of 1, 2, 4 or 8 bytes.
    wanted : (N,) ndarray or None
        Values of this dtype to look for.
    is_big : bool
        Whether the file has values in big-endian order.

    Returns
    -------
    array : ndarray
    found : bool
        Whether one of the wanted ones is there.

    Raises
    ------
    EOFError
        If the file ends before.
    OSError
        As the system says.
    """
    cdef Slab s
    cdef Wanted w
    cdef cnp.npy_intp lengths[MAX_RANK]
    cdef cnp.npy_intp steps[MAX_RANK]
    cdef cnp.npy_intp least
    cdef int axis
    want(&w, dtype, wanted, is_big)
    s.rank = rank_of(shape, lengths)
    if rank_of(strides, steps) != s.rank or begin < 0:
        raise ValueError(f"shape {shape}, strides {strides}, begin {begin}: they do not fit")
    array = empty(dtype, s.rank, lengths)
    if not cnp.PyArray_SIZE(array):
        return array, False
    s.fd, s.begin, s.calls = fd, begin, 0
    s.shape, s.strides = <int64_t*> lengths, <int64_t*> steps
    s.target = <uint8_t*> cnp.PyArray_DATA(array)
    s.axis, s.run = s.rank, w.size
    while s.axis and (steps[s.axis - 1] == s.run or lengths[s.axis - 1] == 1):
        s.axis -= 1
        s.run *= lengths[s.axis]
    least = s.run
    s.stretched = s.axis
    for axis in range(s.axis - 1, -1, -1):
        if steps[axis] < least or (lengths[axis] - 1) > (<int64_t> 1 << 62) // steps[axis]:
            raise ValueError(f"shape {shape}, strides {strides}: they do not fit")
        if s.stretched == axis + 1 and steps[axis] - least <= GAP and least + GAP <= BUFFER:
            s.stretched = axis
        least += (lengths[axis] - 1) * steps[axis]
        if least > <int64_t> 1 << 62:
            raise ValueError(f"shape {shape}, strides {strides}: they do not fit")
    s.buffer = NULL
    if s.stretched < s.axis:
        s.buffer = <uint8_t*> malloc(BUFFER)
        if s.buffer == NULL:
            raise MemoryError
    try:
        with nogil:
            _walk(&s, &w, 0, begin)
    finally:
        free(s.buffer)
    return array, w.found


cdef int _walk(Slab* s, Wanted* w, int axis, int64_t offset) except -1 nogil:
    """Read what lies behind some axis, from an offset on."""
    cdef int64_t i
    if axis == s.axis:
        return _run(s, w, offset)
    if axis == s.stretched:
        return _stretch(s, w, offset)
    for i in range(s.shape[axis]):
        _walk(s, w, axis + 1, offset + i * s.strides[axis])
    return 0


cdef int _run(Slab* s, Wanted* w, int64_t offset) except -1 nogil:
    """Read one run into its place, and turn it there."""
    cdef int64_t done = 0, size
    while done < s.run:
        size = min(s.run - done, <int64_t> BUFFER)
        _pread(s, s.target, size, offset + done)
        put(s.target, s.target, size // w.size, w)
        s.target += size
        done += size
    return 0


cdef int _stretch(Slab* s, Wanted* w, int64_t offset) except -1 nogil:
    """Read several positions of the stretched axis at once, and take the wanted bytes out of them."""
    cdef int64_t stride = s.strides[s.stretched], n = s.shape[s.stretched], m, size = s.run
    cdef int64_t most = max(<int64_t> BUFFER // stride, <int64_t> 1)
    cdef int axis
    for axis in range(s.stretched + 1, s.axis):
        size += (s.shape[axis] - 1) * s.strides[axis]
    while n:
        m = min(n, most)
        _pread(s, s.buffer, (m - 1) * stride + size, offset)
        _gather(s, w, s.stretched, s.buffer, m)
        offset += m * stride
        n -= m
    return 0


cdef void _gather(Slab* s, Wanted* w, int axis, const uint8_t* source, int64_t n) noexcept nogil:
    """Take `n` positions of an axis, and all that lies behind it."""
    cdef int64_t i, stride = s.strides[axis]
    cdef uint8_t* start = s.target
    for i in range(n):
        if axis + 1 < s.axis:
            _gather(s, w, axis + 1, source + i * stride, s.shape[axis + 1])
        else:
            native(source + i * stride, s.target, s.run // w.size, w.size, w.swapped)
            s.target += s.run
    if axis + 1 == s.axis:
        seek(w, start, (s.target - start) // w.size)


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
