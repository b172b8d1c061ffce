"""How the values of a chunk get to their places in an array; see `chunks`."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from ..common.filling cimport PIECE, Search, search_values
from ..common.inflate cimport inflate
from ..common.words cimport swap_words

cdef extern from *:
    """
    #include <stddef.h>
    #if defined(__SSE2__) && !defined(DS_FORMAT_PLAIN)
    #include <emmintrin.h>
    #define DS_LOAD(p) _mm_loadu_si128((const __m128i *)(p))
    #define DS_STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
    #define DS_LO(a, b) _mm_unpacklo_epi8(a, b)
    #define DS_HI(a, b) _mm_unpackhi_epi8(a, b)
    /* Each puts together whole groups of 16 values, and returns the first one that is left. `step` leads from one
       byte of a value to the next, and may be negative. */
    static Py_ssize_t ds_join2(const unsigned char *p, ptrdiff_t step, unsigned char *to, Py_ssize_t n) {
        Py_ssize_t i;
        for (i = 0; i + 16 <= n; i += 16, p += 16, to += 32) {
            __m128i a = DS_LOAD(p), b = DS_LOAD(p + step);
            DS_STORE(to, DS_LO(a, b));
            DS_STORE(to + 16, DS_HI(a, b));
        }
        return i;
    }
    static void ds_join_quarters(__m128i a, __m128i b, __m128i c, __m128i d, unsigned char *to) {
        __m128i even = DS_LO(a, c), odd = DS_LO(b, d);
        DS_STORE(to, DS_LO(even, odd));
        DS_STORE(to + 16, DS_HI(even, odd));
        even = DS_HI(a, c), odd = DS_HI(b, d);
        DS_STORE(to + 32, DS_LO(even, odd));
        DS_STORE(to + 48, DS_HI(even, odd));
    }
    static Py_ssize_t ds_join4(const unsigned char *p, ptrdiff_t step, unsigned char *to, Py_ssize_t n) {
        Py_ssize_t i;
        for (i = 0; i + 16 <= n; i += 16, p += 16, to += 64)
            ds_join_quarters(DS_LOAD(p), DS_LOAD(p + step), DS_LOAD(p + 2 * step), DS_LOAD(p + 3 * step), to);
        return i;
    }
    static Py_ssize_t ds_join8(const unsigned char *p, ptrdiff_t step, unsigned char *to, Py_ssize_t n) {
        Py_ssize_t i;
        for (i = 0; i + 16 <= n; i += 16, p += 16, to += 128) {
            __m128i lo[4], hi[4];
            int k;
            for (k = 0; k < 4; k++) {
                __m128i a = DS_LOAD(p + k * step), b = DS_LOAD(p + (k + 4) * step);
                lo[k] = DS_LO(a, b), hi[k] = DS_HI(a, b);
            }
            ds_join_quarters(lo[0], lo[1], lo[2], lo[3], to);
            ds_join_quarters(hi[0], hi[1], hi[2], hi[3], to + 64);
        }
        return i;
    }
    static Py_ssize_t ds_join_groups(
        const unsigned char *p, ptrdiff_t step, unsigned char *to, Py_ssize_t n, int size) {
        return size == 2 ? ds_join2(p, step, to, n)
             : size == 4 ? ds_join4(p, step, to, n)
             : size == 8 ? ds_join8(p, step, to, n) : 0;
    }
    #else
    static Py_ssize_t ds_join_groups(
        const unsigned char *p, ptrdiff_t step, unsigned char *to, Py_ssize_t n, int size) {
        (void)p; (void)step; (void)to; (void)n; (void)size;
        return 0;
    }
    #endif
    """
    Py_ssize_t join_groups "ds_join_groups"(
        const uint8_t* first, Py_ssize_t step, uint8_t* to, Py_ssize_t n, int size) noexcept nogil

cdef enum:
    MAX_RANK = 32  # H5S_MAX_RANK


cdef struct Form:
    Py_ssize_t n  # values of the chunk
    int size  # bytes of a value
    bint shuffled
    bint swapped


cdef struct Job:
    uint8_t* target  # of the array
    uint8_t* inflated  # space for a chunk; NULL: chunks did not go through the filter "deflate"
    int64_t size  # bytes of a chunk in memory
    int rank
    Form form
    int64_t[MAX_RANK] shape, target_shape  # of a chunk, and of the array
    Search* search  # NULL: there is nothing to search for


cdef inline void join(const uint8_t* first, uint8_t* to, Py_ssize_t n, Form form) noexcept nogil:
    """Put together values whose first bytes begin at a place."""
    cdef Py_ssize_t step = form.n, i
    cdef int k
    if form.swapped:
        first += (form.size - 1) * step
        step = -step
    for i in range(join_groups(first, step, to, n, form.size), n):
        for k in range(form.size):
            to[i * form.size + k] = first[k * step + i]


cdef inline void _run(
    const uint8_t* chunk, Py_ssize_t i, uint8_t* to, Py_ssize_t n, Form form, Search* search,
) noexcept nogil:
    """Copy values that follow one another, from the value `i` of the chunk on; search them while they are cached."""
    cdef Py_ssize_t m
    if search == NULL or search.found:
        _copy(chunk, i, to, n, form)
        return
    while n > 0:
        m = min(n, <Py_ssize_t> PIECE // form.size)
        _copy(chunk, i, to, m, form)
        search_values(search, to, m)
        i += m
        to += m * form.size
        n -= m


cdef inline void _copy(const uint8_t* chunk, Py_ssize_t i, uint8_t* to, Py_ssize_t n, Form form) noexcept nogil:
    if form.shuffled and form.size > 1:
        join(chunk + i, to, n, form)
    elif not form.swapped or form.size == 1:
        memcpy(to, chunk + i * form.size, n * form.size)
    else:
        swap_words(chunk + i * form.size, to, n, form.size)


cdef inline void put_part(
    const uint8_t* chunk, const int64_t* shape, uint8_t* target, const int64_t* target_shape, const int64_t* part,
    int rank, Form form, Search* search,
) noexcept nogil:
    """Copy a part of a chunk to its place in an array, and search its values; NULL: there is nothing to search for."""
    cdef const int64_t* counts = part + rank
    cdef int64_t[MAX_RANK] index, steps, target_steps
    cdef int64_t inner = 1, target_inner = 1, run = 1, i = 0, j = 0
    cdef int axis, outer = rank
    for axis in range(rank - 1, -1, -1):
        steps[axis], target_steps[axis], index[axis] = inner, target_inner, 0
        inner, target_inner = inner * shape[axis], target_inner * target_shape[axis]
        i, j = i + part[axis] * steps[axis], j + part[2 * rank + axis] * target_steps[axis]
        if not counts[axis]:
            return
        # Values follow one another along the last axes that are taken whole, and the one before these.
        if outer == axis + 1 and steps[axis] == run and target_steps[axis] == run:
            run *= counts[axis]
            outer = axis
    while True:
        _run(chunk, i, target + j * form.size, run, form, search)
        axis = outer - 1
        while axis >= 0:
            index[axis] += 1
            i, j = i + steps[axis], j + target_steps[axis]
            if index[axis] < counts[axis]:
                break
            i, j = i - counts[axis] * steps[axis], j - counts[axis] * target_steps[axis]
            index[axis] = 0
            axis -= 1
        if axis < 0:
            return


cdef inline bint put_chunk(const Job* job, const uint8_t* data, int64_t size, const int64_t* part) noexcept nogil:
    """Copy a part of a chunk, given by its bytes in the file, to its place; return whether the chunk is right."""
    cdef const uint8_t* chunk = data
    if job.inflated != NULL:
        chunk = job.inflated if inflate(data, size, job.inflated, job.size) else NULL
    elif size != job.size:
        chunk = NULL
    if chunk != NULL:
        put_part(chunk, job.shape, job.target, job.target_shape, part, job.rank, job.form, job.search)
    return chunk != NULL


cdef inline int check_part(const int64_t* part, const int64_t* shape, const int64_t* target_shape, int rank) except -1:
    """Raise a ValueError if a part is not inside of the chunk or the array."""
    cdef int axis
    for axis in range(rank):
        _check_axis(part[axis], part[rank + axis], shape[axis])
        _check_axis(part[2 * rank + axis], part[rank + axis], target_shape[axis])
    return 0


cdef inline int _check_axis(int64_t start, int64_t n, int64_t size) except -1:
    if start < 0 or n < 0 or n > size or start > size - n:
        raise ValueError(f"a part: found {n} values from {start} on, expected no more than {size}")
    return 0


cdef inline int64_t product(int64_t n, int64_t size, int64_t limit) except -1:
    """Return `n * size`, which must not be more than there is; sizes of axes are not negative."""
    if n and size > limit // n:
        raise ValueError(f"an axis of {size} times {n} bytes does not fit {limit} bytes")
    return n * size
