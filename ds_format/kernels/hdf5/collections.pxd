"""Collections of the global heap, which hold values of variable length."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memmove

from .heaps cimport Bytes
from .known cimport Known, check, count_visit, grown, signed, u16, u32, u64

cdef enum:
    LEAST_COLLECTION = 4096  # bytes: H5HG_MINSIZE


cdef struct Object:
    uint32_t index
    const uint8_t* data
    uint64_t size


cdef struct Collection:
    uint64_t address
    Object* objects  # by index
    Py_ssize_t n


cdef struct Collections:
    Collection* items  # by address
    Py_ssize_t n, room, last


cdef inline void free_collections(Collections* c) noexcept:
    cdef Py_ssize_t i
    for i in range(c.n):
        free(c.items[i].objects)
    free(c.items)
    c.items, c.n, c.room, c.last = NULL, 0, 0, 0


cdef inline int variable_value(Known* k, Collections* c, const uint8_t* p, uint32_t item_size, Bytes* found) except -1:
    """Find a value of variable length: a count of items, then where they are."""
    cdef uint64_t n = u32(p), address = u64(p + 4)
    cdef uint32_t index = u32(p + 12)
    cdef Collection* collection
    cdef Py_ssize_t low = 0, high, middle
    found.data, found.size = p, 0
    if n == 0 or address == 0:
        return 0
    collection = _collection(k, c, address)
    high = collection.n
    while low < high:
        middle = (low + high) // 2
        if collection.objects[middle].index < index:
            low = middle + 1
        else:
            high = middle
    check(k, low < collection.n and collection.objects[low].index == index,
          b"global heap collection", address, b"an object is missing")
    check(k, n * item_size <= collection.objects[low].size, b"global heap collection", address,
          b"an object is too short")
    found.data, found.size = collection.objects[low].data, n * item_size
    return 0


cdef inline Collection* _collection(Known* k, Collections* c, uint64_t address) except NULL:
    """Return a collection, which is read once."""
    cdef Py_ssize_t low = 0, high = c.n, middle
    cdef Collection new
    if c.n and c.items[c.last].address == address:
        return &c.items[c.last]
    while low < high:
        middle = (low + high) // 2
        if c.items[middle].address < address:
            low = middle + 1
        else:
            high = middle
    if low == c.n or c.items[low].address != address:
        if c.n == c.room:
            c.items = <Collection*> grown(c.items, &c.room, sizeof(Collection))
        new.address = address
        _read(k, &new)
        memmove(&c.items[low + 1], &c.items[low], (c.n - low) * sizeof(Collection))
        c.items[low] = new
        c.n += 1
    c.last = low
    return &c.items[low]


cdef inline int _compare(const void* a, const void* b) noexcept nogil:
    cdef uint32_t one = (<const Object*> a).index, other = (<const Object*> b).index
    return (one > other) - (one < other)


cdef inline int _read(Known* k, Collection* new) except -1:
    """List the objects of a collection."""
    cdef const uint8_t* p = signed(k, new.address, 16, b"GCOL", 1, b"global heap collection")
    cdef uint64_t size = u64(p + 8), at = 16, length
    cdef Py_ssize_t i
    cdef bint is_sorted = True
    check(k, LEAST_COLLECTION <= size <= k.size, b"global heap collection", new.address, b"it has a wrong size")
    p = signed(k, new.address, size, b"GCOL", 1, b"global heap collection")
    count_visit(k, size, b"global heap collection", new.address)
    new.n = 0
    while size - at >= 16 and u16(p + at) != 0:
        length = u64(p + at + 8)
        check(k, length <= size - at - 16, b"global heap collection", new.address, b"an object is not within it")
        at = min(at + 16 + ((length + 7) & ~<uint64_t> 7), size)
        new.n += 1
    new.objects = <Object*> malloc((new.n + 1) * sizeof(Object))
    if new.objects == NULL:
        raise MemoryError
    at = 16
    for i in range(new.n):
        length = u64(p + at + 8)
        new.objects[i] = Object(u16(p + at), p + at + 16, length)
        if i and new.objects[i].index <= new.objects[i - 1].index:
            is_sorted = False
        at = min(at + 16 + ((length + 7) & ~<uint64_t> 7), size)
    if not is_sorted:
        qsort(new.objects, new.n, sizeof(Object), &_compare)
    return 0
