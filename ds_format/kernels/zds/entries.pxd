"""Entries of a ZDX index: u16 size of the id, the id, u64 offset, u32 length; little-endian, not aligned.

Written ids have 1 to 255 of ASCII letters, digits, `_`, `-` and `.`. They do not begin with a dot, and do not have two
successive dots: `usual_id`.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..common.words cimport LITTLE_HOST, load_u64, store_u64, swap_word

cdef extern from *:
    """
    #ifndef DS_USUAL_ID
    #define DS_USUAL_ID
    static const uint8_t ds_id_bytes[256] = {
        ['-'] = 1, ['.'] = 1, ['_'] = 1, ['0'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        ['A'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        ['a'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    };
    static inline int ds_usual_id(const uint8_t *p, Py_ssize_t size) {
        Py_ssize_t i;
        if (size < 1 || size > 255 || p[0] == '.') return 0;
        for (i = 0; i < size; i++)
            if (!ds_id_bytes[p[i]] || (p[i] == '.' && i + 1 < size && p[i + 1] == '.')) return 0;
        return 1;
    }
    #endif
    """
    bint usual_id "ds_usual_id"(const uint8_t* p, Py_ssize_t size) noexcept nogil

cdef enum:
    FIXED = 14  # bytes of an entry without its id
    MAX_ID_SIZE = 0xFFFF


cdef struct Entry:
    const uint8_t* id
    Py_ssize_t size
    uint64_t offset
    uint32_t length


cdef inline Py_ssize_t id_size(const uint8_t* p) noexcept nogil:
    cdef uint16_t size
    memcpy(&size, p, 2)
    return size if LITTLE_HOST else swap_word(size)


cdef inline Entry load_entry(const uint8_t* p) noexcept nogil:
    cdef Entry entry
    entry.size = id_size(p)
    entry.id = p + 2
    entry.offset = load_u64(entry.id + entry.size, not LITTLE_HOST)
    memcpy(&entry.length, entry.id + entry.size + 8, 4)
    if not LITTLE_HOST:
        entry.length = swap_word(entry.length)
    return entry


cdef inline uint8_t* store_entry(uint8_t* p, const Entry* entry) noexcept nogil:
    """Store an entry, and return a pointer to its end."""
    cdef uint8_t word[8]
    store_u64(word, <uint64_t> entry.size, not LITTLE_HOST)
    memcpy(p, word, 2)
    memcpy(p + 2, entry.id, entry.size)
    p += 2 + entry.size
    store_u64(p, entry.offset, not LITTLE_HOST)
    store_u64(word, entry.length, not LITTLE_HOST)
    memcpy(p + 8, word, 4)
    return p + 12
