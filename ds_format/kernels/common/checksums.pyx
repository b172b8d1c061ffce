"""Adler-32 and Fletcher-32, several times faster than in the standard library or NumPy."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #define DS_ADLER_PIECE 5536  /* bytes, whole vectors; their sums fit into 32 bits */
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(DS_FORMAT_PLAIN)
    #include <immintrin.h>
    /* Computes two sums of n bytes, n a multiple of 32: plain, and weighted by the number of bytes up to the end. */
    __attribute__((target("avx2")))
    static void ds_adler_sums_avx2(const unsigned char *p, Py_ssize_t n, unsigned int *once, unsigned int *often) {
        const __m256i zero = _mm256_setzero_si256(), ones = _mm256_set1_epi16(1);
        const __m256i left = _mm256_setr_epi8(
            32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17,
            16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
        __m256i sum = zero, before = zero, within = zero;
        Py_ssize_t i;
        for (i = 0; i < n; i += 32) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(p + i));
            before = _mm256_add_epi32(before, sum);
            sum = _mm256_add_epi32(sum, _mm256_sad_epu8(bytes, zero));
            within = _mm256_add_epi32(within, _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, left), ones));
        }
        within = _mm256_add_epi32(within, _mm256_slli_epi32(before, 5));
        unsigned int lanes[8];
        _mm256_storeu_si256((__m256i *)lanes, sum);
        *once = lanes[0] + lanes[2] + lanes[4] + lanes[6];
        _mm256_storeu_si256((__m256i *)lanes, within);
        *often = lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7];
    }
    static int ds_adler_has_vectors(void) { return __builtin_cpu_supports("avx2"); }
    #else
    static void ds_adler_sums_avx2(const unsigned char *p, Py_ssize_t n, unsigned int *once, unsigned int *often) {
        (void)p; (void)n; (void)once; (void)often;
    }
    static int ds_adler_has_vectors(void) { return 0; }
    #endif
    """
    enum:
        PIECE "DS_ADLER_PIECE"
    void sums_avx2 "ds_adler_sums_avx2"(const uint8_t* p, Py_ssize_t n, uint32_t* once, uint32_t* often) noexcept nogil
    bint has_vectors "ds_adler_has_vectors"() noexcept nogil

cdef enum:
    BASE = 65521  # the largest prime below 2**16
    VECTOR = 32   # bytes
    SHORT = 8192  # bytes for which releasing the GIL takes longer than the checksum


cdef void _sums(const uint8_t* p, Py_ssize_t n, uint32_t* once, uint32_t* often) noexcept nogil:
    """Compute two sums of n bytes: plain, and weighted by the number of bytes from each to the end."""
    cdef uint32_t i, sum = 0, weighted = 0
    for i in range(<uint32_t> n):
        sum += p[i]
        weighted += (<uint32_t> n - i) * p[i]
    once[0] = sum
    often[0] = weighted


cdef uint32_t _adler32(const uint8_t* p, Py_ssize_t size, uint32_t value) noexcept nogil:
    cdef uint32_t low = value & 0xFFFF, high = value >> 16, once = 0, often = 0
    cdef Py_ssize_t n
    cdef bint vectors = has_vectors()
    while size > 0:
        n = min(size, <Py_ssize_t> PIECE)
        if vectors and n >= VECTOR:
            n -= n % VECTOR
            sums_avx2(p, n, &once, &often)
        else:
            _sums(p, n, &once, &often)
        high = (high + <uint32_t> n * low + often % BASE) % BASE
        low = (low + once) % BASE
        p += n
        size -= n
    return high << 16 | low


def adler32(object data not None, uint32_t value=1):
    """Return the Adler-32 checksum of bytes.

    Parameters
    ----------
    data : C-contiguous buffer
    value : int
        Checksum of the bytes before.

    Returns
    -------
    int
        32 bits, the same as from `zlib.adler32`.
    """
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len < SHORT:
            return _adler32(<const uint8_t*> view.buf, view.len, value)
        with nogil:
            value = _adler32(<const uint8_t*> view.buf, view.len, value)
        return value
    finally:
        PyBuffer_Release(&view)


cdef enum:
    STRETCH = 360  # words of 16 bits, whose sums fit into 32 bits (H5checksum.c)


cdef inline uint32_t _folded(uint32_t sum) noexcept nogil:
    return (sum & 0xFFFF) + (sum >> 16)


cdef uint32_t _fletcher32(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    cdef uint32_t first = 0, second = 0
    cdef Py_ssize_t left = size // 2, stretch, i
    while left:
        stretch = min(left, STRETCH)
        for i in range(stretch):
            first += (<uint32_t> data[2 * i] << 8) | data[2 * i + 1]
            second += first
        data += 2 * stretch
        left -= stretch
        first, second = _folded(first), _folded(second)
    if size % 2:
        first += <uint32_t> data[0] << 8
        second += first
        first, second = _folded(first), _folded(second)
    return (_folded(second) << 16) | _folded(first)


def fletcher32(const uint8_t[::1] data not None):
    """Return the Fletcher-32 checksum of bytes, as HDF5 computes it.

    Parameters
    ----------
    data : (n,) uint8

    Returns
    -------
    int
        32 bits.
    """
    cdef uint32_t checksum = 0
    if data.shape[0]:
        with nogil:
            checksum = _fletcher32(&data[0], data.shape[0])
    return checksum
