"""The definitions of a classic file → its header and the places of its values; a small file as a whole.

The grammar is that of `ds_format.classic.format`. Values are where the netCDF library has them: after the header, first
those of all variables without the record dimension, then the records, each with a part of every other variable. All of
these are padded to 4 bytes, except if there is a single record variable.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_RawFree
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from ..common.output cimport Output, grow, put_bytes
from ..common.words cimport LITTLE_HOST, native, swap64

cnp.import_array()

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef extern from "numpy/arrayobject.h":
    void PyArray_ScalarAsCtype(object scalar, void* target)

cdef enum:
    ABSENT = 0
    CHARACTERS = 2  # NC_CHAR
    DIMENSIONS = 10  # NC_DIMENSION, NC_VARIABLE and NC_ATTRIBUTE
    VARIABLES = 11
    ATTRIBUTES = 12
    MOST_ITEMS = 16  # bytes of a number

cdef int64_t MAX_SIZE = ((<int64_t> 1 << 62) - 4) * 2  # bytes of a file, so that padding does not exceed 2⁶³


cdef struct Place:
    int64_t begin
    int64_t size  # bytes of all values, or of those of one record
    int64_t field  # where `begin` belongs in the header
    int64_t padding  # bytes after them
    int64_t records, step  # 1 and 0 without the record dimension
    int type
    int item_size
    bint is_record
    uint8_t[8] fill  # big-endian


cdef struct File:
    Output out
    int count_size, begin_size  # bytes
    Place* places
    Py_ssize_t n
    int64_t size


cdef inline int64_t _times(int64_t a, int64_t b) except -1:
    """Return the product of two numbers of bytes."""
    if b and a > MAX_SIZE // b:
        raise OverflowError(f"{a} times {b}")
    return a * b


cdef inline int64_t _plus(int64_t a, int64_t b) except -1:
    if a > MAX_SIZE - b:
        raise OverflowError(f"{a} and {b}")
    return a + b


cdef inline int _put(Output* out, uint64_t value, int n) except -1:
    """Append a big-endian number of n bytes."""
    cdef uint64_t big = swap64(value) if LITTLE_HOST else value
    return put_bytes(out, <const uint8_t*> &big + 8 - n, n)


cdef inline int _put_padded(Output* out, const void* data, Py_ssize_t n) except -1:
    grow(out, n + 3)
    memcpy(out.data + out.size, data, n)
    memset(out.data + out.size + n, 0, 3)
    out.size += (n + 3) & ~<Py_ssize_t> 3
    return 0


cdef inline int _put_name(File* file, str name) except -1:
    cdef Py_ssize_t n
    cdef const char* text = PyUnicode_AsUTF8AndSize(name, &n)
    _put(&file.out, n, file.count_size)
    return _put_padded(&file.out, text, n)


cdef inline int _put_list(File* file, int tag, Py_ssize_t n) except -1:
    _put(&file.out, tag if n else ABSENT, 4)
    return _put(&file.out, n, file.count_size)


cdef int _put_numbers(File* file, object value, dict codes) except -1:
    """Append type, count and values of an attribute of numbers, a scalar or an array."""
    cdef uint8_t[MOST_ITEMS] raw
    cdef Py_ssize_t n = 1
    cdef cnp.ndarray array
    cdef int size
    cdef Output* out = &file.out
    cdef const uint8_t* data = raw
    cdef object dtype = value.dtype
    _put(out, codes[dtype], 4)
    size = (<cnp.dtype> dtype).itemsize
    if cnp.PyArray_Check(value):
        array = cnp.PyArray_GETCONTIGUOUS(value)
        n, data = cnp.PyArray_SIZE(array), <const uint8_t*> cnp.PyArray_DATA(array)
    else:
        PyArray_ScalarAsCtype(value, raw)
    _put(out, n, file.count_size)
    grow(out, n * size + 3)
    native(data, out.data + out.size, n, size, LITTLE_HOST)
    memset(out.data + out.size + n * size, 0, 3)
    out.size += (n * size + 3) & ~<Py_ssize_t> 3
    return 0


cdef int _put_attributes(File* file, attributes, dict codes) except -1:
    cdef bytes text
    cdef object name, each
    _put_list(file, ATTRIBUTES, len(attributes))
    for name, each in attributes.items():
        _put_name(file, name)
        value = (<tuple> each)[1]
        if type(value) is bytes:
            text = value or b"\0"  # netCDF4 writes a NUL for empty text
            _put(&file.out, CHARACTERS, 4)
            _put(&file.out, PyBytes_GET_SIZE(text), file.count_size)
            _put_padded(&file.out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
        else:
            _put_numbers(file, value, codes)
    return 0


cdef int _set_fill(Place* place, attributes, bytes usual, dict codes) except -1:
    """Set the value that is not written, which also pads."""
    cdef object own = attributes.get("_FillValue")
    cdef uint8_t[MOST_ITEMS] raw
    memcpy(place.fill, PyBytes_AS_STRING(usual), place.item_size)
    if own is None:
        return 0
    own = (<tuple> own)[1]
    if type(own) is bytes:
        if place.type == CHARACTERS and len(<bytes> own) < 2:
            place.fill[0] = (<bytes> own)[0] if own else 0
    elif own.size == 1 and codes[own.dtype] == place.type:
        PyArray_ScalarAsCtype(own if not cnp.PyArray_Check(own) else own.reshape(-1)[0], raw)
        native(raw, place.fill, 1, place.item_size, LITTLE_HOST)
    return 0


cdef int _put_header(
    File* file, list dimensions, attributes, list variables, dict codes, tuple fills, tuple sizes
) except -1:
    """Append the header, but for the positions of values; set what is known about each variable."""
    cdef Output* out = &file.out
    cdef dict ids = {}
    cdef object item, name
    cdef tuple each, dims
    cdef Place* place
    cdef Py_ssize_t i, j
    cdef int64_t length, n_records = 0, n_record_variables = 0
    cdef uint64_t size
    for i, item in enumerate(dimensions):
        each = <tuple> item
        ids[each[0]] = i
    for i, item in enumerate(variables):
        each = <tuple> item
        place = file.places + i
        dims = each[2]
        place.type = codes[each[1]]
        place.item_size = sizes[place.type]
        place.size, place.records = place.item_size, 1
        for j in range(len(dims)):
            item = (<tuple> dimensions[ids[dims[j]]])
            length = (<tuple> item)[1]
            if (<tuple> item)[2]:
                if j:
                    raise ValueError(f"dims: found {dims}, expected only the first to be unlimited")
                place.is_record, place.records, n_records = True, length, length
                n_record_variables += 1
            else:
                place.size = _times(place.size, length)
        _set_fill(place, each[3], fills[place.type], codes)
    for i in range(file.n):
        place = file.places + i
        place.padding = -place.size & 3 if not place.is_record or n_record_variables > 1 else 0
    _put(out, n_records, file.count_size)
    _put_list(file, DIMENSIONS, len(dimensions))
    for item in dimensions:
        each = <tuple> item
        _put_name(file, each[0])
        _put(out, 0 if each[2] else each[1], file.count_size)
    _put_attributes(file, attributes, codes)
    _put_list(file, VARIABLES, len(variables))
    for i, item in enumerate(variables):
        each = <tuple> item
        place = file.places + i
        _put_name(file, each[0])
        _put(out, len(<tuple> each[2]), file.count_size)
        for name in <tuple> each[2]:
            _put(out, ids[name], file.count_size)
        _put_attributes(file, each[3], codes)
        _put(out, place.type, 4)
        size = (place.size + 3) & ~<int64_t> 3
        _put(out, size if file.count_size == 8 else min(size, <uint64_t> <uint32_t> -1), file.count_size)
        place.field = out.size
        _put(out, 0, file.begin_size)
    return 0


cdef int _set_places(File* file) except -1:
    """Set the positions of all values, and the size of the file."""
    cdef int64_t position = file.out.size, step, records = 0, big
    cdef Place* place
    cdef Py_ssize_t i
    cdef int wanted
    for wanted in range(2):
        step = position
        for i in range(file.n):
            place = file.places + i
            if place.is_record == wanted:
                place.begin = position
                position = _plus(position, place.size + place.padding)
                big = swap64(place.begin) if LITTLE_HOST else place.begin
                memcpy(file.out.data + place.field, <const uint8_t*> &big + 8 - file.begin_size, file.begin_size)
    for i in range(file.n):
        if file.places[i].is_record:
            file.places[i].step, records = position - step, file.places[i].records
    file.size = _plus(step, _times(records, position - step))
    return 0


cdef void _put_values(const Place* place, const uint8_t* values, uint8_t* target) noexcept nogil:
    """Write all values of a variable to a file in memory."""
    cdef int64_t i, j
    cdef int size = place.item_size
    target += place.begin
    for i in range(place.records):
        native(values + i * place.size, target, place.size // size, size, LITTLE_HOST)
        for j in range(place.padding):
            target[place.size + j] = place.fill[j % size]
        target += place.step


cdef tuple _extent(const Place* place):
    cdef bytes fill = PyBytes_FromStringAndSize(<const char*> place.fill, place.item_size)
    return place.begin, place.size, place.padding, place.records, place.step, place.type, fill


def compose(
    int version,
    list dimensions not None,
    attributes not None,
    list variables not None,
    dict codes not None,
    tuple fills not None,
    tuple sizes not None,
    list values = None,
):
    """Compose the header of a file, or a whole file.

    Parameters
    ----------
    version : int
        1, 2 or 5, which has place for all sizes of dimensions.
    dimensions : list of tuple
        Name, size, and whether it is unlimited, which the first one of a variable may be.
    attributes : dict
        Those of the file: name → tuple, whose second item is bytes for characters, or a scalar or array of numbers.
    variables : list of tuple
        Name, key of `codes`, names of dimensions, and attributes, of which `_FillValue` pads.
    codes : dict
        Native dtype of numbers, or another word for characters → number of the type.
    fills, sizes : tuple
        For each type the bytes of the fill value as in the file, and their number.
    values : list of ndarray, optional
        All values of each variable, C-contiguous and in native byte order.

    Returns
    -------
    bytes
        The whole file, if there are values. Otherwise:
    header : bytes
    extents : list of tuple
        For each variable the position of its first value, the bytes of all values or of a record, those of its padding,
        the number of records, the bytes from one to the next, the number of its type, and the bytes of a fill value.
    size : int
        Bytes of the file.

    Raises
    ------
    ValueError
        If values or dimensions do not match.
    OverflowError
        If the file had more than 2⁶³ - 8 bytes.
    """
    cdef File file
    cdef Py_ssize_t i
    cdef cnp.ndarray array
    cdef bytes data
    memset(&file, 0, sizeof(file))
    file.n = len(variables)
    file.count_size, file.begin_size = 8 if version == 5 else 4, 4 if version == 1 else 8
    file.places = <Place*> PyMem_Calloc(max(file.n, 1), sizeof(Place))
    try:
        if file.places == NULL:
            raise MemoryError
        put_bytes(&file.out, b"CDF", 3)
        _put(&file.out, version, 1)
        _put_header(&file, dimensions, attributes, variables, codes, fills, sizes)
        _set_places(&file)
        if values is None:
            data = PyBytes_FromStringAndSize(<const char*> file.out.data, file.out.size)
            return data, [_extent(file.places + i) for i in range(file.n)], file.size
        data = PyBytes_FromStringAndSize(NULL, file.size)
        memcpy(PyBytes_AS_STRING(data), file.out.data, file.out.size)
        if len(values) != file.n:
            raise ValueError(f"values: found {len(values)}, expected {file.n}")
        for i in range(file.n):
            array = values[i]
            if not cnp.PyArray_ISCARRAY_RO(array) or (
                cnp.PyArray_NBYTES(array) != file.places[i].size * file.places[i].records
                or cnp.PyArray_ITEMSIZE(array) != file.places[i].item_size
            ):
                raise ValueError(f"{variables[i][0]}: found {array.dtype} in the shape {(<object> array).shape}")
            _put_values(
                file.places + i, <const uint8_t*> cnp.PyArray_DATA(array), <uint8_t*> PyBytes_AS_STRING(data)
            )
        return data
    finally:
        PyMem_RawFree(file.out.data)
        PyMem_Free(file.places)
