"""Fixed-width values: byte swap, and the present ones of an array to and from their place."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..common.words cimport LITTLE_HOST, load_u64, store_u64, swap_word, word


cdef inline word _load(const uint8_t[::1] values, Py_ssize_t i, bint swapped, word kind) noexcept nogil:
    cdef word value
    memcpy(&value, &values[i * <Py_ssize_t> sizeof(word)], sizeof(word))
    return swap_word(value) if swapped else value


cdef inline void _store(uint8_t[::1] values, Py_ssize_t i, word value) noexcept nogil:
    memcpy(&values[i * <Py_ssize_t> sizeof(word)], &value, sizeof(word))


cdef void _swap(const uint8_t[::1] source, uint8_t[::1] target, word kind) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(source.shape[0] // <Py_ssize_t> sizeof(word)):
        _store(target, i, _load(source, i, True, kind))


cdef Py_ssize_t _scatter(
    const uint8_t[::1] mask, const uint8_t[::1] present, uint8_t[::1] flags, uint8_t[::1] values, bint swapped,
    word kind
) noexcept nogil:
    cdef Py_ssize_t n = flags.shape[0], m = present.shape[0] // <Py_ssize_t> sizeof(word), taken = 0, i, j, count
    cdef uint64_t eight
    cdef uint8_t bits, missing
    for i in range(mask.shape[0]):
        count = min(8, n - 8 * i)
        bits = mask[i]
        if count == 8 and LITTLE_HOST:
            eight = (bits * 0x0101010101010101u) & 0x0102040810204080u
            store_u64(&flags[8 * i], ((eight + 0x7F7F7F7F7F7F7F7Fu) >> 7) & 0x0101010101010101u, False)
        else:
            for j in range(count):
                flags[8 * i + j] = (bits >> (7 - j)) & 1
        if count == 8 and taken + 8 <= m:
            # Reads one value for each of the eight, wanted or not: no branch that the mask could mislead.
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
    const uint8_t[::1] flags, const uint8_t[::1] values, uint8_t[::1] present, bint swapped, word kind
) noexcept nogil:
    cdef Py_ssize_t n = flags.shape[0], m = present.shape[0] // <Py_ssize_t> sizeof(word), taken = 0, i = 0, j
    cdef uint64_t eight
    while i + 8 <= n and taken + 8 <= m:
        # missing values come in stretches more often than not
        eight = load_u64(&flags[i], False)
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


def swap(const uint8_t[::1] source not None, uint8_t[::1] target not None, int size):
    """Copy values of `size` bytes in the other byte order.

    Parameters
    ----------
    source, target : (N * size,) uint8
        May be the same buffer. Neither need be aligned.
    size : int
        2, 4 or 8 bytes.

    Raises
    ------
    ValueError
        If the lengths differ or are no multiple of `size`, or for another `size`.
    """
    _check_size(size)
    if source.shape[0] != target.shape[0] or source.shape[0] % size:
        raise ValueError(f"{source.shape[0]} bytes do not fill {target.shape[0]} bytes with values of {size} bytes")
    with nogil:
        if size == 2:
            _swap(source, target, <uint16_t> 0)
        elif size == 4:
            _swap(source, target, <uint32_t> 0)
        else:
            _swap(source, target, <uint64_t> 0)


def scatter(
    const uint8_t[::1] mask not None, const uint8_t[::1] present not None, uint8_t[::1] flags not None,
    uint8_t[::1] values not None, int size, bint swapped,
):
    """Expand a mask, and put the present values at their places; the others become 0.

    Parameters
    ----------
    mask : (ceil(N / 8),) uint8
        One bit per value, the most significant first; 1 is missing.
    present : (M * size,) uint8
        The values that are not missing, one after another.
    flags : (N,) uint8
        Out: 1 where missing, else 0.
    values : (N * size,) uint8
        Out.
    size : int
        1, 2, 4 or 8 bytes per value.
    swapped : bool
        Whether `present` is in the other byte order than `values`.

    Raises
    ------
    ValueError
        If the lengths do not fit each other, or the mask has not M bits of 0.
    """
    cdef Py_ssize_t n = flags.shape[0], taken
    _check_sizes(present.shape[0], n, values.shape[0], size)
    if mask.shape[0] != (n + 7) // 8:
        raise ValueError(f"a mask of {mask.shape[0]} bytes does not hold {n} flags")
    with nogil:
        if size == 1:
            taken = _scatter(mask, present, flags, values, False, <uint8_t> 0)
        elif size == 2:
            taken = _scatter(mask, present, flags, values, swapped, <uint16_t> 0)
        elif size == 4:
            taken = _scatter(mask, present, flags, values, swapped, <uint32_t> 0)
        else:
            taken = _scatter(mask, present, flags, values, swapped, <uint64_t> 0)
    if taken * size != present.shape[0]:
        raise ValueError(f"the mask does not leave {present.shape[0] // size} of {n} values")


def gather(
    const uint8_t[::1] flags not None, const uint8_t[::1] values not None, uint8_t[::1] present not None, int size,
    bint swapped,
):
    """Copy the present values one after another.

    Parameters
    ----------
    flags : (N,) uint8
        Any value but 0 is missing.
    values : (N * size,) uint8
    present : (M * size,) uint8
        Out: the values that are not missing.
    size : int
        1, 2, 4 or 8 bytes per value.
    swapped : bool
        Whether `values` is in the other byte order than `present`.

    Raises
    ------
    ValueError
        If the lengths do not fit each other, or not M flags are 0.
    """
    cdef Py_ssize_t n = flags.shape[0], taken
    _check_sizes(present.shape[0], n, values.shape[0], size)
    with nogil:
        if size == 1:
            taken = _gather(flags, values, present, False, <uint8_t> 0)
        elif size == 2:
            taken = _gather(flags, values, present, swapped, <uint16_t> 0)
        elif size == 4:
            taken = _gather(flags, values, present, swapped, <uint32_t> 0)
        else:
            taken = _gather(flags, values, present, swapped, <uint64_t> 0)
    if taken * size != present.shape[0]:
        raise ValueError(f"the flags do not leave {present.shape[0] // size} of {n} values")


cdef int _check_size(int size) except -1:
    if size not in (1, 2, 4, 8):
        raise ValueError(f"size: found {size}, expected 1, 2, 4 or 8 bytes")
    return 0


cdef int _check_sizes(Py_ssize_t present, Py_ssize_t n, Py_ssize_t values, int size) except -1:
    _check_size(size)
    if values != n * size or present % size or present > values:
        raise ValueError(f"{n} flags, {values} bytes of values of {size} and {present} present do not fit")
    return 0
