"""Chunks: the filters "shuffle" and LZF, values at their positions in an array, and the rounding of floats.

A shuffled chunk of N values has the first bytes of all of them, then the second ones, and so on. To put these together
and to copy values to where they belong is one pass, in which the order of bytes costs nothing either.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from .placing cimport MAX_RANK, Form, check_part, count_shuffled, join, product, put_part

cdef extern from *:
    """
    #include <stddef.h>
    #if defined(__SSE2__) && !defined(DS_FORMAT_PLAIN)
    #include <emmintrin.h>
    #define DS_LOAD(p) _mm_loadu_si128((const __m128i *)(p))
    #define DS_STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
    static inline __m128i ds_even(__m128i a, __m128i b) {
        const __m128i low = _mm_set1_epi16(0xff);
        return _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
    }
    static inline __m128i ds_odd(__m128i a, __m128i b) {
        return _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8));
    }
    /* Each takes apart whole groups of 16 values, and returns the first one that is left. */
    static ptrdiff_t ds_apart2(const unsigned char *p, unsigned char *to, ptrdiff_t n) {
        ptrdiff_t i;
        for (i = 0; i + 16 <= n; i += 16, p += 32, to += 16) {
            __m128i a = DS_LOAD(p), b = DS_LOAD(p + 16);
            DS_STORE(to, ds_even(a, b));
            DS_STORE(to + n, ds_odd(a, b));
        }
        return i;
    }
    /* Takes apart 16 values of 4 bytes; `step` leads from their first bytes to their second ones. */
    static inline void ds_quarters(__m128i a, __m128i b, __m128i c, __m128i d, unsigned char *to, ptrdiff_t step) {
        __m128i even = ds_even(a, b), more = ds_even(c, d), odd = ds_odd(a, b), rest = ds_odd(c, d);
        DS_STORE(to, ds_even(even, more));
        DS_STORE(to + step, ds_even(odd, rest));
        DS_STORE(to + 2 * step, ds_odd(even, more));
        DS_STORE(to + 3 * step, ds_odd(odd, rest));
    }
    static ptrdiff_t ds_apart4(const unsigned char *p, unsigned char *to, ptrdiff_t n) {
        ptrdiff_t i;
        for (i = 0; i + 16 <= n; i += 16, p += 64, to += 16)
            ds_quarters(DS_LOAD(p), DS_LOAD(p + 16), DS_LOAD(p + 32), DS_LOAD(p + 48), to, n);
        return i;
    }
    static ptrdiff_t ds_apart8(const unsigned char *p, unsigned char *to, ptrdiff_t n) {
        ptrdiff_t i;
        for (i = 0; i + 16 <= n; i += 16, p += 128, to += 16) {
            __m128i even[4], odd[4];
            int k;
            for (k = 0; k < 4; k++) {
                __m128i a = DS_LOAD(p + 32 * k), b = DS_LOAD(p + 32 * k + 16);
                even[k] = ds_even(a, b), odd[k] = ds_odd(a, b);
            }
            ds_quarters(even[0], even[1], even[2], even[3], to, 2 * n);
            ds_quarters(odd[0], odd[1], odd[2], odd[3], to + n, 2 * n);
        }
        return i;
    }
    static ptrdiff_t ds_apart(const unsigned char *from, unsigned char *to, ptrdiff_t n, int size) {
        return size == 2 ? ds_apart2(from, to, n)
             : size == 4 ? ds_apart4(from, to, n)
             : size == 8 ? ds_apart8(from, to, n) : 0;
    }
    #else
    static ptrdiff_t ds_apart(const unsigned char *from, unsigned char *to, ptrdiff_t n, int size) {
        (void)from; (void)to; (void)n; (void)size;
        return 0;
    }
    #endif
    """
    Py_ssize_t take_apart "ds_apart"(const uint8_t* source, uint8_t* to, Py_ssize_t n, int size) noexcept nogil

ctypedef fused bits:
    uint32_t
    uint64_t

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
                     Form(n // size, size, shuffled, swapped), NULL)


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


def shuffle(const uint8_t[::1] source not None, uint8_t[::1] target not None, int size):
    """Put the first bytes of all values together, then the second ones, and so on.

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
            _shuffle(&source[0], &target[0], n, size)
    if source.shape[0] > n * size:
        memcpy(&target[n * size], &source[n * size], source.shape[0] - n * size)


cdef void _shuffle(const uint8_t* source, uint8_t* target, Py_ssize_t n, int size) noexcept nogil:
    cdef Py_ssize_t first = take_apart(source, target, n, size), i
    cdef int k
    for i in range(first, n):
        for k in range(size):
            target[k * n + i] = source[i * size + k]


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
