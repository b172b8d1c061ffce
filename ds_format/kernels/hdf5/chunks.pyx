"""Chunks: bytes as the filter "shuffle" left them, or values, go to their places in an array.

A shuffled chunk of N values has the first bytes of all of them, then the second ones, and so on. To put these together
and to copy values to where they belong is one pass, in which the order of bytes costs nothing either.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from .placing cimport MAX_RANK, Form, check_part, count_shuffled, join, product, put_part

cdef enum:  # of LZF
    LITERALS = 32  # codes below are one less than the number of literal bytes
    LONG = 7  # lengths from here on have another byte
    LEAST = 2  # bytes that every copy has in addition


def place(
    const uint8_t[::1] chunk not None, const int64_t[::1] shape not None, uint8_t[::1] target not None,
    const int64_t[::1] target_shape not None, const int64_t[::1] part not None, int size, bint shuffled, bint swapped,
):
    """Copy a part of a chunk to its place in an array.

    Parameters
    ----------
    chunk : (n * size,) uint8
        The bytes of n values in C order.
    shape : (R,) int64
        Shape of the chunk; R is at most 32.
    target : (m * size,) uint8
        Out: the bytes of an array in C order.
    target_shape : (R,) int64
        Shape of the array.
    part : (3 * R,) int64
        Along each axis, the first value of the chunk; then how many; then where they belong in the array.
    size : int
        Bytes per value: 1, 2, 4 or 8 if values are swapped.
    shuffled : bool
        Whether the chunk has the first bytes of all values, then the second ones, and so on.
    swapped : bool
        Whether values are in the other byte order than in the array.

    Raises
    ------
    ValueError
        If a part is not inside of the chunk or the array, if lengths do not fit each other, or for another `size`.
    """
    cdef int rank = <int> min(shape.shape[0], MAX_RANK + 1), axis
    cdef int64_t n = size, m = size
    if size < 1 or (swapped and size not in (1, 2, 4, 8)):
        raise ValueError(f"size: found {size}, expected 1, 2, 4 or 8 bytes, or values that are not swapped")
    if not 0 < rank <= MAX_RANK or target_shape.shape[0] != rank or part.shape[0] != 3 * rank:
        raise ValueError(f"axes: found {shape.shape[0]}, {target_shape.shape[0]} and {part.shape[0]} / 3")
    for axis in range(rank):
        n, m = product(n, shape[axis], chunk.shape[0]), product(m, target_shape[axis], target.shape[0])
    if n != chunk.shape[0] or m != target.shape[0]:
        raise ValueError(f"{chunk.shape[0]} and {target.shape[0]} bytes do not fit the shapes")
    check_part(&part[0], &shape[0], &target_shape[0], rank)
    if n and m:
        with nogil:
            put_part(&chunk[0], &shape[0], &target[0], &target_shape[0], &part[0], rank,
                     Form(n // size, size, shuffled, swapped))


def unshuffle(const uint8_t[::1] source not None, uint8_t[::1] target not None, int size):
    """Put the bytes of values together that the filter "shuffle" has put apart.

    Parameters
    ----------
    source : (n,) uint8
        The bytes of less than one value, at the end, are not shuffled.
    target : (n,) uint8
        Out.
    size : int
        Bytes of a value.

    Raises
    ------
    ValueError
        If the lengths differ, or the size is not positive.
    """
    cdef Py_ssize_t n = count_shuffled(source, target, size)
    if n:
        with nogil:
            join(&source[0], &target[0], n, Form(n, size, True, False))
    if source.shape[0] > n * size:
        memcpy(&target[n * size], &source[n * size], source.shape[0] - n * size)


def decode_lzf(const uint8_t[::1] source not None, uint8_t[::1] target not None):
    """Decode bytes of the filter LZF: literals, and copies of what was decoded before.

    Source of the format: lzf_d.c of LibLZF 3.6, which is also in h5py.

    Parameters
    ----------
    source : (n,) uint8
    target : (m,) uint8
        Out.

    Returns
    -------
    int
        The number of decoded bytes; -1: the bytes are damaged, or decode to more than m.
    """
    cdef Py_ssize_t n
    if not source.shape[0] or not target.shape[0]:
        return 0 if not source.shape[0] else -1
    with nogil:
        n = _decode_lzf(&source[0], source.shape[0], &target[0], target.shape[0])
    return n


cdef Py_ssize_t _decode_lzf(const uint8_t* source, Py_ssize_t n, uint8_t* target, Py_ssize_t room) noexcept nogil:
    cdef Py_ssize_t at = 0, to = 0, length, distance
    cdef uint8_t code
    while at < n:
        code = source[at]
        at += 1
        if code < LITERALS:
            length = code + 1
            if length > n - at or length > room - to:
                return -1
            memcpy(target + to, source + at, length)
            at += length
            to += length
            continue
        length, distance = code >> 5, (code & 31) << 8
        if length == LONG:
            if at == n:
                return -1
            length += source[at]
            at += 1
        if at == n:
            return -1
        distance += source[at] + 1
        at += 1
        length += LEAST
        if distance > to or length > room - to:
            return -1
        # the bytes may overlap: one after another
        while length:
            target[to] = target[to - distance]
            to += 1
            length -= 1
    return to
