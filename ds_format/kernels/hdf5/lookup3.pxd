"""The checksum of metadata in HDF5 files: `hashlittle` of Bob Jenkins' lookup3 (2006, public domain), from 0 on."""

from libc.stdint cimport uint8_t, uint32_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    static inline uint32_t ds_lookup3_word(const uint8_t *p) {
        return p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
    }
    #else
    static inline uint32_t ds_lookup3_word(const uint8_t *p) { uint32_t word; memcpy(&word, p, 4); return word; }
    #endif
    #define DS_TURN(x, k) ((x) << (k) | (x) >> (32 - (k)))
    #define DS_TAKE(p) (a += ds_lookup3_word(p), b += ds_lookup3_word((p) + 4), c += ds_lookup3_word((p) + 8))
    #define DS_MIX() ( \\
        a -= c, a ^= DS_TURN(c, 4), c += b, b -= a, b ^= DS_TURN(a, 6), a += c, \\
        c -= b, c ^= DS_TURN(b, 8), b += a, a -= c, a ^= DS_TURN(c, 16), c += b, \\
        b -= a, b ^= DS_TURN(a, 19), a += c, c -= b, c ^= DS_TURN(b, 4), b += a)
    #define DS_LAST() ( \\
        c ^= b, c -= DS_TURN(b, 14), a ^= c, a -= DS_TURN(c, 11), b ^= a, b -= DS_TURN(a, 25), \\
        c ^= b, c -= DS_TURN(b, 16), a ^= c, a -= DS_TURN(c, 4), b ^= a, b -= DS_TURN(a, 14), \\
        c ^= b, c -= DS_TURN(b, 24))
    enum { DS_HEAD = 36 };
    /* 4 bytes from `hole` on, one of 0 to 32, count as zeros if there are more than 36 bytes. */
    static uint32_t ds_lookup3(const uint8_t *p, size_t n, int hole) {
        uint32_t a = 0xdeadbeef + (uint32_t) n, b = a, c = a;
        uint8_t some[DS_HEAD] = {0};
        if (hole >= 0 && n > DS_HEAD) {
            memcpy(some, p, DS_HEAD);
            memset(some + hole, 0, 4);
            DS_TAKE(some); DS_MIX();
            DS_TAKE(some + 12); DS_MIX();
            DS_TAKE(some + 24); DS_MIX();
            memset(some, 0, 12);
            p += DS_HEAD; n -= DS_HEAD;
        }
        for (; n > 12; p += 12, n -= 12) { DS_TAKE(p); DS_MIX(); }
        if (!n) return c;
        memcpy(some, p, n);
        DS_TAKE(some); DS_LAST();
        return c;
    }
    """
    uint32_t lookup3 "ds_lookup3"(const uint8_t* p, size_t n, int hole) noexcept nogil
