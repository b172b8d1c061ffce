"""Chunks: their filters, their places in an array, and the rounding of floats.

A shuffled chunk of N values has the first bytes of all of them, then the second ones, and so on.
"""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy

from ..common.filling cimport Search, start_search
from .placing cimport MAX_RANK, Form, Job, check_part, join, product, put_chunk

cnp.import_array()

ctypedef fused bits:
    uint32_t
    uint64_t

cdef enum:
    SHUFFLED = 4096  # values that are shuffled at a time, which stay in the caches of a processor

cdef enum:  # of LZF
    LITERALS = 32  # codes below are one less than the number of literal bytes
    LONG = 7  # lengths from here on have another byte
    LEAST = 2  # bytes that every copy has in addition


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
    cdef Py_ssize_t n
    if source.shape[0] != target.shape[0] or size < 1:
        raise ValueError(f"{source.shape[0]} bytes do not fill {target.shape[0]} bytes with values of {size} bytes")
    n = source.shape[0] // size
    if n:
        with nogil:
            join(&source[0], &target[0], n, Form(n, size, True, False))
    if source.shape[0] > n * size:
        memcpy(&target[n * size], &source[n * size], source.shape[0] - n * size)


cdef inline void _take(const uint8_t* source, uint8_t* target, Py_ssize_t n, int size) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        target[i] = source[i * size]


cdef void _take_byte(const uint8_t* source, uint8_t* target, Py_ssize_t n, int size) noexcept nogil:
    """Copy one byte of each value, in a loop that compilers vectorise for usual sizes."""
    if size == 4:
        _take(source, target, n, 4)
    elif size == 8:
        _take(source, target, n, 8)
    elif size == 2:
        _take(source, target, n, 2)
    else:
        _take(source, target, n, size)


def shuffle(source, int size):
    """Put the bytes of values apart: first the first byte of each value, then the second, and so on.

    Parameters
    ----------
    source : buffer
        C-contiguous. The bytes of less than one value, at the end, are not shuffled.
    size : int
        Bytes of a value.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        If the size is not positive.
    """
    cdef Py_buffer view
    cdef bytes out
    cdef uint8_t* target
    if size < 1:
        raise ValueError(f"size: found {size}, expected at least 1")
    PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
    try:
        out = PyBytes_FromStringAndSize(NULL, view.len)
        target = <uint8_t*> PyBytes_AS_STRING(out)
        with nogil:
            _shuffle(<const uint8_t*> view.buf, target, view.len, size)
        return out
    finally:
        PyBuffer_Release(&view)


cdef void _shuffle(const uint8_t* values, uint8_t* target, Py_ssize_t total, int size) noexcept nogil:
    cdef Py_ssize_t n = total // size, first = 0, last
    cdef int j
    while first < n:
        last = min(first + SHUFFLED, n)
        for j in range(size):
            _take_byte(values + first * size + j, target + j * n + first, last - first, size)
        first = last
    memcpy(target + n * size, values + n * size, total - n * size)


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


def round_floats(
    const bits[::1] values not None, bits[::1] target not None, const bits[::1] starts not None,
    const uint8_t[::1] below not None, const uint8_t[::1] above not None, const bits[::1] kept not None,
):
    """Round floats, given as their bits, to the nearest of those with zeros at the end of the significand.

    The number of zeros depends on the exponent, and changes at most once among the numbers of one exponent. Numbers
    halfway between two go away from zero. A number stays as it is if the nearest one is infinite.

    Parameters
    ----------
    values : (n,) uint32 or uint64
        float32 or float64.
    target : (n,) uint32 or uint64
        Out; may be `values`.
    starts : (m,) uint32 or uint64
        For each exponent, the first positive number that gets another number of zeros; m is 256 or 2048.
    below, above : (m,) uint8
        For each exponent, the number of zeros before and from that number on: 0 to 23 or 52. With 0, numbers stay.
    kept : (k,) uint32 or uint64
        Numbers that stay, and that no other number becomes.

    Raises
    ------
    ValueError
        If lengths do not match, or there are too many zeros.
    """
    cdef Py_ssize_t m = 256 if bits is uint32_t else 2048, i
    cdef int width = 23 if bits is uint32_t else 52
    if target.shape[0] != values.shape[0]:
        raise ValueError(f"found space for {target.shape[0]} values, expected {values.shape[0]}")
    if starts.shape[0] != m or below.shape[0] != m or above.shape[0] != m:
        raise ValueError(f"found {starts.shape[0]}, {below.shape[0]} and {above.shape[0]} exponents, expected {m}")
    for i in range(m):
        if below[i] > width or above[i] > width:
            raise ValueError(f"found {max(below[i], above[i])} zeros, expected at most {width}")
    if values.shape[0]:
        with nogil:
            _round(&values[0], &target[0], values.shape[0], &starts[0], &below[0], &above[0],
                   &kept[0] if kept.shape[0] else NULL, kept.shape[0], width)


cdef void _round(
    const bits* values, bits* target, Py_ssize_t n, const bits* starts, const uint8_t* below, const uint8_t* above,
    const bits* kept, Py_ssize_t n_kept, int width,
) noexcept nogil:
    cdef bits one = 1, value, rounded, magnitude
    cdef bits no_sign = (<bits> ~(<bits> 0)) >> 1
    cdef bits infinity = no_sign >> width << width
    cdef Py_ssize_t i, j
    cdef int n_zeros
    for i in range(n):
        value = values[i]
        magnitude = value & no_sign
        n_zeros = above[magnitude >> width] if magnitude >= starts[magnitude >> width] else below[magnitude >> width]
        rounded = value
        if n_zeros:
            rounded = (value + (one << (n_zeros - 1))) >> n_zeros << n_zeros
            if rounded & no_sign >= infinity:
                rounded = value
            for j in range(n_kept):
                if rounded == kept[j] or value == kept[j]:
                    rounded = value
        target[i] = rounded


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
