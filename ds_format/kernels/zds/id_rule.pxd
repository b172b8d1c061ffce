"""The rule for ids that are written: letters, digits, `_`, `-` and `.`, at most 255; no dot first, no two together."""

from libc.stdint cimport uint8_t

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
