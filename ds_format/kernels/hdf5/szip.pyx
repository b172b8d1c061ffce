"""The filter szip: blocks of values, each coded in the way that was shortest for it (extended Rice coding).

Sources of the format: CCSDS 121.0-B-3, Lossless Data Compression; decode.c and sz_compat.c of libaec 1.1. The latter
say how szip arranges values: each scanline is coded for itself, and of values of 32 or 64 bits, the first bytes of all
are coded before the second ones.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from .placing cimport Form, join

cdef enum:
    BIG_ENDIAN = 16  # options of the filter
    PREDICTED = 32
    MAX_BLOCK = 32  # values
    MAX_SCANLINE = 4096  # values
    MAX_LINE = MAX_SCANLINE + MAX_BLOCK - 1  # with padding
    MAX_PAIR = 90  # number of the last pair of small values
    SEGMENT = 64  # blocks that are counted together if all are zeros
    TO_END = 5  # count of blocks of zeros that stands for all blocks up to the end of the segment

cdef struct Bits:
    const uint8_t* next
    const uint8_t* end
    uint64_t window  # bits that were read, not taken; the next one is the highest
    int n  # number of these; -1: more were taken than there are

cdef struct Coding:
    int block  # values of a block
    int blocks  # blocks of a scanline
    int width  # bits of a value: 8 or 16
    int id_width  # bits of the number that says how a block is coded
    bint is_predicted  # whether values are differences to those before them


def decode_szip(
    const uint8_t[::1] source not None, uint8_t[::1] target not None,
    uint32_t options, uint32_t block, uint32_t width, uint32_t scanline,
):
    """Decode bytes of the filter szip.

    Parameters
    ----------
    source : (n,) uint8
        Without the size before them.
    target : (m,) uint8
        Out; m is the number of decoded bytes.
    options, block, width, scanline : int
        Client values of the filter: bits of options; values of a block, 2 to 32; bits of a value, 8, 16, 32 or 64;
        values of a scanline, at most 4096.

    Returns
    -------
    bool
        False: the bytes are damaged.

    Raises
    ------
    ValueError
        If a client value is another one, or values of 16 bits have an odd number of bytes.
    """
    cdef Coding coding
    cdef uint8_t[::1] planes
    cdef int words = width // 8 if width > 16 else 1
    cdef Py_ssize_t n
    cdef bint is_good
    if not 2 <= block <= MAX_BLOCK or block % 2 or not 1 <= scanline <= MAX_SCANLINE:
        raise ValueError(f"found blocks of {block} and scanlines of {scanline} values, "
                         f"expected an even number up to {MAX_BLOCK}, and at most {MAX_SCANLINE}")
    if width not in (8, 16, 32, 64) or (width == 16 and target.shape[0] % 2):
        raise ValueError(f"found {target.shape[0]} bytes of values of {width} bits")
    coding.block = block
    coding.blocks = (scanline + block - 1) // block
    coding.width = 16 if width == 16 else 8
    coding.id_width = 4 if width == 16 else 3
    coding.is_predicted = options & PREDICTED != 0
    if not target.shape[0]:
        return True
    if not source.shape[0]:
        return False
    planes = target if words == 1 else bytearray(target.shape[0])
    with nogil:
        is_good = _decode(&source[0], source.shape[0], &planes[0], planes.shape[0], scanline, coding,
                          options & BIG_ENDIAN != 0)
        if is_good and words > 1:
            n = target.shape[0] // words
            if n:
                join(&planes[0], &target[0], n, Form(n, words, True, False))
            # a checksum after the values
            memcpy(&target[0] + n * words, &planes[0] + n * words, target.shape[0] - n * words)
    return is_good


cdef bint _decode(
    const uint8_t* source, Py_ssize_t n, uint8_t* target, Py_ssize_t size, int scanline, Coding coding, bint is_big,
) noexcept nogil:
    cdef uint32_t[MAX_LINE] values
    cdef Bits bits
    cdef Py_ssize_t left = size // (coding.width // 8)
    cdef int count, i
    bits.next, bits.end, bits.window, bits.n = source, source + n, 0, 0
    while left:
        count = <int> min(left, scanline)
        if not _decode_line(&bits, values, (count + coding.block - 1) // coding.block, coding):
            return False
        if coding.is_predicted:
            _undo_prediction(values, count, (1 << coding.width) - 1)
        if coding.width == 8:
            for i in range(count):
                target[i] = <uint8_t> values[i]
        else:
            for i in range(count):
                target[2 * i + is_big] = <uint8_t> values[i]
                target[2 * i + (not is_big)] = <uint8_t> (values[i] >> 8)
        target += count * (coding.width // 8)
        left -= count
    return True


cdef inline void _fill(Bits* bits) noexcept nogil:
    while bits.n <= 56 and bits.next < bits.end:
        bits.window |= <uint64_t> bits.next[0] << (56 - bits.n)
        bits.next += 1
        bits.n += 8


cdef inline uint32_t _take(Bits* bits, int n) noexcept nogil:
    """Return a number of 1 to 16 bits."""
    cdef uint32_t value
    if bits.n < n:
        _fill(bits)
        if bits.n < n:
            bits.n = -1
            return 0
    value = <uint32_t> (bits.window >> (64 - n))
    bits.window <<= n
    bits.n -= n
    return value


cdef inline int64_t _take_zeros(Bits* bits) noexcept nogil:
    """Return the number of zeros before the next one, and take them and it."""
    cdef int64_t count = 0
    while True:
        if bits.n <= 0:
            _fill(bits)
            if bits.n <= 0:
                bits.n = -1
                return 0
        if bits.window:
            break
        count += bits.n
        bits.n = 0
    while not bits.window >> 63:
        bits.window <<= 1
        bits.n -= 1
        count += 1
    bits.window <<= 1
    bits.n -= 1
    return count


cdef bint _decode_line(Bits* bits, uint32_t* values, int wanted, Coding coding) noexcept nogil:
    """Decode the first blocks of a scanline; False if the bytes are damaged."""
    cdef int done = 0, first, code
    cdef int64_t count
    cdef bint is_good
    cdef uint32_t* block
    while done < wanted:
        block = values + done * coding.block
        first = coding.is_predicted and done == 0  # the first value of a scanline is not a difference
        code = _take(bits, coding.id_width)
        is_good = True
        if code == (1 << coding.id_width) - 1:
            for i in range(coding.block):
                block[i] = _take(bits, coding.width)
        elif code:
            is_good = _decode_split(bits, block, first, code - 1, coding)
        elif _take(bits, 1):
            is_good = _decode_pairs(bits, block, first, coding)
        else:
            if first:
                block[0] = _take(bits, coding.width)
            count = _take_zeros(bits) + 1
            if count == TO_END:
                count = min(coding.blocks - done, SEGMENT - done % SEGMENT)
            elif count > TO_END:
                count -= 1
            if count > coding.blocks - done:
                return False
            memset(block + first, 0, (count * coding.block - first) * sizeof(uint32_t))
            done += <int> count - 1
        if not is_good or bits.n < 0:
            return False
        done += 1
    return True


cdef bint _decode_split(Bits* bits, uint32_t* block, int first, int n_low, Coding coding) noexcept nogil:
    """Decode a block of values whose low bits are stored after the high bits of all."""
    cdef int64_t high, limit = (1 << coding.width) - 1
    cdef int i
    if first:
        block[0] = _take(bits, coding.width)
    for i in range(first, coding.block):
        high = _take_zeros(bits)
        if high > limit >> n_low:
            return False
        block[i] = <uint32_t> (high << n_low)
    if n_low:
        for i in range(first, coding.block):
            block[i] |= _take(bits, n_low)
    return True


cdef bint _decode_pairs(Bits* bits, uint32_t* block, int first, Coding coding) noexcept nogil:
    """Decode a block of pairs of small values; pairs are numbered by their sum, then by the second value."""
    cdef int64_t number
    cdef uint32_t total
    cdef int i
    if first:
        block[0] = _take(bits, coding.width)
    for i in range(0, coding.block, 2):
        number = _take_zeros(bits)
        if number > MAX_PAIR:
            return False
        total = 0
        while number > total:
            total += 1
            number -= total
        if i or not first:
            block[i] = total - <uint32_t> number
        block[i + 1] = <uint32_t> number
    return True


cdef void _undo_prediction(uint32_t* values, int n, uint32_t most) noexcept nogil:
    """Turn differences into values.

    Differences are numbered 0, -1, 1, -2, 2 ... up to where one of both signs leads out of the range of values.
    """
    cdef uint32_t value = values[0], number, mirror
    cdef int i
    for i in range(1, n):
        number = values[i]
        mirror = most if value > most // 2 else 0
        if (number + 1) // 2 > (mirror ^ value):
            value = mirror ^ number
        elif number & 1:
            value -= (number + 1) // 2
        else:
            value += number // 2
        values[i] = value
