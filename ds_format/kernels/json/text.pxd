"""Strings as JSON text, written to the end of a buffer that is large enough."""

from libc.stdint cimport uint8_t

cdef extern from *:
    """
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
    """
    bint copy_plain "ds_copy_plain"(uint8_t* out, const uint8_t* p, Py_ssize_t size, uint8_t also) noexcept nogil
    uint8_t* copy_escaped "ds_copy_escaped"(uint8_t* out, const uint8_t* p, Py_ssize_t size) noexcept nogil
    uint8_t* copy_ascii "ds_copy_ascii"(uint8_t* out, int kind, const void* p, Py_ssize_t size) noexcept nogil
