"""Numbers and strings as JSON text, written to the end of a buffer that is large enough."""

from libc.stdint cimport int64_t, uint8_t

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__) && defined(__GNUC__) && !defined(DS_FORMAT_PLAIN)
    #include <emmintrin.h>
    static inline int ds_special(__m128i bytes, uint8_t also) {
        const __m128i last = _mm_set1_epi8(0x1F);
        return _mm_movemask_epi8(_mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(_mm_max_epu8(bytes, last), last),
                _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)also))),
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\\\')))));
    }
    /* Copies a string, and returns 1. Returns 0 if one of its bytes needs an escape, or is `also`. */
    static inline int ds_copy_plain(uint8_t *out, const uint8_t *p, Py_ssize_t size, uint8_t also) {
        if (size >= 16) {
            const Py_ssize_t last = size - 16;
            for (Py_ssize_t i = 0; ; i += 16) {
                __m128i bytes;
                if (i > last) i = last;
                bytes = _mm_loadu_si128((const __m128i *)(p + i));
                _mm_storeu_si128((__m128i *)(out + i), bytes);
                if (ds_special(bytes, also)) return 0;
                if (i == last) return 1;
            }
        }
        if (size >= 8) {
            const __m128i bytes = _mm_unpacklo_epi64(
                _mm_loadl_epi64((const __m128i *)p), _mm_loadl_epi64((const __m128i *)(p + size - 8)));
            memcpy(out, p, 8);
            memcpy(out + size - 8, p + size - 8, 8);
            return !ds_special(bytes, also);
        }
        if (size >= 4) {
            int32_t first, end;
            memcpy(&first, p, 4);
            memcpy(&end, p + size - 4, 4);
            memcpy(out, &first, 4);
            memcpy(out + size - 4, &end, 4);
            return !ds_special(_mm_set_epi32(first, end, first, end), also);
        }
        for (Py_ssize_t i = 0; i < size; i++) {
            out[i] = p[i];
            if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\\\' || p[i] == also) return 0;
        }
        return 1;
    }
    #else
    static inline int ds_copy_plain(uint8_t *out, const uint8_t *p, Py_ssize_t size, uint8_t also) {
        for (Py_ssize_t i = 0; i < size; i++) {
            out[i] = p[i];
            if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\\\' || p[i] == also) return 0;
        }
        return 1;
    }
    #endif

    static uint8_t *ds_put_hex(uint8_t *out, uint32_t code) {
        memcpy(out, "\\\\u", 2);
        for (int i = 0; i < 4; i++) out[2 + i] = (uint8_t)"0123456789abcdef"[code >> (12 - 4 * i) & 15];
        return out + 6;
    }

    /* Writes a control character, quote or backslash as an escape of at most 6 bytes; returns its end. */
    static uint8_t *ds_put_escape(uint8_t *out, uint8_t c) {
        static const char letters[32] = {['\\b'] = 'b', ['\\t'] = 't', ['\\n'] = 'n', ['\\f'] = 'f', ['\\r'] = 'r'};
        if (c < 0x20 && !letters[c]) return ds_put_hex(out, c);
        *out++ = '\\\\';
        *out++ = c < 0x20 ? (uint8_t)letters[c] : c;
        return out;
    }

    /* Copies a string with escapes, at most 6 bytes for each byte; returns its end. */
    static uint8_t *ds_copy_escaped(uint8_t *out, const uint8_t *p, Py_ssize_t size) {
        for (Py_ssize_t i = 0; i < size; i++) {
            if (p[i] >= 0x20 && p[i] != '"' && p[i] != '\\\\') *out++ = p[i];
            else out = ds_put_escape(out, p[i]);
        }
        return out;
    }

    /* The same, with escapes for all characters except printable ASCII, from a string with 1, 2 or 4 bytes for each
       character: at most 6 bytes for each character, or 12 if characters have 4 bytes. */
    static uint8_t *ds_copy_ascii(uint8_t *out, int kind, const void *p, Py_ssize_t size) {
        for (Py_ssize_t i = 0; i < size; i++) {
            const uint32_t c = kind == 1 ? ((const uint8_t *)p)[i] : kind == 2 ? ((const uint16_t *)p)[i]
                                                                               : ((const uint32_t *)p)[i];
            if (c < 0x20 || c == '"' || c == '\\\\') out = ds_put_escape(out, (uint8_t)c);
            else if (c < 0x7F) *out++ = (uint8_t)c;
            else if (c < 0x10000) out = ds_put_hex(out, c);
            else out = ds_put_hex(ds_put_hex(out, 0xD7C0 + (c >> 10)), 0xDC00 | (c & 0x3FF));
        }
        return out;
    }

    static const char ds_pairs[201] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

    /* Writes an integer of at most 20 bytes; returns its end. */
    static uint8_t *ds_put_integer(uint8_t *out, int64_t value) {
        uint8_t digits[20], *p = digits + 20;
        uint64_t left = (uint64_t)value;
        if (value < 0) { *out++ = '-'; left = 0 - left; }
        for (; left >= 100; left /= 100) { p -= 2; memcpy(p, ds_pairs + 2 * (left % 100), 2); }
        if (left >= 10) { p -= 2; memcpy(p, ds_pairs + 2 * left, 2); }
        else *--p = (uint8_t)('0' + left);
        memcpy(out, p, (size_t)(digits + 20 - p));
        return out + (digits + 20 - p);
    }

    /* Writes a number with at most 15 digits, 6 of them after the point, like Python's repr; returns NULL for others.
       No two such decimals have the same double, so the first one that equals the value is the shortest. */
    static uint8_t *ds_put_decimal(uint8_t *out, double value) {
        static const double tens[7] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
        static const int64_t whole[7] = {1, 10, 100, 1000, 10000, 100000, 1000000};
        const double size = fabs(value);
        if (value == 0 && !signbit(value)) { memcpy(out, "0.0", 3); return out + 3; }
        if (!(size >= 1e-3 && size < 1e9)) return NULL;
        for (int places = 0; places < 7; places++) {
            const int64_t scaled = (int64_t)(size * tens[places] + 0.5);
            if ((double)scaled / tens[places] == size) {
                int64_t rest = scaled % whole[places];
                if (value < 0) *out++ = '-';
                out = ds_put_integer(out, scaled / whole[places]);
                *out++ = '.';
                if (!places) *out++ = '0';
                for (int i = places - 1; i >= 0; i--, rest /= 10) out[i] = (uint8_t)('0' + rest % 10);
                return out + places;
            }
        }
        return NULL;
    }
    """
    bint copy_plain "ds_copy_plain"(uint8_t* out, const uint8_t* p, Py_ssize_t size, uint8_t also) noexcept nogil
    uint8_t* copy_escaped "ds_copy_escaped"(uint8_t* out, const uint8_t* p, Py_ssize_t size) noexcept nogil
    uint8_t* copy_ascii "ds_copy_ascii"(uint8_t* out, int kind, const void* p, Py_ssize_t size) noexcept nogil
    uint8_t* put_integer "ds_put_integer"(uint8_t* out, int64_t value) noexcept nogil
    uint8_t* put_decimal "ds_put_decimal"(uint8_t* out, double value) noexcept nogil
