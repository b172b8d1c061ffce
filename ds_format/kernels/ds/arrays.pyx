"""The variables of a small ds file → arrays, scalars, masked arrays and strings, by one call for all of them.

They are returned, or appended to those of the files before.

A variable that is damaged or unusual is left to the caller, which names the fault or reads it in another way.
"""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.dict cimport PyDict_SetItem
from cpython.list cimport PyList_New
from cpython.object cimport PyObject, PyObject_SetItem, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ..common.filling cimport empty
from ..common.masked cimport masked_array
from ..common.words cimport LITTLE_HOST, native
from ..header.header cimport DOUBTFUL, Header, Variable
from ..header.parser cimport Parser
from .strings cimport put_strings, sum_lengths
from .values cimport count_set, scatter_values, unpack_flags

cnp.import_array()

cdef extern from "Python.h":
    ctypedef struct PyByteArrayObject:
        Py_ssize_t ob_alloc
    PyObject** PySequence_Fast_ITEMS(object sequence)

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        PyTypeObject* kind, cnp.dtype dtype, int ndim, const cnp.npy_intp* sizes, const cnp.npy_intp* strides,
        void* data, int flags, PyObject* obj
    )
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)

cdef enum:
    MAX_VALUES = 1 << 18  # of a variable with a mask or of strings: more are decoded by several threads


cdef struct Place:
    const uint8_t* mask  # NULL: no value is missing
    const uint8_t* start  # of the values, or of the lengths of strings
    Py_ssize_t size  # bytes of all strings
    Py_ssize_t n  # values, missing ones included
    Py_ssize_t present
    int ndim
    cnp.npy_intp* shape
    bint swapped


cpdef tuple put_arrays(Header header, list kinds, data, Py_ssize_t body, bint share, out, list numbers):
    """Put variables into a dataset.

    Parameters
    ----------
    header : Header
    kinds : list of dtype, type or None
        By the number of the type: the dtype of numbers and of booleans, `str` or `bytes`; None: left to the caller.
    data : buffer
        The whole file, or a part of it.
    body : int
        Start of the body in `data`, in bytes. Negative if the body starts before.
    share : bool
        Whether arrays may be views of `data`, which are read-only if it is. It must not be resized then.
    out : dict
        Output: variables in the order of `numbers`, as of `codec.decode.decode`. Variables without data, and those that
        are returned, are None.
    numbers : list of int or None
        Positions of the requested variables in the header; None: all.

    Returns
    -------
    remaining : list of str
        The keys of variables that the caller decodes: damaged ones, and very large ones with a mask or of strings.
    masked : list of str
        The keys of those with missing values.
    """
    cdef list remaining = [], masked = []
    cdef Py_buffer view
    cdef Variable* var
    cdef Py_ssize_t i, k, n = len(header.keys)
    cdef object key, array
    if not isinstance(out, dict):
        raise TypeError("out: expected a dict")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        for k in range(n if numbers is None else len(numbers)):
            i = k if numbers is None else numbers[k]
            if not 0 <= i < n:
                raise IndexError(f"variable {i} of {n}")
            key = header.keys[i]
            var = &header.variables[i]
            array = _variable(header, var, kinds, data, &view, body, share) if var.ndim >= 0 else None
            PyDict_SetItem(<dict> <PyObject*> out, key, array)
            if array is None and var.ndim >= 0:
                remaining.append(key)
            elif var.missing and cnp.PyArray_Check(array) and not cnp.PyArray_CheckExact(array):
                masked.append(key)
    finally:
        PyBuffer_Release(&view)
    return remaining, masked


def append_arrays(
    Header header not None, list kinds not None, data not None, Py_ssize_t body, list columns not None
):
    """Append the variables of a file to those of the files before.

    Parameters
    ----------
    header : Header
        The header of the file, or one that differs from it only in attributes of the dataset.
    kinds : list of dtype, type or None
        See `put_arrays`.
    data : buffer
        The whole file.
    body : int
        Start of the body in `data`, in bytes.
    columns : list of (bytearray, bytearray, list) or None
        For each variable of the header: None if it is not requested, otherwise the values of the files before, to which
        its own are appended. These are numbers in native byte order, and booleans of a byte each, 0 for missing values;
        flags, a byte each, of values up to the last missing one; and strings. Numbers are None for strings, and the
        other way round.

    Returns
    -------
    list of int
        The requested variables that the caller has to decode. If the list is not empty, nothing was appended.
    """
    cdef Py_buffer view
    cdef Variable* var
    cdef Place* places
    cdef Py_ssize_t i, n = len(header.keys)
    cdef list left = [], strings = [None] * n
    if len(columns) != n:
        raise ValueError(f"{len(columns)} columns for {n} variables")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    places = <Place*> malloc((n + 1) * sizeof(Place))
    try:
        if places == NULL:
            raise MemoryError
        is_doubtful = body > view.len or header.is_doubtful_in(view.len - body)
        for i in range(n):
            var = &header.variables[i]
            if columns[i] is None or var.ndim < 0:
                continue
            kind = kinds[var.type]
            if is_doubtful or not _find(header, var, kind, &view, body, &places[i]):
                left.append(i)
            elif type(kind) is type:
                strings[i] = _list_of_strings(&places[i], kind is str)
                if strings[i] is None:
                    left.append(i)
        if left:
            return left
        for i in range(n):
            var = &header.variables[i]
            if columns[i] is not None and var.ndim >= 0:
                _append(&places[i], <tuple?> columns[i], kinds[var.type], strings[i])
        return left
    finally:
        free(places)
        PyBuffer_Release(&view)


cdef bint _find(Header header, Variable* var, object kind, Py_buffer* view, Py_ssize_t body, Place* place) except -1:
    """Find the bytes of a variable. Return False if they are not all in the file, or the caller has to decode them."""
    cdef Py_ssize_t mask_size, bad = 0, size = view.len - body - var.offset
    if kind is None or size < 0 or body + var.offset < 0:
        return False
    place.start = <const uint8_t*> view.buf + body + var.offset
    place.mask = NULL
    place.n = place.present = var.n
    place.ndim, place.shape = var.ndim, <cnp.npy_intp*> &header.sizes[var.first]
    place.swapped = var.big == LITTLE_HOST
    if var.missing and var.n:
        mask_size = (var.n + 7) // 8
        if mask_size > size or var.n > MAX_VALUES:
            return False
        place.present = var.n - count_set(place.start, var.n)
        if place.present < var.n:
            place.mask = place.start
        place.start += mask_size
        size -= mask_size
    if type(kind) is type:
        if place.n > MAX_VALUES or place.present > size // 8:
            return False
        place.size = sum_lengths(place.start, place.present, place.swapped, size - 8 * place.present, &bad)
        return place.size >= 0
    if (<cnp.dtype> kind).type_num == cnp.NPY_BOOL:
        return (place.present + 7) // 8 <= size
    return place.present <= size // (<cnp.dtype> kind).itemsize


cdef object _variable(
    Header header, Variable* var, list kinds, object data, Py_buffer* view, Py_ssize_t body, bint share
):
    """Return the array, scalar or string of a variable, or None if the caller has to decode it."""
    cdef Place place
    cdef object kind = kinds[var.type]
    if not _find(header, var, kind, view, body, &place):
        return None
    if type(kind) is type:
        return _strings(&place, kind is str)
    if place.mask == NULL and (<cnp.dtype> kind).type_num != cnp.NPY_BOOL:
        return _numbers(&place, <cnp.dtype> kind, data, share, view.readonly)
    array = empty(<cnp.dtype> kind, place.ndim, place.shape)
    if place.mask == NULL:
        _put(&place, <cnp.dtype> kind, NULL, <uint8_t*> cnp.PyArray_DATA(array))
        return array if place.ndim else array[()]
    flags = empty(_bool, place.ndim, place.shape)
    _put(&place, <cnp.dtype> kind, <uint8_t*> cnp.PyArray_DATA(flags), <uint8_t*> cnp.PyArray_DATA(array))
    return masked_array(array, flags, None)


cdef cnp.dtype _object = cnp.PyArray_DescrFromType(cnp.NPY_OBJECT)
cdef cnp.dtype _bool = cnp.PyArray_DescrFromType(cnp.NPY_BOOL)


cdef object _numbers(Place* place, cnp.dtype dtype, object data, bint share, bint readonly):
    cdef Py_ssize_t size = dtype.itemsize
    cdef bint swapped = place.swapped and size > 1
    cdef uint8_t[8] one
    if place.ndim == 0:
        native(place.start, one, 1, <int> size, swapped)
        return PyArray_Scalar(one, dtype, None)
    if not share or swapped or <size_t> place.start % <size_t> size:
        array = empty(dtype, place.ndim, place.shape)
        native(place.start, <uint8_t*> cnp.PyArray_DATA(array), place.n, <int> size, swapped)
        return array
    Py_INCREF(dtype)
    array = PyArray_NewFromDescr(
        <PyTypeObject*> cnp.ndarray, dtype, place.ndim, place.shape, NULL, <void*> place.start,
        0 if readonly else cnp.NPY_ARRAY_WRITEABLE, NULL
    )
    cnp.set_array_base(array, data)
    return array


cdef int _put(Place* place, cnp.dtype dtype, uint8_t* flags, uint8_t* values) except -1:
    """Put numbers or booleans, in native byte order, and whether they are missing unless no value is."""
    cdef int size = <int> dtype.itemsize
    cdef bint swapped = place.swapped and size > 1
    cdef uint8_t* present
    if dtype.type_num != cnp.NPY_BOOL:
        if place.mask == NULL:
            native(place.start, values, place.n, size, swapped)
        else:
            scatter_values(place.mask, place.n, place.start, place.present, flags, values, size, swapped)
        return 0
    if place.mask == NULL:
        unpack_flags(place.start, values, place.n)
        return 0
    present = <uint8_t*> malloc(place.present + 1)
    if present == NULL:
        raise MemoryError
    unpack_flags(place.start, present, place.present)
    scatter_values(place.mask, place.n, present, place.present, flags, values, 1, False)
    free(present)
    return 0


cdef object _strings(Place* place, bint text):
    """Return a string, or an array of them, or None if one is not UTF-8."""
    cdef cnp.ndarray flags = None
    array = empty(_object, place.ndim, place.shape)
    if place.mask != NULL:
        flags = empty(_bool, place.ndim, place.shape)
        unpack_flags(place.mask, <uint8_t*> cnp.PyArray_DATA(flags), place.n)
    if not _put_strings(place, text, flags, <PyObject**> cnp.PyArray_DATA(array)):
        return None
    if flags is not None:
        return masked_array(array, flags, None)
    return array if place.ndim else array[()]


cdef list _list_of_strings(Place* place, bint text):
    """Return strings, empty ones in place of missing ones, or None if one is not UTF-8."""
    cdef list made = PyList_New(place.n)
    cdef cnp.ndarray flags = None
    if place.mask != NULL:
        flags = empty(_bool, 1, <cnp.npy_intp*> &place.n)
        unpack_flags(place.mask, <uint8_t*> cnp.PyArray_DATA(flags), place.n)
    return made if _put_strings(place, text, flags, PySequence_Fast_ITEMS(made)) else None


cdef bint _put_strings(Place* place, bint text, cnp.ndarray flags, PyObject** out) except -1:
    cdef const uint8_t* data = place.start + 8 * place.present
    cdef const uint8_t* bits = NULL if flags is None else <const uint8_t*> cnp.PyArray_DATA(flags)
    try:
        put_strings(place.start, place.present, place.swapped, data, place.size, text, bits, place.n, out)
    except ValueError:
        return False
    return True


cdef int _append(Place* place, tuple column, object kind, list strings) except -1:
    """Append the values of a variable to a column: these strings, unless they are None, or numbers."""
    cdef Py_ssize_t before, gap
    cdef uint8_t* flags = NULL
    if strings is None:
        before = PyByteArray_GET_SIZE(<bytearray?> column[0]) // (<cnp.dtype> kind).itemsize
    else:
        before = len(<list?> column[2])
        (<list> column[2]).extend(strings)
    if place.mask != NULL:
        gap = before - PyByteArray_GET_SIZE(<bytearray?> column[1])
        flags = _extended(column[1], gap + place.n)
        memset(flags, 0, gap)
        flags += gap
    if strings is None:
        _put(place, <cnp.dtype> kind, flags, _extended(column[0], place.n * (<cnp.dtype> kind).itemsize))
    elif flags != NULL:
        unpack_flags(place.mask, flags, place.n)
    return 0


cdef uint8_t* _extended(bytearray column, Py_ssize_t size) except NULL:
    """Extend a bytearray by `size` bytes, and return a pointer to them."""
    cdef Py_ssize_t before = PyByteArray_GET_SIZE(column)
    if before + size >= (<PyByteArrayObject*> column).ob_alloc:
        PyByteArray_Resize(column, 2 * (before + size))  # Python would grow it by an eighth, and move it more often
    PyByteArray_Resize(column, before + size)
    return <uint8_t*> PyByteArray_AS_STRING(column) + before


def put_file(
    Parser parser not None, typed, list kinds not None, data not None, out not None, keys, bint full, bint share
):
    """Put the variables of a small file into a dataset, and its metadata.

    Parameters
    ----------
    parser : Parser
    typed : callable
        See `Parser.parse`.
    kinds : list of dtype, type or None
        See `put_arrays`.
    data : bytearray or memoryview of bytes
        The whole file.
    out : dict
        Output.
    keys : collection of str or None
        The requested variables; None: all.
    full : bool
        Whether the metadata of other variables are requested, too.
    share : bool
        See `put_arrays`.

    Returns
    -------
    (parsed, remaining, marked) or None
        None: the dataset is complete. Otherwise, the result of `Parser.parse`, or None; variables that remain to be
        decoded, where None stands for all; and masked variables whose metadata may say what to write under the mask.
    """
    cdef tuple parsed = parser.parse(data, None if full else keys, typed)
    cdef Header header
    cdef Py_ssize_t body, i
    cdef list remaining, masked, numbers = None
    if parsed is None:
        return None, None, []
    header = <Header> parsed[0]
    if header.is_doubtful_in(len(data) - header.body):
        return parsed, None, []
    body, block = header.body, data
    if share and body > len(data) - body:
        body, block = 0, data[body:]  # views keep the whole buffer in memory, so a large header is cut off
    if keys is not None:
        numbers = [i for i in range(len(header.keys)) if header.keys[i] in keys]
    remaining, masked = put_arrays(header, kinds, block, body, share, out, numbers)
    meta = <dict> parsed[1]
    if full and keys is not None:
        masked = list(meta)
    if masked:
        masked = [key for key in masked if _has_mark(meta.get(key))]
    if remaining or masked or header.flags & ~DOUBTFUL:
        return parsed, remaining, masked
    PyObject_SetItem(out, ".", meta)
    return None


cdef bint _has_mark(object entry) except -1:
    """Return whether metadata may say by which number a value is missing in a NetCDF file."""
    if type(entry) is not dict:
        return False
    record = (<dict> entry).get(".netcdf")
    return type(record) is dict and ("fill" in <dict> record or "mark" in <dict> record)
