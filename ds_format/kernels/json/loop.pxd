"""The grammar of JSON (RFC 8259) as one loop in C, used by `check` only.

Strings are not scanned byte by byte. 64 bytes at a time are converted to 64 bits, in which quotes, backslashes and
control characters are marked. The loop goes from one mark to the next. It takes all marks in order, also those outside
of strings, so that the next mark is never before the current token.
"""

from libc.stdint cimport uint8_t

from .scan cimport Checked, Scan

cdef extern from *:
    """
    #if defined(__SSE2__) && defined(__GNUC__) && !defined(DS_FORMAT_PLAIN)
    #include <emmintrin.h>
    static inline uint64_t ds_marks16(const uint8_t *p, int *high) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)p), last = _mm_set1_epi8(0x1F);
        *high |= _mm_movemask_epi8(bytes);
        return (uint64_t)_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(_mm_max_epu8(bytes, last), last),
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\\\')))));
    }
    static inline uint64_t ds_marks64(const uint8_t *p, int *high) {
        return ds_marks16(p, high) | ds_marks16(p + 16, high) << 16 | ds_marks16(p + 32, high) << 32
            | ds_marks16(p + 48, high) << 48;
    }
    #else
    static inline uint64_t ds_marks64(const uint8_t *p, int *high) {
        uint64_t marks = 0;
        for (int i = 0; i < 64; i++) {
            marks |= (uint64_t)(p[i] < 0x20 || p[i] == '"' || p[i] == '\\\\') << i;
            *high |= p[i] & 0x80;
        }
        return marks;
    }
    #endif
    #if defined(__GNUC__)
    #define ds_lowest64(x) __builtin_ctzll(x)
    #define ds_likely(x) __builtin_expect(!!(x), 1)
    #define ds_apart __attribute__((noinline))
    #else
    static int ds_lowest64(uint64_t x) { int n = 0; for (; !(x & 1); x >>= 1) n++; return n; }
    #define ds_likely(x) (x)
    #define ds_apart
    #endif

    /* Returns the marks of 64 bytes. */
    static ds_apart uint64_t ds_block(ds_scan *s, const uint8_t *block) {
        uint8_t last[64];
        uint64_t marks;
        int high = 0;
        if (s->end - block < 64) {
            memset(last, ' ', 64);
            if (block < s->end) memcpy(last, block, (size_t)(s->end - block));
            block = last;
        }
        marks = ds_marks64(block, &high);
        s->block_high = high;
        s->high |= high;
        return marks;
    }

    /* The marks from p on. */
    static void ds_from(ds_scan *s, const uint8_t *p) {
        s->p = s->block = p;
        s->high = 0;
        s->marks = ds_block(s, p);
    }

    /* The next mark, or the end. */
    static inline const uint8_t *ds_mark(ds_scan *s) {
        while (!s->marks) {
            if (s->end - s->block <= 64) return s->end;
            s->marks = ds_block(s, s->block += 64);
        }
        return s->block + ds_lowest64(s->marks);
    }

    static inline void ds_take(ds_scan *s) {
        (void)ds_mark(s);
        s->marks &= s->marks - 1;
    }

    static int ds_hex4(const uint8_t *p, const uint8_t *end) {
        int value = 0;
        if (end - p < 4) return -1;
        for (int i = 0; i < 4; i++) {
            const int c = p[i], letter = c | 0x20;
            if (c >= '0' && c <= '9') value = value << 4 | (c - '0');
            else if (letter >= 'a' && letter <= 'f') value = value << 4 | (letter - 'a' + 10);
            else return -1;
        }
        return value;
    }

    /* Steps over the escape at q, and returns the next mark; NULL if it is not an escape. */
    static const uint8_t *ds_escape(ds_scan *s, const uint8_t *q, int *status) {
        int code;
        ds_take(s);
        *status = DS_ESCAPE;
        if (s->end - q < 2) return NULL;
        switch (q[1]) {
        case '"': case '\\\\': ds_take(s); break;
        case '/': case 'b': case 'f': case 'n': case 'r': case 't': break;
        case 'u':
            if ((code = ds_hex4(q + 2, s->end)) < 0) return NULL;
            if ((code & 0xF800) == 0xD800) {
                *status = DS_SURROGATE;
                if (code >= 0xDC00 || s->end - q < 12 || q[6] != '\\\\' || q[7] != 'u') return NULL;
                if ((ds_hex4(q + 8, s->end) & ~0x3FF) != 0xDC00) return NULL;
                ds_take(s);
            }
            break;
        default: return NULL;
        }
        *status = DS_VALID;
        return ds_mark(s);
    }

    /* Returns whether a key is _id; any of its characters may be an escape. */
    static int ds_is_id(const uint8_t *key, Py_ssize_t size) {
        if (ds_likely(size == 3)) return !memcmp(key, "_id", 3);
        if (size < 3 || size > 18) return 0;
        for (int i = 0; i < 3; i++) {
            int step = size && *key == "_id"[i] ? 1 : 0;
            if (size >= 6 && key[0] == '\\\\' && key[1] == 'u' && ds_hex4(key + 2, key + 6) == "_id"[i]) step = 6;
            if (!step) return 0;
            key += step;
            size -= step;
        }
        return size == 0;
    }

    /* Returns whether an integer needs more than 64 bits, or a number is infinite as a double. */
    static int ds_beyond(const uint8_t *p, const uint8_t *end) {
        const int negative = *p == '-';
        const uint8_t *q, *first;
        int64_t exponent = 0, places = 0;
        int sign = 1, n = 0;
        char digits[18] = "00000000000000000";
        p += negative;
        for (q = p; q < end && *q >= '0' && *q <= '9'; q++) {}
        if (q == end) {
            if (q - p != (negative ? 19 : 20)) return q - p > 19;
            return memcmp(p, negative ? "9223372036854775808" : "18446744073709551615", (size_t)(q - p)) > 0;
        }
        for (first = p; first < end && (*first == '0' || *first == '.'); first++) {}
        places = first < q ? q - first - 1 : q - first;  /* after a point: minus the zeros there, and minus one */
        for (q = first; q < end && (*q | 0x20) != 'e'; q++)
            if (*q != '.' && n < 17) digits[n++] = (char)*q;
        if (q < end) {
            q++;
            if (*q == '-' || *q == '+') sign = *q++ == '-' ? -1 : 1;
            for (; q < end; q++) exponent = exponent < 1 << 30 ? 10 * exponent + (*q - '0') : exponent;
        }
        exponent = sign * exponent + places;
        return n && (exponent > 308 || (exponent == 308 && memcmp(digits, "17976931348623157", 17) > 0));
    }

    #define DS_AT (p < end ? *p : 0)
    #define DS_IS_DIGIT(c) ((uint8_t)((c) - '0') < 10)
    #define DS_FAIL(fault) do { out->status = (fault); goto failed; } while (0)
    /* A line feed is white space unless it ends a line. */
    #define DS_SKIP() \\
        while ((c = DS_AT) <= ' ' && p < end && (c == ' ' || c == '\\t' || c == '\\r' || (c == '\\n' && !lines))) { \\
            if (c != ' ') DS_TAKE(); \\
            p++; \\
        }
    /* The marks are kept in registers. They are stored in `s` only while another function uses them. */
    #define DS_MARK(mark) \\
        do { \\
            while (!marks && end - block > 64) marks = ds_block(s, block += 64); \\
            (mark) = marks ? block + ds_lowest64(marks) : end; \\
        } while (0)
    #define DS_TAKE() \\
        do { \\
            while (!marks && end - block > 64) marks = ds_block(s, block += 64); \\
            marks &= marks - 1; \\
        } while (0)
    /* Steps over a string, from its first character to after its closing quote. */
    #define DS_STRING() \\
        do { \\
            const uint8_t *mark; \\
            DS_TAKE(); \\
            DS_MARK(mark); \\
            escaped = 0; \\
            while (!ds_likely(mark < end && *mark == '"')) { \\
                if (mark == end || *mark != '\\\\') { p = mark; DS_FAIL(DS_CONTROL); } \\
                escaped = 1; \\
                p = mark; \\
                s->marks = marks; \\
                s->block = block; \\
                if (!(mark = ds_escape(s, mark, &out->status))) goto failed; \\
                marks = s->marks; \\
                block = s->block; \\
            } \\
            marks &= marks - 1; \\
            p = mark + 1; \\
        } while (0)

    /* Checks one object, up to the end of its line or of the text. Afterwards, s->p is at this end. */
    static void ds_object(ds_scan *s, ds_checked *out, const int lines) {
        const uint8_t *p = s->p, *const end = s->end, *const start = p, *block = s->block, *from;
        uint64_t marks = s->marks;
        uint8_t kinds[DS_MAX_DEPTH], kind, c;
        int depth = 0, escaped, number;

        memset(out, 0, sizeof *out);
        out->id_start = -1;
        DS_SKIP();
        if (c != '{') DS_FAIL(p == end || c == '\\n' ? DS_BLANK : DS_NOT_OBJECT);
    open_object:
        if (depth == DS_MAX_DEPTH) DS_FAIL(DS_DEPTH);
        kinds[depth++] = kind = '}';
        p++;
        DS_SKIP();
        if (c == '}') goto close;
    key:
        if (c != '"') DS_FAIL(DS_KEY);
        from = p + 1;
        DS_STRING();
        if (depth == 1 && ds_is_id(from, p - 1 - from)) {
            DS_SKIP();
            if (c != ':') DS_FAIL(DS_COLON);
            p++;
            DS_SKIP();
            out->flags = (out->flags & ~(DS_ID_STRING | DS_ID_ESCAPED)) | DS_ID_FOUND
                | (out->flags & DS_ID_FOUND ? DS_ID_TWICE : 0);
            out->id_start = p - start;
            out->id_size = 0;
            if (c != '"') goto value;
            DS_STRING();
            out->id_start++;
            out->id_size = p - 1 - start - out->id_start;
            out->flags |= escaped ? DS_ID_STRING | DS_ID_ESCAPED : DS_ID_STRING;
            goto after;
        }
        DS_SKIP();
        if (c != ':') DS_FAIL(DS_COLON);
        p++;
        DS_SKIP();
    value:
        if (c == '"') {  /* tested first, because processors predict this better than the target of a switch */
            DS_STRING();
            goto after;
        }
        if (DS_IS_DIGIT(c) || c == '-') {
            from = p;
            if (c == '-') { p++; c = DS_AT; }
            if (c == 'I') DS_FAIL(DS_WORD);
            if (!DS_IS_DIGIT(c)) DS_FAIL(DS_NUMBER);
            p++;
            if (c != '0') while (c = DS_AT, DS_IS_DIGIT(c)) p++;
            else if (c = DS_AT, DS_IS_DIGIT(c)) DS_FAIL(DS_NUMBER);
            number = p - from >= 19;
            if (c == '.') {
                p++;
                if (c = DS_AT, !DS_IS_DIGIT(c)) DS_FAIL(DS_NUMBER);
                do p++; while (c = DS_AT, DS_IS_DIGIT(c));
            }
            if (c == 'e' || c == 'E') {
                p++;
                c = DS_AT;
                if (c == '-' || c == '+') { p++; c = DS_AT; }
                if (!DS_IS_DIGIT(c)) DS_FAIL(DS_NUMBER);
                do p++; while (c = DS_AT, DS_IS_DIGIT(c));
                number = 1;
            }
            if (number && ds_beyond(from, p)) out->flags |= DS_NUMBER_RANGE;
            goto after;
        }
        switch (c) {
        case '{':
            goto open_object;
        case '[':
            if (depth == DS_MAX_DEPTH) DS_FAIL(DS_DEPTH);
            kinds[depth++] = kind = ']';
            p++;
            DS_SKIP();
            if (c == ']') goto close;
            goto value;
        case 't':
            if (end - p < 4 || memcmp(p, "true", 4)) DS_FAIL(DS_VALUE);
            p += 4;
            break;
        case 'f':
            if (end - p < 5 || memcmp(p, "false", 5)) DS_FAIL(DS_VALUE);
            p += 5;
            break;
        case 'n':
            if (end - p < 4 || memcmp(p, "null", 4)) DS_FAIL(DS_VALUE);
            p += 4;
            break;
        case 'N': case 'I':
            DS_FAIL(DS_WORD);
        default:
            DS_FAIL(DS_VALUE);
        }
    after:
        DS_SKIP();
        if (c == ',') {
            p++;
            DS_SKIP();
            if (kind == '}') goto key;
            goto value;
        }
        if (c != kind) DS_FAIL(DS_COMMA);
    close:
        p++;
        if (--depth) {
            kind = kinds[depth - 1];
            goto after;
        }
        DS_SKIP();
        if (p < end && c != '\\n') DS_FAIL(DS_BEHIND);
        if (p > start && p[-1] == '\\r') out->flags |= DS_CR;
        goto done;
    failed:
        if (p == end || (lines && *p == '\\n')) {
            if (out->status != DS_BLANK) out->status = DS_CUT;
        }
        out->error = p - start;
        if (lines && p < end) {
            p = (const uint8_t *)memchr(p, '\\n', (size_t)(end - p));
            if (!p) p = end;
        } else p = end;
    done:
        out->size = p - start;
        s->p = p;
        s->block = block;
        s->marks = marks;
    }
    """
    void scan_from "ds_from"(Scan* s, const uint8_t* p) noexcept nogil
    void take_mark "ds_take"(Scan* s) noexcept nogil
    void scan_object "ds_object"(Scan* s, Checked* out, bint lines) noexcept nogil
