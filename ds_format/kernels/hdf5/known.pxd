"""The bytes of a file that are known, and the faults that are found in them.

A function that finds a fault, or lacks bytes, notes which, and raises EOFError: `objects` makes the error of it.
Damage goes before what is unusual: after something unusual, the other objects of the file are read as well.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy

from ..common.words cimport LITTLE_HOST, load_u64, swap_word
from .lookup3 cimport lookup3

cdef extern from *:
    """
    #define DS_UNDEFINED ((uint64_t) -1)
    """
    const uint64_t UNDEFINED "DS_UNDEFINED"  # an address that leads nowhere

cdef enum Fault:
    NONE
    LACKING  # bytes are needed that are not known: `needed`
    UNUSUAL  # the library shall read the file
    DAMAGED
    SHORT  # the file is shorter than it says
    MISMATCH  # a checksum differs

cdef enum:
    LEAST = 512  # bytes that are asked for at least, since a structure tells its size in its first bytes


cdef struct Segment:
    uint64_t start
    uint64_t end
    const uint8_t* data


cdef struct Range:
    uint64_t start
    uint64_t end


cdef struct Known:
    Segment* segments  # in the order of the file, apart from each other
    Py_ssize_t n
    uint64_t size  # of the file
    uint64_t visited  # bytes of structures, each time that they were read
    uint64_t decoded  # bytes of values
    Fault fault
    const char* what  # the structure in which it is
    uint64_t address  # of that
    const char* reason
    const char* odd  # what was unusual first, or NULL
    uint64_t odd_address
    bint has_shared  # messages that are shared in a heap
    uint64_t found
    uint64_t expected
    Range* needed
    Py_ssize_t n_needed, room
    uint64_t* seen  # addresses of structures whose checksums were compared, by their hash; 0: none
    size_t n_seen, n_slots  # the latter a power of two


cdef inline int fail(Known* k, Fault fault, const char* what, uint64_t address, const char* reason,
                     uint64_t found=0, uint64_t expected=0) except -1:
    """Note a fault, and raise."""
    k.fault, k.what, k.address, k.reason, k.found, k.expected = fault, what, address, reason, found, expected
    raise EOFError


cdef inline int unusual(Known* k, const char* reason, uint64_t address=0) except -1:
    """Note that a library must read the file, and raise: the structure is not known further."""
    note_unusual(k, reason, address)
    return fail(k, UNUSUAL, b"", address, reason)


cdef inline void note_unusual(Known* k, const char* reason, uint64_t address=0) noexcept:
    """Note that a library must read the file, which is still checked for damage."""
    if k.odd == NULL:
        k.odd, k.odd_address = reason, address


cdef inline int go_on(const Known* k) except -1:
    """Return if what follows a structure may be read although there is a fault in it; otherwise raise again."""
    if k.fault > UNUSUAL:
        raise EOFError
    return 0


cdef inline void* grown(void* items, Py_ssize_t* room, size_t size) except NULL:
    """Return an array of items of a size, moved to where there is room for more."""
    cdef void* moved = realloc(items, (2 * room[0] + 16) * size)
    if moved == NULL:
        raise MemoryError
    room[0] = 2 * room[0] + 16
    return moved


cdef inline int check(Known* k, bint is_right, const char* what, uint64_t address, const char* reason) except -1:
    return 0 if is_right else fail(k, DAMAGED, what, address, reason)


cdef inline int lack(Known* k, uint64_t start, uint64_t size) except -1:
    """Note bytes that are needed, which are in the file."""
    if k.n_needed == k.room:
        k.needed = <Range*> grown(k.needed, &k.room, sizeof(Range))
    k.needed[k.n_needed] = Range(start, min(start + max(size, <uint64_t> LEAST), k.size))
    k.n_needed += 1
    return 0


cdef inline const uint8_t* find(const Known* k, uint64_t start, uint64_t end) noexcept nogil:
    """Return where some bytes are, NULL if they are not known."""
    cdef Py_ssize_t low = 0, high = k.n, middle
    while low < high:
        middle = (low + high) // 2
        if k.segments[middle].end < end:
            low = middle + 1
        else:
            high = middle
    if low == k.n or k.segments[low].start > start:
        return NULL
    return k.segments[low].data + (start - k.segments[low].start)


cdef inline const uint8_t* bytes_at(Known* k, uint64_t address, uint64_t size, const char* what) except NULL:
    """Return bytes of a structure."""
    cdef const uint8_t* data
    if address > k.size or size > k.size - address:
        fail(k, DAMAGED, what, address, b"it does not end within the file", size, k.size)
    data = find(k, address, address + size)
    if data == NULL:
        lack(k, address, size)
        fail(k, LACKING, what, address, b"")
    return data


cdef inline int expect(Known* k, uint64_t address, uint64_t size) except -1:
    """Note bytes that will be read, if they are not known, so that several misses are one."""
    if address <= k.size and size <= k.size - address and find(k, address, address + size) == NULL:
        lack(k, address, size)
    return 0


cdef inline uint16_t u16(const uint8_t* p) noexcept nogil:
    return p[0] | <uint16_t> p[1] << 8


cdef inline uint32_t u32(const uint8_t* p) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, p, 4)
    return value if LITTLE_HOST else swap_word(value)


cdef inline uint64_t u64(const uint8_t* p) noexcept nogil:
    return load_u64(p, not LITTLE_HOST)


cdef inline uint64_t wide(const uint8_t* p, uint32_t size) noexcept nogil:
    """Read a number of up to 8 bytes."""
    cdef uint64_t value = 0
    while size:
        size -= 1
        value = value << 8 | p[size]
    return value


cdef inline int log2_of(uint64_t value) noexcept nogil:
    """Return the number of bits below the highest one that is set."""
    cdef int n = 0
    while value > 1:
        value >>= 1
        n += 1
    return n


cdef inline int count_visit(Known* k, uint64_t size, const char* what, uint64_t address) except -1:
    """Count the bytes of a structure: no file makes us read it over and over."""
    k.visited += size
    if k.visited > 8 * k.size + 65536:
        fail(k, DAMAGED, what, address, b"structures lead back to themselves")
    return 0


cdef inline bint is_seen(Known* k, uint64_t address) except -1:
    """Return whether the checksum of a structure was compared, and note that it will be."""
    cdef uint64_t* old = k.seen
    cdef size_t n = k.n_slots, i
    if 2 * k.n_seen >= n:
        k.seen = <uint64_t*> calloc(4 * n if n else 32, sizeof(uint64_t))
        if k.seen == NULL:
            k.seen = old
            raise MemoryError
        k.n_slots = 4 * n if n else 32
        for i in range(n):
            if old[i]:
                k.seen[_slot(k, old[i])] = old[i]
        free(old)
    i = _slot(k, address)
    if k.seen[i] == address:
        return True
    k.seen[i] = address
    k.n_seen += 1
    return False


cdef inline size_t _slot(const Known* k, uint64_t address) noexcept nogil:
    """Return the slot of an address among those that were seen, or where it belongs."""
    cdef size_t i = (address * <uint64_t> 0x9E3779B97F4A7C15 >> 32) & (k.n_slots - 1)
    while k.seen[i] and k.seen[i] != address:
        i = (i + 1) & (k.n_slots - 1)
    return i


cdef inline int check_sum(Known* k, const uint8_t* data, uint64_t size, const char* what, uint64_t address,
                          int hole=-1) except -1:
    """Compare a checksum, which is behind `size` bytes, or in them from `hole` on."""
    cdef uint32_t expected = u32(data + (size if hole < 0 else hole)), found
    count_visit(k, size, what, address)
    found = lookup3(data, size, hole)
    if found != expected:
        fail(k, MISMATCH, what, address, b"checksum", found, expected)
    return 0


cdef inline const uint8_t* structure(Known* k, uint64_t address, uint64_t size, const char* signature, uint8_t version,
                                     const char* what) except NULL:
    """Return a structure that has a signature of 4 bytes and a version, and ends with its checksum."""
    cdef const uint8_t* data = signed(k, address, size, signature, version, what)
    check_sum(k, data, size - 4, what, address)
    return data


cdef inline const uint8_t* signed(Known* k, uint64_t address, uint64_t size, const char* signature, uint8_t version,
                                  const char* what) except NULL:
    """Return a structure that has a signature of 4 bytes and a version."""
    cdef const uint8_t* data = bytes_at(k, address, size, what)
    check(k, memcmp(data, signature, 4) == 0, what, address, b"it has another signature")
    if data[4] != version:
        unusual(k, b"a structure of an unknown version", address)
    return data
