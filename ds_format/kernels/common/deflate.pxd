"""The parts of zlib streams (RFC 1950, RFC 1951), and blocks of short ones → bytes; see `inflate`.

Large tables take longer to make than all of a stream of some hundred bytes. Here codes are found by comparing: codes of
the same length follow one another, and those of each length end at a limit.
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from .adler cimport adler32_of
from .words cimport LITTLE_HOST, load_u64

cdef enum:
    MAX_BITS = 15  # of a code
    N_LITERALS = 288
    N_DISTANCES = 32
    N_LENGTHS = 19  # codes for lengths of codes
    END = 256  # symbol: the block ends
    STORED = 0  # types of blocks
    FIXED = 1
    DYNAMIC = 2


cdef struct Code:
    uint16_t[MAX_BITS + 2] limits  # of each length: where its codes end, counted in codes of 15 bits
    int32_t[MAX_BITS + 1] shifts  # from a code of a length to its place among the symbols
    uint16_t[N_LITERALS] symbols  # by their codes
    int shortest, longest


cdef struct Stream:
    const uint8_t* p
    const uint8_t* end
    uint64_t bits  # that follow, the lowest one first
    int n  # of bits
    uint8_t* start
    uint8_t* out
    uint8_t* out_end

cdef extern from *:
    """
    #include <stdint.h>
    static const uint16_t ds_length_base[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59,
        67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t ds_length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4,
        5, 5, 5, 5, 0};
    static const uint16_t ds_distance_base[] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385,
        513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static const uint8_t ds_distance_bits[] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10,
        10, 11, 11, 12, 12, 13, 13};
    static const uint8_t ds_length_order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    static const uint8_t ds_reversed[] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
    """
    const uint16_t* LENGTH_BASE "ds_length_base"
    const uint8_t* LENGTH_BITS "ds_length_bits"
    const uint16_t* DISTANCE_BASE "ds_distance_base"
    const uint8_t* DISTANCE_BITS "ds_distance_bits"
    const uint8_t* LENGTH_ORDER "ds_length_order"
    const uint8_t* REVERSED "ds_reversed"  # 4 bits in the other order


cdef inline bint is_header(const uint8_t* source, size_t size) noexcept nogil:
    """Return whether a zlib stream may begin so."""
    return (size >= 6 and source[0] & 15 == 8 and source[0] >> 4 <= 7 and not source[1] & 32
            and (source[0] << 8 | source[1]) % 31 == 0)


cdef inline bint is_trailer(Stream* s) noexcept nogil:
    """Return whether all bytes were decoded, and their checksum follows."""
    cdef uint32_t found
    s.p -= s.n // 8  # whole bytes that were not needed
    if s.out != s.out_end or s.end - s.p < 4:
        return False
    found = <uint32_t> s.p[0] << 24 | <uint32_t> s.p[1] << 16 | <uint32_t> s.p[2] << 8 | s.p[3]
    return adler32_of(s.start, s.out - s.start, 1) == found


cdef inline void refill(Stream* s) noexcept nogil:
    """Have at least 56 bits, or all that follow."""
    cdef int n
    if s.end - s.p >= 8:
        s.bits |= load_u64(s.p, not LITTLE_HOST) << s.n
        n = (63 - s.n) >> 3
        s.p += n
        s.n += 8 * n
        s.bits &= (<uint64_t> 1 << s.n) - 1
        return
    while s.n <= 56 and s.p < s.end:
        s.bits |= <uint64_t> s.p[0] << s.n
        s.p += 1
        s.n += 8


cdef inline uint32_t take(Stream* s, int n) noexcept nogil:
    """Return some bits, at most 16; the caller sees by `s.n` whether there were as many."""
    cdef uint32_t found = <uint32_t> (s.bits & ((<uint64_t> 1 << n) - 1))
    s.bits >>= n
    s.n -= n
    return found


cdef inline int _symbol(Stream* s, const Code* code) noexcept nogil:
    """Return a symbol, -1 if no code follows."""
    cdef uint32_t low = <uint32_t> s.bits & 0x7FFF
    cdef uint32_t bits = (
        <uint32_t> REVERSED[low & 15] << 11 | <uint32_t> REVERSED[low >> 4 & 15] << 7
        | <uint32_t> REVERSED[low >> 8 & 15] << 3 | REVERSED[low >> 12] >> 1)
    cdef int size = code.shortest
    while size <= code.longest:
        if bits < code.limits[size]:
            s.bits >>= size
            s.n -= size
            return code.symbols[<int32_t> (bits >> (MAX_BITS - size)) + code.shifts[size]]
        size += 1
    return -1


cdef inline bint _build(Code* code, const uint8_t* sizes, int n) noexcept nogil:
    """Make a code of the lengths of its symbols; an incomplete one must have a single symbol of one bit, or none."""
    cdef uint16_t[MAX_BITS + 2] counts, places
    cdef uint32_t first = 0
    cdef int i, size, n_used = 0
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        counts[sizes[i]] += 1
    counts[0] = 0
    code.shortest, code.longest = MAX_BITS + 1, 0
    for size in range(1, MAX_BITS + 1):
        places[size] = n_used
        code.shifts[size] = n_used - <int32_t> (first >> (MAX_BITS - size))
        n_used += counts[size]
        first += <uint32_t> counts[size] << (MAX_BITS - size)
        if first > 1 << MAX_BITS:
            return False
        code.limits[size] = <uint16_t> first
        if counts[size]:
            code.shortest, code.longest = min(code.shortest, size), size
    if first != 1 << MAX_BITS and (n_used > 1 or code.longest > 1):
        return False
    for i in range(n):
        if sizes[i]:
            code.symbols[places[sizes[i]]] = i
            places[sizes[i]] += 1
    return True


cdef inline bint short_block(Stream* s, bint is_fixed) noexcept nogil:
    """Decode a block without tables; return whether it is right."""
    cdef uint8_t[N_LITERALS + N_DISTANCES] sizes
    cdef Code literals, distances
    cdef int n_literals, n_distances
    return (code_sizes(s, sizes, &n_literals, &n_distances, is_fixed)
            and _build(&literals, sizes, n_literals) and _build(&distances, sizes + n_literals, n_distances)
            and _inflate(s, &literals, &distances))


cdef inline bint code_sizes(
    Stream* s, uint8_t* sizes, int* n_literals, int* n_distances, bint is_fixed,
) noexcept nogil:
    """Return the lengths of the codes of a block, those of distances after those of literals and lengths."""
    if not is_fixed:
        return _read_sizes(s, sizes, n_literals, n_distances)
    memset(sizes, 8, 144)
    memset(sizes + 144, 9, 112)
    memset(sizes + 256, 7, 24)
    memset(sizes + 280, 8, 8)
    memset(sizes + N_LITERALS, 5, N_DISTANCES)
    n_literals[0], n_distances[0] = N_LITERALS, N_DISTANCES
    return True


cdef inline bint _read_sizes(Stream* s, uint8_t* sizes, int* n_literals, int* n_distances) noexcept nogil:
    """Read the lengths of all codes."""
    cdef uint8_t[N_LENGTHS] own
    cdef Code code
    cdef int n_own, i = 0, symbol, repeat, n
    cdef uint8_t size
    memset(own, 0, sizeof(own))
    refill(s)
    if s.n < 14:
        return False
    n_literals[0] = <int> take(s, 5) + 257
    n_distances[0] = <int> take(s, 5) + 1
    n_own = <int> take(s, 4) + 4
    if n_literals[0] > 286 or n_distances[0] > 30:
        return False
    for i in range(n_own):
        if s.n < 3:
            refill(s)
            if s.n < 3:
                return False
        own[LENGTH_ORDER[i]] = take(s, 3)
    if not _build(&code, own, N_LENGTHS):
        return False
    n = n_literals[0] + n_distances[0]
    i = 0
    while i < n:
        if s.n < 22:
            refill(s)
        symbol = _symbol(s, &code)
        if symbol < 0:
            return False
        size, repeat = 0, 1
        if symbol < 16:
            size = symbol
        elif symbol == 16:
            if i == 0:
                return False
            size, repeat = sizes[i - 1], 3 + <int> take(s, 2)
        elif symbol == 17:
            repeat = 3 + <int> take(s, 3)
        else:
            repeat = 11 + <int> take(s, 7)
        if s.n < 0 or repeat > n - i:
            return False
        memset(sizes + i, size, repeat)
        i += repeat
    return sizes[END] != 0


cdef inline bint _inflate(Stream* s, const Code* literals, const Code* distances) noexcept nogil:
    """Decode a block."""
    cdef int symbol, size, i
    cdef size_t distance
    while True:
        # a length and a distance with their bits have at most 48
        if s.n < 48:
            refill(s)
        symbol = _symbol(s, literals)
        if symbol < 0 or s.n < 0:
            return False
        if symbol < END:
            if s.out == s.out_end:
                return False
            s.out[0] = symbol
            s.out += 1
            continue
        if symbol == END:
            return True
        if symbol > 285:
            return False
        symbol -= 257
        size = LENGTH_BASE[symbol] + <int> take(s, LENGTH_BITS[symbol])
        symbol = _symbol(s, distances)
        if symbol < 0 or symbol > 29:
            return False
        distance = DISTANCE_BASE[symbol] + take(s, DISTANCE_BITS[symbol])
        if s.n < 0 or distance > <size_t> (s.out - s.start) or size > s.out_end - s.out:
            return False
        if distance == 1:
            memset(s.out, (s.out - 1)[0], size)
        elif distance >= <size_t> size:
            memcpy(s.out, s.out - distance, size)
        else:
            for i in range(size):
                s.out[i] = (s.out - distance)[i]
        s.out += size


cdef inline bint copy_stored(Stream* s) noexcept nogil:
    """Copy a block that is not compressed."""
    cdef uint32_t n
    s.bits >>= s.n % 8
    s.n -= s.n % 8
    s.p -= s.n // 8
    s.bits, s.n = 0, 0
    if s.end - s.p < 4:
        return False
    n = s.p[0] | <uint32_t> s.p[1] << 8
    if n != (~(s.p[2] | <uint32_t> s.p[3] << 8) & 0xFFFF):
        return False
    s.p += 4
    if n > s.end - s.p or n > s.out_end - s.out:
        return False
    memcpy(s.out, s.p, n)
    s.p += n
    s.out += n
    return True
