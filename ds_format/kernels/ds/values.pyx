"""Masks and fixed-width values: bits ↔ flags, and present values ↔ their positions in an array.

A byte has eight bits, the most significant one first. A flag has one byte.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..common.words cimport LITTLE_HOST, load_u64, store_u64, swap_word, word

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
    #if defined(__x86_64__) && defined(__GNUC__) && !defined(DS_FORMAT_PLAIN)
    #include <immintrin.h>
    #include <string.h>
    /* Unpacks whole groups of 32 flags, and returns the number of the first flag after them. */
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
    /* Packs whole groups of 32 flags, and adds the number of set flags to `count`; returns the first other flag. */
    __attribute__((target("avx2,popcnt")))
    static Py_ssize_t ds_pack_avx2(
        const unsigned char *flags, unsigned char *packed, Py_ssize_t n, Py_ssize_t *count) {
        const __m256i backward = _mm256_setr_epi8(
            7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
        Py_ssize_t i;
        for (i = 0; i + 32 <= n; i += 32) {
            __m256i group = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(flags + i)), backward);
            unsigned bits = ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(group, _mm256_setzero_si256()));
            memcpy(packed + i / 8, &bits, 4);
            *count += __builtin_popcount(bits);
        }
        return i;
    }
    static Py_ssize_t ds_pack_groups(
        const unsigned char *flags, unsigned char *packed, Py_ssize_t n, Py_ssize_t *count) {
        return n >= 64 && __builtin_cpu_supports("avx2") ? ds_pack_avx2(flags, packed, n, count) : 0;
    }
    static Py_ssize_t ds_unpack_groups(const unsigned char *packed, unsigned char *flags, Py_ssize_t n) {
        return n >= 64 && __builtin_cpu_supports("avx2") ? ds_unpack_avx2(packed, flags, n) : 0;
    }
    #else
    static Py_ssize_t ds_unpack_groups(const unsigned char *packed, unsigned char *flags, Py_ssize_t n) {
        (void)packed; (void)flags; (void)n;
        return 0;
    }
    static Py_ssize_t ds_pack_groups(
        const unsigned char *flags, unsigned char *packed, Py_ssize_t n, Py_ssize_t *count) {
        (void)flags; (void)packed; (void)n; (void)count;
        return 0;
    }
    #endif
    """
    Py_ssize_t pack_groups "ds_pack_groups"(
        const uint8_t* flags, uint8_t* packed, Py_ssize_t n, Py_ssize_t* count
    ) noexcept nogil
    Py_ssize_t unpack_groups "ds_unpack_groups"(const uint8_t* packed, uint8_t* flags, Py_ssize_t n) noexcept nogil


cdef void unpack_flags(const uint8_t* packed, uint8_t* flags, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, start
    cdef uint64_t eight
    start = unpack_groups(packed, flags, n) if n else 0
    for i in range(start // 8, n // 8 if LITTLE_HOST else 0):
        eight = (packed[i] * 0x0101010101010101u) & 0x0102040810204080u
        store_u64(flags + 8 * i, ((eight + 0x7F7F7F7F7F7F7F7Fu) >> 7) & 0x0101010101010101u, False)
    start = n - n % 8 if LITTLE_HOST else 0
    for i in range(start, n):
        flags[i] = (packed[i >> 3] >> (7 - (i & 7))) & 1


cdef Py_ssize_t count_set(const uint8_t* packed, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, words = n // 64, count = 0
    for i in range(words):
        count += popcount(load_u64(packed + 8 * i, False))
    for i in range(8 * words, n // 8):
        count += popcount(packed[i])
    if n % 8:
        count += popcount(packed[n // 8] >> (8 - n % 8))
    return count


cdef Py_ssize_t pack_flags(const uint8_t* flags, Py_ssize_t n, uint8_t* packed, int first) noexcept nogil:
    cdef Py_ssize_t i, start, end, position, count = 0
    cdef uint8_t bits
    if not n:
        return 0
    start = min(n, 8 - first) if first else 0  # flags that share the first byte with earlier bits
    if first:
        bits = packed[0] & <uint8_t> (0xFF00 >> first)
        for i in range(start):
            bits |= <uint8_t> ((flags[i] != 0) << (7 - first - i))
            count += flags[i] != 0
        packed[0] = bits
        if start == n:
            return count
    position = 1 if first else 0
    end = start + pack_groups(flags + start, packed + position, n - start, &count)
    position += (end - start) // 8
    while end < n:
        bits = 0
        for i in range(min(8, n - end)):
            bits |= <uint8_t> ((flags[end + i] != 0) << (7 - i))
            count += flags[end + i] != 0
        packed[position] = bits
        position += 1
        end += 8
    return count


cdef inline const uint8_t* _start(const uint8_t[::1] data) noexcept nogil:
    """Return the address of the first byte, or NULL of an empty buffer, which has no element to point at."""
    return &data[0] if data.shape[0] else NULL


def pack_bits(const uint8_t[::1] flags not None, uint8_t[::1] packed not None, int first=0):
    """Pack N flags into bits, and return the number of set flags.

    Parameters
    ----------
    flags : (N,) uint8
        All values except 0 are set.
    packed : (ceil((first + N) / 8),) uint8
        Output. The first bits of its first byte are not changed. Bits after the last flag become 0.
    first : int
        Position of the first flag in the first byte, 0 to 7.

    Raises
    ------
    ValueError
        If the sizes do not match.
    """
    cdef Py_ssize_t count
    if not 0 <= first <= 7 or packed.shape[0] != (first + flags.shape[0] + 7) // 8:
        raise ValueError(f"{packed.shape[0]} bytes do not hold {flags.shape[0]} flags from bit {first}")
    with nogil:
        count = pack_flags(_start(flags), flags.shape[0], <uint8_t*> _start(packed), first)
    return count


def unpack_bits(const uint8_t[::1] packed not None, uint8_t[::1] flags not None):
    """Expand N bits into flags.

    Parameters
    ----------
    packed : (ceil(N / 8),) uint8
        The unused low bits of the last byte are ignored.
    flags : (N,) uint8
        Output: 0 or 1.

    Raises
    ------
    ValueError
        If the sizes do not match.
    """
    if packed.shape[0] != (flags.shape[0] + 7) // 8:
        raise ValueError(f"{packed.shape[0]} bytes do not hold {flags.shape[0]} flags")
    with nogil:
        unpack_flags(_start(packed), <uint8_t*> _start(flags), flags.shape[0])


def count_bits(const uint8_t[::1] packed not None, Py_ssize_t n):
    """Return the number of 1s among the first `n` bits of `packed`, (ceil(n / 8) or more,) uint8.

    Raises
    ------
    ValueError
        If `packed` has fewer than `n` bits.
    """
    cdef Py_ssize_t count
    if n < 0 or packed.shape[0] < (n + 7) // 8:
        raise ValueError(f"{packed.shape[0]} bytes do not hold {n} bits")
    with nogil:
        count = count_set(_start(packed), n)
    return count


cdef inline word _load(const uint8_t* values, Py_ssize_t i, bint swapped, word kind) noexcept nogil:
    cdef word value
    memcpy(&value, values + i * <Py_ssize_t> sizeof(word), sizeof(word))
    return swap_word(value) if swapped else value


cdef inline void _store(uint8_t* values, Py_ssize_t i, word value) noexcept nogil:
    memcpy(values + i * <Py_ssize_t> sizeof(word), &value, sizeof(word))


cdef Py_ssize_t _scatter(
    const uint8_t* mask, Py_ssize_t n, const uint8_t* present, Py_ssize_t m, uint8_t* values, bint swapped, word kind
) noexcept nogil:
    cdef Py_ssize_t taken = 0, i, j, count
    cdef uint8_t bits, missing
    for i in range((n + 7) // 8):
        count = min(8, n - 8 * i)
        bits = mask[i]
        if count == 8 and taken + 8 <= m:
            # reads a value for each of the eight, even for missing ones, so that no branch depends on the mask
            for j in range(8):
                missing = (bits >> (7 - j)) & 1
                _store(values, 8 * i + j, <word> (_load(present, taken, swapped, kind) & <word> (<int> missing - 1)))
                taken += 1 - missing
        else:
            for j in range(count):
                if (bits >> (7 - j)) & 1:
                    _store(values, 8 * i + j, <word> 0)
                elif taken == m:
                    return -1
                else:
                    _store(values, 8 * i + j, _load(present, taken, swapped, kind))
                    taken += 1
    return taken


cdef Py_ssize_t _gather(
    const uint8_t* flags, Py_ssize_t n, const uint8_t* values, uint8_t* present, Py_ssize_t m, bint swapped, word kind
) noexcept nogil:
    cdef Py_ssize_t taken = 0, i = 0, j
    cdef uint64_t eight
    while i + 8 <= n and taken + 8 <= m:
        # missing values are usually contiguous
        eight = load_u64(flags + i, False)
        if not eight:
            for j in range(8):
                _store(present, taken + j, _load(values, i + j, swapped, kind))
            taken += 8
        elif (eight & 0x0101010101010101u) != 0x0101010101010101u:
            for j in range(8):
                _store(present, taken, _load(values, i + j, swapped, kind))
                taken += flags[i + j] == 0
        i += 8
    for i in range(i, n):
        if not flags[i]:
            if taken == m:
                return -1
            _store(present, taken, _load(values, i, swapped, kind))
            taken += 1
    return taken


cdef Py_ssize_t scatter_values(
    const uint8_t* mask, Py_ssize_t n, const uint8_t* present, Py_ssize_t m, uint8_t* flags, uint8_t* values, int size,
    bint swapped
) noexcept nogil:
    unpack_flags(mask, flags, n)
    if size == 1:
        return _scatter(mask, n, present, m, values, False, <uint8_t> 0)
    if size == 2:
        return _scatter(mask, n, present, m, values, swapped, <uint16_t> 0)
    if size == 4:
        return _scatter(mask, n, present, m, values, swapped, <uint32_t> 0)
    return _scatter(mask, n, present, m, values, swapped, <uint64_t> 0)


cdef Py_ssize_t gather_values(
    const uint8_t* flags, Py_ssize_t n, const uint8_t* values, uint8_t* present, Py_ssize_t m, int size, bint swapped
) noexcept nogil:
    if size == 1:
        return _gather(flags, n, values, present, m, False, <uint8_t> 0)
    if size == 2:
        return _gather(flags, n, values, present, m, swapped, <uint16_t> 0)
    if size == 4:
        return _gather(flags, n, values, present, m, swapped, <uint32_t> 0)
    return _gather(flags, n, values, present, m, swapped, <uint64_t> 0)


def scatter(
    const uint8_t[::1] mask not None, const uint8_t[::1] present not None, uint8_t[::1] flags not None,
    uint8_t[::1] values not None, int size, bint swapped,
):
    """Expand a mask, and copy the present values to their positions. Missing values become 0.

    Parameters
    ----------
    mask : (ceil(N / 8),) uint8
        One bit per value, the most significant first; 1 is missing.
    present : (M * size,) uint8
        The values that are not missing, one after another.
    flags : (N,) uint8
        Output: 1 for missing values, 0 for others.
    values : (N * size,) uint8
        Output.
    size : int
        1, 2, 4 or 8 bytes per value.
    swapped : bool
        Whether `present` and `values` differ in byte order.

    Raises
    ------
    ValueError
        If the sizes do not match, or the mask does not have M bits of 0.
    """
    cdef Py_ssize_t n = flags.shape[0], taken
    _check_sizes(present.shape[0], n, values.shape[0], size)
    if mask.shape[0] != (n + 7) // 8:
        raise ValueError(f"a mask of {mask.shape[0]} bytes does not hold {n} flags")
    with nogil:
        taken = scatter_values(
            _start(mask), n, _start(present), present.shape[0] // size, <uint8_t*> _start(flags),
            <uint8_t*> _start(values), size, swapped
        )
    if taken * size != present.shape[0]:
        raise ValueError(f"the mask does not have {present.shape[0] // size} of {n} values present")


def gather(
    const uint8_t[::1] flags not None, const uint8_t[::1] values not None, uint8_t[::1] present not None, int size,
    bint swapped,
):
    """Copy the present values one after another.

    Parameters
    ----------
    flags : (N,) uint8
        All values except 0 are missing.
    values : (N * size,) uint8
    present : (M * size,) uint8
        Output: the values that are not missing.
    size : int
        1, 2, 4 or 8 bytes per value.
    swapped : bool
        Whether `values` and `present` differ in byte order.

    Raises
    ------
    ValueError
        If the sizes do not match, or the number of flags that are 0 is not M.
    """
    cdef Py_ssize_t n = flags.shape[0], taken
    _check_sizes(present.shape[0], n, values.shape[0], size)
    with nogil:
        taken = gather_values(
            _start(flags), n, _start(values), <uint8_t*> _start(present), present.shape[0] // size, size, swapped
        )
    if taken * size != present.shape[0]:
        raise ValueError(f"the flags do not have {present.shape[0] // size} of {n} values present")


cdef int _check_sizes(Py_ssize_t present, Py_ssize_t n, Py_ssize_t values, int size) except -1:
    if size not in (1, 2, 4, 8):
        raise ValueError(f"size: found {size}, expected 1, 2, 4 or 8 bytes")
    if values != n * size or present % size or present > values:
        raise ValueError(f"{n} flags, {values} bytes of values of {size} and {present} present do not fit")
    return 0
