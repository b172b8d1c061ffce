"""Dataspaces."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .known cimport UNDEFINED, Known, check, fail, u64, unusual

cdef enum:
    MAX_RANK = 32  # H5S_MAX_RANK
    WITH_MAXIMA = 1  # flags
    WITH_PERMUTATION = 2
    SIMPLE = 1  # classes
    EMPTY = 2

cdef extern from *:
    """
    #define DS_MOST ((uint64_t) 1 << 62)
    """
    const uint64_t MOST "DS_MOST"  # values, or bytes of them, of which sums do not wrap


cdef struct Space:
    uint64_t n  # values
    uint64_t[MAX_RANK] shape
    uint64_t[MAX_RANK] most  # UNDEFINED: unlimited
    int rank
    bint is_null


cdef inline int read_space(Known* k, const uint8_t* p, uint64_t size, uint64_t address, Space* space) except -1:
    """Read a dataspace message."""
    cdef uint64_t head
    cdef uint8_t flags
    cdef int i
    check(k, size >= 4, b"dataspace", address, b"it is too short")
    head, flags = 8 if p[0] == 1 else 4, p[2]
    if p[0] not in (1, 2) or flags & WITH_PERMUTATION:
        unusual(k, b"a dataspace of an unknown version", address)
    check(k, p[1] <= MAX_RANK, b"dataspace", address, b"too many dimensions")
    space.rank, space.n, space.is_null = p[1], 1, False
    if p[0] == 2:
        check(k, p[3] <= EMPTY and (p[3] == SIMPLE or p[1] == 0), b"dataspace", address, b"it has a wrong class")
        space.is_null = p[3] == EMPTY
        space.n = 0 if space.is_null else 1
    check(k, head + 8 * space.rank * (2 if flags & WITH_MAXIMA else 1) <= size, b"dataspace", address,
          b"it is too short")
    p += head
    for i in range(space.rank):
        space.shape[i] = u64(p + 8 * i)
        space.most[i] = u64(p + 8 * (space.rank + i)) if flags & WITH_MAXIMA else space.shape[i]
        check(k, space.shape[i] <= MOST and space.shape[i] <= space.most[i], b"dataspace", address,
              b"a dimension is too long")
    for i in range(space.rank):
        if space.shape[i] == 0:
            space.n = 0
    for i in range(space.rank):
        if space.n:
            check(k, space.shape[i] <= MOST // space.n, b"dataspace", address, b"too many values")
            space.n *= space.shape[i]
    return 0
