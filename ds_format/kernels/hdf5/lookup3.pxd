"""The checksum of metadata in HDF5 files: `hashlittle` of Bob Jenkins' lookup3 (2006, public domain), from 0 on.

One alone, or several side by side.
"""

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
    enum { DS_HEAD = 36, DS_LANES = 4 };
    typedef struct { uint32_t a, b, c; const uint8_t *p; size_t n; } ds_lookup3_state;
    /* 4 bytes from `hole` on, one of 0 to 32, count as zeros if there are more than 36 bytes. */
    static ds_lookup3_state ds_lookup3_begin(const uint8_t *p, size_t n, int hole) {
        uint32_t a = 0xdeadbeef + (uint32_t) n, b = a, c = a;
        uint8_t some[DS_HEAD];
        if (hole >= 0 && n > DS_HEAD) {
            memcpy(some, p, DS_HEAD);
            memset(some + hole, 0, 4);
            DS_TAKE(some); DS_MIX();
            DS_TAKE(some + 12); DS_MIX();
            DS_TAKE(some + 24); DS_MIX();
            p += DS_HEAD; n -= DS_HEAD;
        }
        ds_lookup3_state state = {a, b, c, p, n};
        return state;
    }
    static uint32_t ds_lookup3_end(ds_lookup3_state state) {
        uint32_t a = state.a, b = state.b, c = state.c;
        const uint8_t *p = state.p;
        size_t n = state.n;
        uint8_t some[12] = {0};
        for (; n > 12; p += 12, n -= 12) { DS_TAKE(p); DS_MIX(); }
        if (!n) return c;
        memcpy(some, p, n);
        DS_TAKE(some); DS_LAST();
        return c;
    }
    static inline uint32_t ds_lookup3(const uint8_t *p, size_t n, int hole) {
        return ds_lookup3_end(ds_lookup3_begin(p, n, hole));
    }
    #if defined(__SSE2__) && defined(__GNUC__) && !defined(DS_FORMAT_PLAIN)
    #include <emmintrin.h>
    typedef uint32_t ds_lookup3_lanes __attribute__((vector_size(16)));
    /* Each step of a sum waits for the one before, so four of them take hardly longer than one. */
    static void ds_lookup3_step(ds_lookup3_state *states, size_t rounds) {
        ds_lookup3_lanes a, b, c;
        const uint8_t *p0 = states[0].p, *p1 = states[1].p, *p2 = states[2].p, *p3 = states[3].p;
        int i;
        for (i = 0; i < DS_LANES; i++) {
            a[i] = states[i].a, b[i] = states[i].b, c[i] = states[i].c;
            states[i].p += 12 * rounds, states[i].n -= 12 * rounds;
        }
        for (; rounds; rounds--, p0 += 12, p1 += 12, p2 += 12, p3 += 12) {
            __m128i v0 = _mm_loadu_si128((const __m128i *) p0), v1 = _mm_loadu_si128((const __m128i *) p1);
            __m128i v2 = _mm_loadu_si128((const __m128i *) p2), v3 = _mm_loadu_si128((const __m128i *) p3);
            __m128i low = _mm_unpacklo_epi32(v0, v1), more = _mm_unpacklo_epi32(v2, v3);
            a += (ds_lookup3_lanes) _mm_unpacklo_epi64(low, more);
            b += (ds_lookup3_lanes) _mm_unpackhi_epi64(low, more);
            c += (ds_lookup3_lanes) _mm_unpacklo_epi64(_mm_unpackhi_epi32(v0, v1), _mm_unpackhi_epi32(v2, v3));
            DS_MIX();
        }
        for (i = 0; i < DS_LANES; i++) states[i].a = a[i], states[i].b = b[i], states[i].c = c[i];
    }
    static inline size_t ds_lookup3_rounds(size_t n) { return n < 16 ? 0 : (n - 16) / 12 + 1; }
    #else
    static void ds_lookup3_step(ds_lookup3_state *states, size_t rounds) { (void) states; (void) rounds; }
    static inline size_t ds_lookup3_rounds(size_t n) { (void) n; return 0; }
    #endif
    typedef struct { const uint8_t *data; size_t size; int hole; uint32_t found; } ds_lookup3_sum;
    static void ds_lookup3_all(ds_lookup3_sum *sums, int n) {
        ds_lookup3_state states[DS_LANES];
        int owners[DS_LANES], n_lanes = 0, next = 0, i;
        for (;;) {
            size_t rounds = SIZE_MAX;
            for (; n_lanes < DS_LANES && next < n; next++) {
                owners[n_lanes] = next;
                states[n_lanes++] = ds_lookup3_begin(sums[next].data, sums[next].size, sums[next].hole);
            }
            if (n_lanes < 2) break;
            for (i = 0; i < n_lanes; i++) {
                size_t own = ds_lookup3_rounds(states[i].n);
                if (own < rounds) rounds = own;
            }
            for (i = n_lanes; i < DS_LANES; i++) states[i] = states[0];  /* not used */
            if (rounds) ds_lookup3_step(states, rounds);
            for (i = n_lanes - 1; i >= 0; i--)
                if (!ds_lookup3_rounds(states[i].n)) {
                    sums[owners[i]].found = ds_lookup3_end(states[i]);
                    n_lanes--;
                    states[i] = states[n_lanes], owners[i] = owners[n_lanes];
                }
        }
        for (i = 0; i < n_lanes; i++) sums[owners[i]].found = ds_lookup3_end(states[i]);
    }
    """
    ctypedef struct Sum "ds_lookup3_sum":
        const uint8_t* data
        size_t size
        int hole
        uint32_t found
    uint32_t lookup3_but "ds_lookup3"(const uint8_t* p, size_t n, int hole) noexcept nogil
    void lookup3_all "ds_lookup3_all"(Sum* sums, int n) noexcept nogil


cdef inline uint32_t lookup3(const uint8_t* p, size_t n) noexcept nogil:
    """Return the checksum of some bytes."""
    return lookup3_but(p, n, -1)
