"""Zlib streams (RFC 1950, RFC 1951) → bytes, as fast as libraries, into memory of the caller.

A table maps the next bits of a stream to a symbol, and to the number of bits that the symbol and its parameter take.
Codes that are longer than the bits of a table go on in a smaller one. While there is space before and behind, a loop
takes whole words and does not check what cannot fail; the rest is decoded symbol by symbol.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from .deflate cimport (
    DISTANCE_BASE,
    DISTANCE_BITS,
    DYNAMIC,
    END,
    FIXED,
    LENGTH_BASE,
    LENGTH_BITS,
    MAX_BITS,
    N_DISTANCES,
    N_LITERALS,
    STORED,
    Stream,
    code_sizes,
    copy_stored,
    is_header,
    is_trailer,
    refill,
    short_block,
    take,
)
from .words cimport LITTLE_HOST, load_u64

cdef enum:
    MAX_RATIO = 1032  # bytes to which one byte of deflate expands at most
    SHORT = 512  # bytes of a stream for which tables take longer than decoding without them
    LITERAL_BITS = 11  # of the first table
    DISTANCE_TABLE_BITS = 8
    LITERAL_ENTRIES = 2342  # as many as any code needs, by the program `enough` of zlib
    DISTANCE_ENTRIES = 402
    # An entry has, from the lowest bit on: how many bits to take (8), how many of these are the code (4), or how many
    # bits a smaller table has, flags (4), and a byte, a length, a distance, or the place of a smaller table.
    CODE_SHIFT = 8
    WRONG = 1 << 12  # no symbol, or one that has no meaning
    BLOCK_END = 1 << 13
    SMALLER = 1 << 14  # a smaller table has the symbol
    SPECIAL = 1 << 15  # one of these three
    VALUE_SHIFT = 16
    LITERAL = 1 << 30
    LONGEST = 258  # bytes that are copied at a time
    WORD = 8  # bytes
    # Bytes that one step of the loop takes and makes at most, with the words that it reads and writes.
    STEP_INPUT = 3 * WORD
    STEP_OUTPUT = LONGEST + 4 + 2 * WORD


cdef struct Tables:
    uint32_t[LITERAL_ENTRIES] literals
    uint32_t[DISTANCE_ENTRIES] distances


cdef inline bint inflate(const uint8_t* source, size_t size, uint8_t* target, size_t n) noexcept nogil:
    """Decode a zlib stream to exactly `n` bytes; return whether it is right. Bytes may follow it."""
    cdef Stream s
    cdef Tables tables
    cdef uint32_t kind, last = 0
    cdef bint is_right
    if n // MAX_RATIO > size or not is_header(source, size):
        return False
    s.p, s.end, s.bits, s.n = source + 2, source + size, 0, 0
    s.start, s.out, s.out_end = target, target, target + n
    while not last:
        refill(&s)
        if s.n < 3:
            return False
        last = take(&s, 1)
        kind = take(&s, 2)
        if kind == STORED:
            is_right = copy_stored(&s)
        elif kind > DYNAMIC:
            is_right = False
        elif size <= SHORT:
            is_right = short_block(&s, kind == FIXED)
        else:
            is_right = _tabulate(&s, &tables, kind == FIXED) and _decode(&s, &tables)
        if not is_right:
            return False
    return is_trailer(&s)


cdef inline bint _tabulate(Stream* s, Tables* tables, bint is_fixed) noexcept nogil:
    """Make the tables of a block; return whether its codes are right."""
    cdef uint8_t[N_LITERALS + N_DISTANCES] sizes
    cdef int n_literals, n_distances
    return (code_sizes(s, sizes, &n_literals, &n_distances, is_fixed)
            and _fill(tables.literals, LITERAL_ENTRIES, LITERAL_BITS, sizes, n_literals, True)
            and _fill(tables.distances, DISTANCE_ENTRIES, DISTANCE_TABLE_BITS, sizes + n_literals, n_distances, False))


cdef inline uint32_t _meaning(int symbol, bint is_literal) noexcept nogil:
    """Return the entry of a symbol whose code has no bits."""
    if not is_literal:
        if symbol >= 30:
            return WRONG | SPECIAL
        return <uint32_t> DISTANCE_BASE[symbol] << VALUE_SHIFT | DISTANCE_BITS[symbol]
    if symbol < END:
        return LITERAL | <uint32_t> symbol << VALUE_SHIFT
    if symbol == END:
        return BLOCK_END | SPECIAL
    if symbol > 285:
        return WRONG | SPECIAL
    return <uint32_t> LENGTH_BASE[symbol - 257] << VALUE_SHIFT | LENGTH_BITS[symbol - 257]


cdef inline bint _fill(
    uint32_t* table, int n_entries, int table_bits, const uint8_t* sizes, int n, bint is_literal,
) noexcept nogil:
    """Make a table of the lengths of codes; an incomplete code must have a single symbol of one bit, or none."""
    cdef uint16_t[MAX_BITS + 2] counts, places
    cdef uint16_t[N_LITERALS] symbols
    cdef uint32_t used = 0, code = 0, entry, bit, first = 0, step
    cdef int i, size, smaller_bits = 0, n_used = 0, start = 0, prefix = -1, next_free = 1 << table_bits, at = 0
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        counts[sizes[i]] += 1
    counts[0] = 0
    for size in range(1, MAX_BITS + 1):
        places[size] = n_used
        n_used += counts[size]
        used += <uint32_t> counts[size] << (MAX_BITS - size)
    if used > 1 << MAX_BITS or (used < 1 << MAX_BITS and (n_used > 1 or (n_used and not counts[1]))):
        return False
    for i in range(n):
        if sizes[i]:
            symbols[places[sizes[i]]] = i
            places[sizes[i]] += 1
    if used < 1 << MAX_BITS:
        for i in range(1 << table_bits):
            table[i] = WRONG | SPECIAL
        if n_used:
            entry = _meaning(symbols[0], is_literal) + (1 << CODE_SHIFT | 1)
            for i in range(0, 1 << table_bits, 2):
                table[i] = entry
        return True
    # Bits come lowest first, so codes count from their highest bit downwards. The table doubles with each length.
    size = 0
    while at < n_used:
        if size < MAX_BITS:
            size += 1
        if size <= table_bits and size > 1:
            memcpy(table + (1 << (size - 1)), table, sizeof(uint32_t) << (size - 1))
        for i in range(counts[size]):
            entry = _meaning(symbols[at], is_literal)
            at += 1
            if size <= table_bits:
                table[code] = entry + <uint32_t> (size << CODE_SHIFT | size)
            else:
                if <int> (code & ((1 << table_bits) - 1)) != prefix:
                    prefix = code & ((1 << table_bits) - 1)
                    start = next_free
                    smaller_bits = size - table_bits
                    first = counts[size] - i
                    while first < 1 << smaller_bits:
                        smaller_bits += 1
                        first = (first << 1) + counts[table_bits + smaller_bits]
                    next_free += 1 << smaller_bits
                    if next_free > n_entries:
                        return False
                    table[prefix] = (
                        <uint32_t> start << VALUE_SHIFT | SPECIAL | SMALLER
                        | <uint32_t> (smaller_bits << CODE_SHIFT | table_bits))
                entry += <uint32_t> ((size - table_bits) << CODE_SHIFT | (size - table_bits))
                step = <uint32_t> 1 << (size - table_bits)
                bit = code >> table_bits
                while bit < <uint32_t> 1 << smaller_bits:
                    table[start + bit] = entry
                    bit += step
            bit = <uint32_t> 1 << (size - 1)
            while code & bit:
                code ^= bit
                bit >>= 1
            code |= bit
    while size < table_bits:
        memcpy(table + (1 << size), table, sizeof(uint32_t) << size)
        size += 1
    return True


cdef inline uint64_t _extra(uint64_t bits, uint32_t entry) noexcept nogil:
    """Return the number that follows a code, by the bits from this code on."""
    return (bits & ((<uint64_t> 1 << <uint8_t> entry) - 1)) >> (entry >> CODE_SHIFT & 15)


cdef inline bint _decode(Stream* s, const Tables* tables) noexcept nogil:
    """Decode a block; return whether it is right."""
    cdef uint32_t entry
    cdef uint64_t bits
    cdef size_t size, distance, i
    while True:
        if s.end - s.p >= STEP_INPUT and s.out_end - s.out >= STEP_OUTPUT:
            entry = _decode_most(s, tables)
            if entry & WRONG:
                return False
            if entry & BLOCK_END:
                return True
        if s.n < 48:  # a length and a distance with their bits have at most as many
            refill(s)
        entry = tables.literals[s.bits & ((1 << LITERAL_BITS) - 1)]
        if entry & SMALLER:
            if not _skip(s, LITERAL_BITS):
                return False
            entry = tables.literals[(entry >> VALUE_SHIFT) + (s.bits & ((1 << (entry >> CODE_SHIFT & 15)) - 1))]
        bits = s.bits
        if entry & WRONG or not _skip(s, <uint8_t> entry):
            return False
        if entry & BLOCK_END:
            return True
        if entry & LITERAL:
            if s.out == s.out_end:
                return False
            s.out[0] = <uint8_t> (entry >> VALUE_SHIFT)
            s.out += 1
            continue
        size = (entry >> VALUE_SHIFT) + _extra(bits, entry)
        entry = tables.distances[s.bits & ((1 << DISTANCE_TABLE_BITS) - 1)]
        if entry & SMALLER:
            if not _skip(s, DISTANCE_TABLE_BITS):
                return False
            entry = tables.distances[(entry >> VALUE_SHIFT) + (s.bits & ((1 << (entry >> CODE_SHIFT & 15)) - 1))]
        bits = s.bits
        if entry & WRONG or not _skip(s, <uint8_t> entry):
            return False
        distance = (entry >> VALUE_SHIFT) + _extra(bits, entry)
        if distance > <size_t> (s.out - s.start) or size > <size_t> (s.out_end - s.out):
            return False
        for i in range(size):
            s.out[i] = (s.out - distance)[i]
        s.out += size


cdef inline bint _skip(Stream* s, int n) noexcept nogil:
    """Take bits; return whether there are as many."""
    s.bits >>= n
    s.n -= n
    return s.n >= 0


cdef inline uint32_t _decode_most(Stream* s, const Tables* tables) noexcept nogil:
    """Decode as much of a block as is possible in whole words.

    Returns
    -------
    int
        The entry at which it ended, with the flag BLOCK_END or WRONG; 0: there is too little space.
    """
    cdef const uint8_t* p = s.p
    cdef const uint8_t* last = s.end - STEP_INPUT
    cdef const uint8_t* copied
    cdef uint8_t* start = s.start
    cdef uint8_t* out = s.out
    cdef uint8_t* out_last = s.out_end - STEP_OUTPUT
    cdef uint8_t* stop
    cdef uint64_t bits = s.bits, before, word
    cdef uint32_t n = s.n  # bits; more than these are right, too
    cdef uint32_t entry, found = 0
    cdef size_t distance, size
    bits |= load_u64(p, not LITTLE_HOST) << n
    p += (63 - n) >> 3
    n |= 56
    entry = tables.literals[bits & ((1 << LITERAL_BITS) - 1)]
    while True:
        # There are at least 56 bits: enough for three symbols of the first table, and one more entry.
        before = bits
        bits >>= <uint8_t> entry
        n -= <uint8_t> entry
        if entry & LITERAL:
            out[0] = <uint8_t> (entry >> VALUE_SHIFT)
            out += 1
            entry = tables.literals[bits & ((1 << LITERAL_BITS) - 1)]
            before = bits
            bits >>= <uint8_t> entry
            n -= <uint8_t> entry
            if entry & LITERAL:
                out[0] = <uint8_t> (entry >> VALUE_SHIFT)
                out += 1
                entry = tables.literals[bits & ((1 << LITERAL_BITS) - 1)]
                before = bits
                bits >>= <uint8_t> entry
                n -= <uint8_t> entry
        if entry & SMALLER:
            entry = tables.literals[(entry >> VALUE_SHIFT) + (bits & ((1 << (entry >> CODE_SHIFT & 15)) - 1))]
            before = bits
            bits >>= <uint8_t> entry
            n -= <uint8_t> entry
        if entry & LITERAL:
            out[0] = <uint8_t> (entry >> VALUE_SHIFT)
            out += 1
            entry = tables.literals[bits & ((1 << LITERAL_BITS) - 1)]
            bits |= load_u64(p, not LITTLE_HOST) << n
            p += (63 - n) >> 3
            n |= 56
            if p <= last and out <= out_last:
                continue
            break
        if entry & SPECIAL:
            found = entry
            break
        size = (entry >> VALUE_SHIFT) + _extra(before, entry)
        if n < 28 + LITERAL_BITS:
            bits |= load_u64(p, not LITTLE_HOST) << n
            p += (63 - n) >> 3
            n |= 56
        entry = tables.distances[bits & ((1 << DISTANCE_TABLE_BITS) - 1)]
        if entry & SPECIAL:
            if entry & SMALLER:
                bits >>= DISTANCE_TABLE_BITS
                n -= DISTANCE_TABLE_BITS
                entry = tables.distances[(entry >> VALUE_SHIFT) + (bits & ((1 << (entry >> CODE_SHIFT & 15)) - 1))]
            if entry & SPECIAL:
                found = entry
                break
        distance = (entry >> VALUE_SHIFT) + _extra(bits, entry)
        bits >>= <uint8_t> entry
        n -= <uint8_t> entry
        if distance > <size_t> (out - start):
            found = WRONG
            break
        # the next entry is looked up while bytes are copied
        entry = tables.literals[bits & ((1 << LITERAL_BITS) - 1)]
        bits |= load_u64(p, not LITTLE_HOST) << n
        p += (63 - n) >> 3
        n |= 56
        copied = out - distance
        stop = out + size
        if distance >= WORD:
            memcpy(out, copied, WORD)
            memcpy(out + WORD, copied + WORD, WORD)
            out += 2 * WORD
            copied += 2 * WORD
            while out < stop:
                memcpy(out, copied, WORD)
                out += WORD
                copied += WORD
        elif distance == 1:
            memset(&word, copied[0], WORD)
            memcpy(out, &word, WORD)
            memcpy(out + WORD, &word, WORD)
            out += 2 * WORD
            while out < stop:
                memcpy(out, &word, WORD)
                out += WORD
        else:
            while out < stop:  # bytes that are not right yet are copied again
                memcpy(out, copied, WORD)
                out += distance
                copied += distance
        out = stop
        if p > last or out > out_last:
            break
    s.p, s.out, s.n = p, out, n
    s.bits = bits & ((<uint64_t> 1 << n) - 1)
    return found
