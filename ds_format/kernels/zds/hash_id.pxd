"""A hash of short strings, whose values cannot be predicted without its keys."""

from libc.stdint cimport uint8_t, uint64_t

cdef extern from *:
    """
    #ifndef DS_HASH_ID
    #define DS_HASH_ID
    #include <stdint.h>
    #include <string.h>
    /* Returns the product, its halves combined by xor. */
    static inline uint64_t ds_fold(uint64_t a, uint64_t b) {
    #if defined(__SIZEOF_INT128__)
        const unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    #else
        const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
        const uint64_t low = al * bl, one = ah * bl + (low >> 32), two = al * bh + (uint32_t)one;
        return (two << 32 | (uint32_t)low) ^ (ah * bh + (one >> 32) + (two >> 32));
    #endif
    }
    static inline uint64_t ds_load(const uint8_t *p, size_t size) {
        uint64_t value = 0;
        memcpy(&value, p, size);
        return value;
    }
    static inline uint64_t ds_hash_id(const uint8_t *p, size_t size, const uint64_t *keys) {
        const uint8_t *end = p + size;
        uint64_t hash = keys[0], first, last;
        for (; end - p > 16; p += 16) hash = ds_fold(ds_load(p, 8) ^ keys[1], ds_load(p + 8, 8) ^ hash);
        if (size >= 16) { first = ds_load(end - 16, 8); last = ds_load(end - 8, 8); }
        else if (size >= 8) { first = ds_load(p, 8); last = ds_load(end - 8, 8); }
        else if (size >= 4) { first = ds_load(p, 4); last = ds_load(end - 4, 4); }
        else { first = size ? (uint64_t)p[0] << 8 | p[size / 2] : 0; last = size ? end[-1] : 0; }
        return ds_fold(keys[2] ^ size, ds_fold(first ^ keys[1], last ^ hash) ^ keys[3]);
    }
    #if defined(__GNUC__)
    #define ds_prefetch(p) __builtin_prefetch((p), 1)
    #else
    #define ds_prefetch(p) ((void)(p))
    #endif
    #endif
    """
    void prefetch "ds_prefetch"(const void* p) noexcept nogil
    uint64_t hash_id "ds_hash_id"(const uint8_t* p, size_t size, const uint64_t* keys) noexcept nogil
