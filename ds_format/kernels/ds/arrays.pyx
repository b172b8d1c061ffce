"""The variables of a small ds file → arrays, scalars, masked arrays and strings, by one call for all of them.

A variable that is damaged or unusual is left to the caller, which names the fault or reads it in another way.
"""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_SetItem
from cpython.object cimport PyObject, PyObject_SetItem, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc

from ..common.filling cimport empty
from ..common.masked cimport masked_array
from ..common.words cimport LITTLE_HOST, native
from ..header.header cimport DOUBTFUL, Header, Variable
from ..header.parser cimport Parser
from .strings cimport put_strings, sum_lengths
from .values cimport count_set, scatter_values, unpack_flags

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        PyTypeObject* kind, cnp.dtype dtype, int ndim, const cnp.npy_intp* sizes, const cnp.npy_intp* strides,
        void* data, int flags, PyObject* obj
    )
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)

cdef enum:
    MAX_VALUES = 1 << 18  # of a variable with a mask or of strings: more are decoded by several threads


cdef struct Place:
    const uint8_t* start  # of the mask, or of the values without one
    Py_ssize_t size  # bytes from there to the end of the file
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


cdef object _variable(
    Header header, Variable* var, list kinds, object data, Py_buffer* view, Py_ssize_t body, bint share
):
    """Return the array, scalar or string of a variable, or None if the caller has to decode it."""
    cdef Place place
    cdef object kind = kinds[var.type]
    cdef Py_ssize_t mask_size
    cdef const uint8_t* mask = NULL
    place.size = view.len - body - var.offset
    if kind is None or place.size < 0 or body + var.offset < 0:
        return None
    place.start = <const uint8_t*> view.buf + body + var.offset
    place.n = place.present = var.n
    place.ndim, place.shape = var.ndim, <cnp.npy_intp*> &header.sizes[var.first]
    place.swapped = var.big == LITTLE_HOST
    if var.missing and var.n:
        mask_size = (var.n + 7) // 8
        if mask_size > place.size or var.n > MAX_VALUES:
            return None
        mask = place.start
        place.present = var.n - count_set(mask, var.n)
        place.start += mask_size
        place.size -= mask_size
        if place.present == var.n:
            mask = NULL
    if type(kind) is type:
        return _strings(&place, mask, kind is str)
    if (<cnp.dtype> kind).type_num == cnp.NPY_BOOL:
        return _flags(&place, mask, <cnp.dtype> kind)
    if mask != NULL:
        return _masked_numbers(&place, mask, <cnp.dtype> kind)
    return _numbers(&place, <cnp.dtype> kind, data, share, view.readonly)


cdef cnp.dtype _object = cnp.PyArray_DescrFromType(cnp.NPY_OBJECT)
cdef cnp.dtype _bool = cnp.PyArray_DescrFromType(cnp.NPY_BOOL)


cdef inline object _empty_flags(Place* place):
    return empty(_bool, place.ndim, place.shape)


cdef object _numbers(Place* place, cnp.dtype dtype, object data, bint share, bint readonly):
    cdef Py_ssize_t size = dtype.itemsize
    cdef bint swapped = place.swapped and size > 1
    cdef uint8_t[8] one
    if place.n > place.size // size:
        return None
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


cdef object _masked_numbers(Place* place, const uint8_t* mask, cnp.dtype dtype):
    cdef Py_ssize_t size = dtype.itemsize
    if place.present > place.size // size:
        return None
    array, flags = empty(dtype, place.ndim, place.shape), _empty_flags(place)
    scatter_values(
        mask, place.n, place.start, place.present, <uint8_t*> cnp.PyArray_DATA(flags),
        <uint8_t*> cnp.PyArray_DATA(array), <int> size, place.swapped and size > 1
    )
    return masked_array(array, flags, None)


cdef object _flags(Place* place, const uint8_t* mask, cnp.dtype dtype):
    """Return booleans, of which each is a bit."""
    cdef uint8_t* present
    if (place.present + 7) // 8 > place.size:
        return None
    array = empty(dtype, place.ndim, place.shape)
    if mask == NULL:
        unpack_flags(place.start, <uint8_t*> cnp.PyArray_DATA(array), place.n)
        return array if place.ndim else array[()]
    flags = _empty_flags(place)
    present = <uint8_t*> malloc(place.present + 1)
    if present == NULL:
        raise MemoryError
    unpack_flags(place.start, present, place.present)
    scatter_values(
        mask, place.n, present, place.present, <uint8_t*> cnp.PyArray_DATA(flags),
        <uint8_t*> cnp.PyArray_DATA(array), 1, False
    )
    free(present)
    return masked_array(array, flags, None)


cdef object _strings(Place* place, const uint8_t* mask, bint text):
    """Return strings: their lengths are before them."""
    cdef Py_ssize_t size, bad = 0
    cdef uint8_t* bits = NULL
    cdef cnp.ndarray flags = None
    if place.n > MAX_VALUES or place.present > place.size // 8:
        return None
    data = place.start + 8 * place.present
    size = sum_lengths(place.start, place.present, place.swapped, place.size - 8 * place.present, &bad)
    if size < 0:
        return None
    array = empty(_object, place.ndim, place.shape)
    if mask != NULL:
        flags = _empty_flags(place)
        bits = <uint8_t*> cnp.PyArray_DATA(flags)
        unpack_flags(mask, bits, place.n)
    try:
        put_strings(
            place.start, place.present, place.swapped, data, size, text, bits, place.n,
            <PyObject**> cnp.PyArray_DATA(array)
        )
    except ValueError:
        return None
    if mask != NULL:
        return masked_array(array, flags, None)
    return array if place.ndim else array[()]


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
