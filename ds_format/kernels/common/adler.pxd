"""The checksum Adler-32."""

from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #define DS_ADLER_PIECE 5536  /* bytes, whole vectors: the sums of as many stay within 32 bits */
    #if defined(__x86_64__) && defined(__GNUC__) && defined(__SSSE3__) && !defined(DS_FORMAT_PLAIN)
    #include <immintrin.h>
    /* Sums n bytes, n a multiple of 32: each once, and each as often as bytes are left when it comes. */
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


cdef inline void _sums(const uint8_t* p, Py_ssize_t n, uint32_t* once, uint32_t* often) noexcept nogil:
    """Sum n bytes: each once, and each as often as bytes are left when it comes."""
    cdef uint32_t i, sum = 0, weighted = 0
    for i in range(<uint32_t> n):
        sum += p[i]
        weighted += (<uint32_t> n - i) * p[i]
    once[0] = sum
    often[0] = weighted


cdef inline uint32_t adler32_of(const uint8_t* p, Py_ssize_t size, uint32_t value) noexcept nogil:
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
