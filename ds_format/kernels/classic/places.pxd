"""Where variables lie, as far as that is usual; see `classic.header`."""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #define DS_MAX_SIZE ((uint64_t) 1 << 61)
    """
    const uint64_t MAX_SIZE "DS_MAX_SIZE"  # bytes of which sums and products do not wrap; no file has as many


cdef struct Place:
    uint64_t begin
    uint64_t size  # bytes; of a record variable those of one record
    bint is_record


cdef inline uint64_t check_places(const Place* places, uint64_t n, uint64_t n_records, uint64_t header_end) except? 0:
    """Return the bytes of a record, if all variables lie in file order and apart."""
    cdef uint64_t i, step = 0, n_variables = 0, end = header_end, first = 0, last = 0
    cdef const Place* place
    for i in range(n):
        place = &places[i]
        if place.is_record:
            n_variables += 1
            step += (place.size + 3) & ~<uint64_t> 3
            last = place.size
        else:
            if place.begin < end:
                raise EOFError
            end = place.begin + place.size
        if step > MAX_SIZE or end > MAX_SIZE:
            raise EOFError
    if n_variables == 1:
        step = last
    if n_records == 0:
        return step
    for i in range(n):
        place = &places[i]
        if place.is_record:
            if place.begin < end:
                raise EOFError
            if first == 0:
                first = place.begin
            end = place.begin + place.size
            if end > first + step:
                raise EOFError
    return step
