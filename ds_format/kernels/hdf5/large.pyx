"""Chunks of a large variable → their places in an array, and the search for sentinels, in one pass without the GIL.

The filters are at most "shuffle", then "deflate". Whatever else there is, damage included, is left to others: they
decode a chunk, and call the same function for its bytes.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t

from ..common.filling cimport Search, start_search
from .placing cimport MAX_RANK, Form, Job, check_part, product, put_chunk

cnp.import_array()

cdef extern from *:
    """
    #define DS_MAX_CHUNK ((int64_t) 1 << 32)
    """
    const int64_t MAX_CHUNK "DS_MAX_CHUNK"  # bytes


def put_chunks(
    const uint8_t[::1] data not None, const int64_t[::1] sizes not None, const uint32_t[::1] masks not None,
    const int64_t[:, ::1] parts not None, const int64_t[::1] shape not None, uint8_t[::1] target not None,
    const int64_t[::1] target_shape not None, int size, bint swapped, bint is_shuffled, uint8_t[::1] inflated,
    cnp.ndarray wanted,
):
    """Copy parts of chunks to their places in an array, as far as nothing is damaged.

    Parameters
    ----------
    data : (n,) uint8
        Chunks as in the file, one after another.
    sizes : (N,) int64
        Bytes of each; 0: there is nothing to copy.
    masks : (N,) uint32
        A bit for each filter that a chunk did not go through.
    parts : (N, 3 * R) int64
        For each chunk, along each axis: its first value; then how many; then where they belong in the array.
    shape : (R,) int64
        Shape of a chunk; R is at most 32.
    target : (m * size,) uint8
        Out: the bytes of an array in C order; aligned to values if they are searched.
    target_shape : (R,) int64
        Shape of the array.
    size : int
        Bytes per value: 1, 2, 4 or 8 if values are swapped, or searched.
    swapped : bool
        Whether values are in the other byte order than in the array.
    is_shuffled : bool
        Whether chunks went through the filter "shuffle".
    inflated : (k,) uint8 or None
        Out: space for a chunk, if chunks went through the filter "deflate", which is the last one. None: they did not.
    wanted : (M,) ndarray or None
        Values to look for, of the type of the array; not of 2-byte floats.

    Returns
    -------
    n : int
        Chunks that were copied: N, or the number of the first one that is damaged, or did not go through all filters.
    found : bool
        Whether a wanted value is in one of them.

    Raises
    ------
    ValueError
        If a part is not inside of the chunk or the array, if lengths do not fit each other, or for another `size`.
    """
    cdef Job job
    cdef Search search
    cdef Py_ssize_t n = sizes.shape[0], i, at = 0
    cdef int64_t whole = size, room = size
    cdef int rank = <int> min(shape.shape[0], MAX_RANK + 1), axis
    if size < 1 or (size not in (1, 2, 4, 8) and (swapped or wanted is not None)):
        raise ValueError(f"size: found {size}, expected 1, 2, 4 or 8 bytes, or values that are not swapped or searched")
    if not 0 < rank <= MAX_RANK or target_shape.shape[0] != rank or parts.shape[1] != 3 * rank:
        raise ValueError(f"axes: found {shape.shape[0]}, {target_shape.shape[0]} and {parts.shape[1]} / 3")
    if masks.shape[0] != n or parts.shape[0] != n:
        raise ValueError(f"found {n} sizes, {masks.shape[0]} masks and {parts.shape[0]} parts")
    for axis in range(rank):
        whole, room = product(whole, shape[axis], MAX_CHUNK), product(room, target_shape[axis], target.shape[0])
        job.shape[axis], job.target_shape[axis] = shape[axis], target_shape[axis]
    if room != target.shape[0] or not room or not whole:
        raise ValueError(f"{target.shape[0]} bytes do not fit the shape")
    if inflated is not None and inflated.shape[0] < whole:
        raise ValueError(f"{inflated.shape[0]} bytes of space, expected {whole}")
    job.target, job.inflated, job.search = &target[0], NULL if inflated is None else &inflated[0], NULL
    job.size, job.rank, job.form = whole, rank, Form(whole // size, size, is_shuffled, swapped)
    search.found = False
    if wanted is not None:
        start_search(&search, wanted.dtype, wanted, False)
        if search.size != size or (size == 2 and search.is_float):
            raise ValueError(f"values to look for of the type {wanted.dtype}, found {size} bytes per value")
        job.search = &search
    for i in range(n):
        if not 0 <= sizes[i] <= data.shape[0] - at:
            raise ValueError(f"{data.shape[0]} bytes, expected at least {sizes[i]} from {at} on")
        at += sizes[i]
        check_part(&parts[i, 0], job.shape, job.target_shape, rank)
    at = 0
    with nogil:
        for i in range(n):
            if not sizes[i]:
                continue
            if masks[i] or not put_chunk(&job, &data[at], sizes[i], &parts[i, 0]):
                n = i
                break
            at += sizes[i]
    return n, search.found
