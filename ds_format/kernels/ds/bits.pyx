"""Bits, eight to a byte with the most significant first, and flags, one byte of 0 or 1 each.

The other way `np.packbits` is as fast as a loop of ours would be.
"""

from libc.stdint cimport uint8_t, uint64_t

from ..common.words cimport LITTLE_HOST, load_u64, store_u64

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define ds_popcount64(x) __builtin_popcountll(x)
    #else
    static int ds_popcount64(unsigned long long x) {
        int n = 0;
        for (; x; x &= x - 1) n++;
        return n;
    }
    #endif
    """
    int popcount "ds_popcount64"(uint64_t bits) noexcept nogil

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__) && defined(__SSSE3__) && !defined(DS_FORMAT_PLAIN)
    #include <immintrin.h>
    #include <string.h>
    /* Works on whole groups of flags, and returns the first flag that is left. */
    __attribute__((target("avx2")))
    static Py_ssize_t ds_unpack_avx2(const unsigned char *packed, unsigned char *flags, Py_ssize_t n) {
        const __m256i spread = _mm256_setr_epi8(
            0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
        const __m256i bit = _mm256_set1_epi64x(0x0102040810204080);
        Py_ssize_t i;
        for (i = 0; i + 32 <= n; i += 32) {
            int bytes;
            memcpy(&bytes, packed + i / 8, 4);
            __m256i group = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bytes), spread), bit);
            group = _mm256_and_si256(_mm256_cmpeq_epi8(group, bit), _mm256_set1_epi8(1));
            _mm256_storeu_si256((__m256i *)(flags + i), group);
        }
        return i;
    }
    static Py_ssize_t ds_unpack_groups(const unsigned char *packed, unsigned char *flags, Py_ssize_t n) {
        return n >= 64 && __builtin_cpu_supports("avx2") ? ds_unpack_avx2(packed, flags, n) : 0;
    }
    #else
    static Py_ssize_t ds_unpack_groups(const unsigned char *packed, unsigned char *flags, Py_ssize_t n) {
        (void)packed; (void)flags; (void)n;
        return 0;
    }
    #endif
    """
    Py_ssize_t unpack_groups "ds_unpack_groups"(const uint8_t* packed, uint8_t* flags, Py_ssize_t n) noexcept nogil


cdef void _unpack(const uint8_t[::1] packed, uint8_t[::1] flags) noexcept nogil:
    cdef Py_ssize_t n = flags.shape[0], i, start
    cdef uint64_t eight
    start = unpack_groups(&packed[0], &flags[0], n) if n else 0
    for i in range(start // 8, n // 8 if LITTLE_HOST else 0):
        eight = (packed[i] * 0x0101010101010101u) & 0x0102040810204080u
        store_u64(&flags[8 * i], ((eight + 0x7F7F7F7F7F7F7F7Fu) >> 7) & 0x0101010101010101u, False)
    start = n - n % 8 if LITTLE_HOST else 0
    for i in range(start, n):
        flags[i] = (packed[i >> 3] >> (7 - (i & 7))) & 1


cdef Py_ssize_t _count(const uint8_t[::1] packed, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, words = n // 64, count = 0
    for i in range(words):
        count += popcount(load_u64(&packed[8 * i], False))
    for i in range(8 * words, n // 8):
        count += popcount(packed[i])
    if n % 8:
        count += popcount(packed[n // 8] >> (8 - n % 8))
    return count


def unpack_bits(const uint8_t[::1] packed not None, uint8_t[::1] flags not None):
    """Expand N bits into flags.

    Parameters
    ----------
    packed : (ceil(N / 8),) uint8
        The unused low bits of the last byte are ignored.
    flags : (N,) uint8
        Out: 0 or 1.

    Raises
    ------
    ValueError
        If the lengths do not fit each other.
    """
    if packed.shape[0] != (flags.shape[0] + 7) // 8:
        raise ValueError(f"{packed.shape[0]} bytes do not hold {flags.shape[0]} flags")
    with nogil:
        _unpack(packed, flags)


def count_bits(const uint8_t[::1] packed not None, Py_ssize_t n):
    """Return how many of the first `n` bits of `packed`, (ceil(n / 8) or more,) uint8, are 1.

    Raises
    ------
    ValueError
        If `packed` holds fewer than `n` bits.
    """
    cdef Py_ssize_t count
    if n < 0 or packed.shape[0] < (n + 7) // 8:
        raise ValueError(f"{packed.shape[0]} bytes do not hold {n} bits")
    with nogil:
        count = _count(packed, n)
    return count
