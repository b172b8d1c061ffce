"""Chunks of a large variable → their places in an array, and the search for sentinels, in one pass without the GIL.

The filters are at most "shuffle", then "deflate". Whatever else there is, damage included, is left to others.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t

from ..common.filling cimport Search, start_search
from ..common.inflate cimport inflate
from .placing cimport MAX_RANK, Form, check_part, product, put_part

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
        As of `chunks.place`, of each.
    shape : (R,) int64
        Shape of a chunk; R is at most 32.
    target : (m * size,) uint8
        Out: the bytes of an array in C order, aligned to values.
    target_shape : (R,) int64
        Shape of the array.
    size : int
        1, 2, 4 or 8 bytes per value.
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
    cdef int64_t[MAX_RANK] chunk_shape, whole_shape
    cdef Search search
    cdef Search* search_or_none = NULL
    cdef Form form
    cdef Py_ssize_t n = sizes.shape[0], i, at = 0
    cdef int64_t whole = size, room = size
    cdef int rank = <int> min(shape.shape[0], MAX_RANK + 1), axis
    cdef const uint8_t* chunk
    if size not in (1, 2, 4, 8):
        raise ValueError(f"size: found {size}, expected 1, 2, 4 or 8 bytes")
    if not 0 < rank <= MAX_RANK or target_shape.shape[0] != rank or parts.shape[1] != 3 * rank:
        raise ValueError(f"axes: found {shape.shape[0]}, {target_shape.shape[0]} and {parts.shape[1]} / 3")
    if masks.shape[0] != n or parts.shape[0] != n:
        raise ValueError(f"found {n} sizes, {masks.shape[0]} masks and {parts.shape[0]} parts")
    for axis in range(rank):
        whole, room = product(whole, shape[axis], MAX_CHUNK), product(room, target_shape[axis], target.shape[0])
        chunk_shape[axis], whole_shape[axis] = shape[axis], target_shape[axis]
    if room != target.shape[0] or not room or not whole:
        raise ValueError(f"{target.shape[0]} bytes do not fit the shape")
    if inflated is not None and inflated.shape[0] < whole:
        raise ValueError(f"{inflated.shape[0]} bytes of space, expected {whole}")
    search.found = False
    if wanted is not None:
        start_search(&search, wanted.dtype, wanted, False)
        if search.size != size or (size == 2 and search.is_float):
            raise ValueError(f"values to look for of the type {wanted.dtype}, found {size} bytes per value")
        search_or_none = &search
    for i in range(n):
        if not 0 <= sizes[i] <= data.shape[0] - at:
            raise ValueError(f"{data.shape[0]} bytes, expected at least {sizes[i]} from {at} on")
        at += sizes[i]
        check_part(&parts[i, 0], chunk_shape, whole_shape, rank)
    form, at = Form(whole // size, size, is_shuffled, swapped), 0
    with nogil:
        for i in range(n):
            if not sizes[i]:
                continue
            if masks[i]:
                n = i
                break
            if inflated is None:
                chunk = &data[at] if sizes[i] == whole else NULL
            else:
                chunk = &inflated[0] if inflate(&data[at], sizes[i], &inflated[0], whole) else NULL
            if chunk == NULL:
                n = i
                break
            put_part(chunk, chunk_shape, &target[0], whole_shape, &parts[i, 0], rank, form, search_or_none)
            at += sizes[i]
    return n, search.found
