"""The first 16 bytes of the BLAKE2s digest of 32 bytes, with or without a salt (RFC 7693)."""

from libc.stdint cimport uint8_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    static const uint32_t ds_blake2s_iv[8] = {
        0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

    static inline uint32_t ds_load32(const uint8_t* p) {
        return p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
    }

    static inline uint64_t ds_digest64(uint32_t low, uint32_t high) {  /* 8 bytes of the digest, as big-endian number */
        uint64_t value = (uint64_t) high << 32 | low, swapped = 0;
        for (int i = 0; i < 8; i++)
            swapped = swapped << 8 | (value >> (8 * i) & 0xFF);
        return swapped;
    }

    #define DS_TURN(x, n) ((x) >> (n) | (x) << (32 - (n)))
    #define DS_MIX(a, b, c, d, x, y) \\
        a += b + m[x]; d = DS_TURN(d ^ a, 16); c += d; b = DS_TURN(b ^ c, 12); \\
        a += b + m[y]; d = DS_TURN(d ^ a, 8); c += d; b = DS_TURN(b ^ c, 7);
    #define DS_ROUND(a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q) \\
        DS_MIX(v[0], v[4], v[8], v[12], a, b) DS_MIX(v[1], v[5], v[9], v[13], c, d) \\
        DS_MIX(v[2], v[6], v[10], v[14], e, f) DS_MIX(v[3], v[7], v[11], v[15], g, h) \\
        DS_MIX(v[0], v[5], v[10], v[15], i, j) DS_MIX(v[1], v[6], v[11], v[12], k, l) \\
        DS_MIX(v[2], v[7], v[8], v[13], n, o) DS_MIX(v[3], v[4], v[9], v[14], p, q)

    static void ds_blake2s_block(uint32_t h[8], const uint8_t* block, uint64_t end, int last) {
        uint32_t m[16], v[16];
        for (int i = 0; i < 16; i++)
            m[i] = ds_load32(block + 4 * i);
        for (int i = 0; i < 8; i++) {
            v[i] = h[i];
            v[i + 8] = ds_blake2s_iv[i];
        }
        v[12] ^= (uint32_t) end;
        v[13] ^= (uint32_t) (end >> 32);
        if (last)
            v[14] = ~v[14];
        DS_ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
        DS_ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
        DS_ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4)
        DS_ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8)
        DS_ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13)
        DS_ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9)
        DS_ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11)
        DS_ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10)
        DS_ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5)
        DS_ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0)
        for (int i = 0; i < 8; i++)
            h[i] ^= v[i] ^ v[i + 8];
    }

    static void ds_blake2s(const uint8_t* data, uint64_t size, const uint8_t* salt, uint64_t* first, uint64_t* second) {
        uint32_t h[8];
        uint8_t block[64];
        uint64_t done = 0;
        memcpy(h, ds_blake2s_iv, sizeof h);
        h[0] ^= 0x01010020;  /* sequential, no key, 32 bytes of digest */
        if (salt) {
            h[4] ^= ds_load32(salt);
            h[5] ^= ds_load32(salt + 4);
        }
        for (; size - done > 64; done += 64)
            ds_blake2s_block(h, data + done, done + 64, 0);
        memset(block, 0, 64);
        if (size > done)
            memcpy(block, data + done, size - done);
        ds_blake2s_block(h, block, size, 1);
        *first = ds_digest64(h[0], h[1]);
        *second = ds_digest64(h[2], h[3]);
    }
    """
    void blake2s "ds_blake2s"(
        const uint8_t* data, uint64_t size, const uint8_t* salt, uint64_t* first, uint64_t* second
    ) noexcept nogil
