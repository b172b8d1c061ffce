"""Packed numbers → the numbers that they represent, as NumPy computes them, in one pass for each variable.

Unusual variables are left to `model.packing`, which says what the attributes mean.
"""

import numpy as np

cimport numpy as cnp
from cpython.dict cimport PyDict_DelItem, PyDict_GetItem, PyDict_SetItem
from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from .filling cimport empty
from .masked cimport masked_array

cnp.import_array()

ctypedef fused number:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double

ctypedef fused real:
    float
    double

cdef enum:
    SMALL = 1 << 14  # values up to which releasing the GIL costs more than it gains

cdef object _float32 = np.float32
cdef object _float64 = np.float64
cdef cnp.dtype FLOAT32 = np.dtype(np.float32)
cdef cnp.dtype FLOAT64 = np.dtype(np.float64)
# Names of `model.packing`, which takes longer to load than a small file to read: a test compares them.
cdef str RECORD = ".netcdf"
cdef tuple OF_PACKED = (
    "scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"
)
cdef tuple SETTINGS_OF_PACKED = ("packed", "fill", "mark")
# Other variables, or another record, may decide about the packing of these.
cdef frozenset UNUSUAL = frozenset((".hdf5", "bounds", "climatology"))
cdef dict UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
cdef dict TYPES = {dtype: dtype.name for dtype in (FLOAT32, FLOAT64, *UNSIGNED.values())}


cdef struct Step:  # a scale or an offset
    bint is_given
    bint is_wide  # float64, not float32
    double value


cdef bint _take(object value, Step* step) except -1:
    """Take an attribute; return False if it is neither None nor a float."""
    step.is_given = value is not None
    step.is_wide = True
    step.value = 0
    if value is None:
        return True
    if type(value) is _float32:
        step.is_wide = False
    elif type(value) is not float and type(value) is not _float64:
        return False
    step.value = value
    return True


cdef void _convert(const number* values, real* out, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = <real> values[i]


# Two loops, since a compiler may round only once where it sees a product and a sum together.
cdef void _multiply(real* values, Py_ssize_t n, real scale) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        values[i] *= scale


cdef void _add(real* values, Py_ssize_t n, real offset) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        values[i] += offset


cdef void _widen(const void* values, char kind, int size, real* out, Py_ssize_t n) noexcept nogil:
    if kind == c"f":
        if size == 4:
            _convert(<const float*> values, out, n)
        else:
            _convert(<const double*> values, out, n)
    elif kind == c"i":
        if size == 1:
            _convert(<const int8_t*> values, out, n)
        elif size == 2:
            _convert(<const int16_t*> values, out, n)
        elif size == 4:
            _convert(<const int32_t*> values, out, n)
        else:
            _convert(<const int64_t*> values, out, n)
    elif size == 1:
        _convert(<const uint8_t*> values, out, n)
    elif size == 2:
        _convert(<const uint16_t*> values, out, n)
    elif size == 4:
        _convert(<const uint32_t*> values, out, n)
    else:
        _convert(<const uint64_t*> values, out, n)


cdef void _work(
    const void* values, char kind, int size, real* out, Py_ssize_t n, const Step* scale, const Step* offset
) noexcept nogil:
    _widen(values, kind, size, out, n)
    if scale.is_given:
        _multiply(out, n, <real> scale.value)
    if offset.is_given:
        _add(out, n, <real> offset.value)


cdef object _linear(cnp.ndarray data, char kind, const Step* scale, const Step* offset):
    """Return `data * scale + offset`, with types promoted in this order, as `kind` of integers that the data are."""
    cdef int size = cnp.PyArray_ITEMSIZE(data)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(data)
    cdef const Step* first = scale if scale.is_given else offset
    cdef bint is_wide = first.is_wide or size == 8 or (size == 4 and kind != c"f")
    cdef Step none = Step(False, False, 0)
    cdef void* out
    if not is_wide and offset.is_given and offset.is_wide:
        return _linear(_linear(data, kind, scale, &none), c"f", &none, offset)
    array = empty(FLOAT64 if is_wide else FLOAT32, cnp.PyArray_NDIM(data), cnp.PyArray_DIMS(data))
    out = cnp.PyArray_DATA(array)
    if n <= SMALL:
        if is_wide:
            _work(cnp.PyArray_DATA(data), kind, size, <double*> out, n, scale, offset)
        else:
            _work(cnp.PyArray_DATA(data), kind, size, <float*> out, n, scale, offset)
    else:
        with nogil:
            if is_wide:
                _work(cnp.PyArray_DATA(data), kind, size, <double*> out, n, scale, offset)
            else:
                _work(cnp.PyArray_DATA(data), kind, size, <float*> out, n, scale, offset)
    return array


cdef object unpacked_array(object data, object scale, object offset, object unsigned):
    """Do what `linear` does; `unsigned` is the attribute `_Unsigned`, or None."""
    cdef Step by, plus
    cdef char kind
    if not cnp.PyArray_CheckExact(data) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> data):
        return None
    kind = (<cnp.dtype> cnp.PyArray_DESCR(<cnp.ndarray> data)).kind
    if (kind != c"i" and kind != c"u" and kind != c"f") or cnp.PyArray_ITEMSIZE(<cnp.ndarray> data) not in (1, 2, 4, 8):
        return None
    if kind == c"f" and cnp.PyArray_ITEMSIZE(<cnp.ndarray> data) < 4:
        return None
    if not _take(scale, &by) or not _take(offset, &plus):
        return None
    if not by.is_given and not plus.is_given:
        is_view = kind == c"i" and type(unsigned) is str and (unsigned == "true" or unsigned == "True")
        return (<object> data).view(UNSIGNED[cnp.PyArray_ITEMSIZE(<cnp.ndarray> data)]) if is_view else None
    if (by.is_given and by.value == 1 and plus.value == 0) or (not by.is_given and plus.value == 0):
        return None  # types alone change, or nothing
    if unsigned is not None and kind == c"i":
        if type(unsigned) is not str:
            return None
        kind = c"u" if unsigned == "true" or unsigned == "True" else kind
    return _linear(<cnp.ndarray> data, kind, &by, &plus)


def linear(data, scale, offset):
    """Return the numbers that packed values represent: `data * scale + offset`, with types promoted in this order.

    Parameters
    ----------
    data : ndarray
    scale, offset : float, float32, float64 or None
        None: it has none.

    Returns
    -------
    ndarray or None
        None: the caller has to compute it, because of other types, another layout in memory, or a scale or offset that
        changes no value.
    """
    return unpacked_array(data, scale, offset, None)


cdef object _fill_value(object array, cnp.dtype dtype):
    """Return the fill value of a masked array in another dtype, as an array without dimensions."""
    given = array._fill_value
    if given is None:
        given = 1e20 if (<cnp.dtype> array.dtype).kind == c"f" else 999999  # those of `numpy.ma`
    made = empty(dtype, 0, NULL)
    made[()] = given
    return made


cdef object _array(object values, dict entry):
    """Return unpacked values, or None if the caller has to unpack them."""
    cdef PyObject* scale = PyDict_GetItem(entry, "scale_factor")
    cdef PyObject* offset = PyDict_GetItem(entry, "add_offset")
    cdef PyObject* unsigned = PyDict_GetItem(entry, "_Unsigned")
    cdef object data = values, mask = None
    if not cnp.PyArray_Check(values) or cnp.PyArray_NDIM(<cnp.ndarray> values) == 0:
        return None
    if not cnp.PyArray_CheckExact(values):
        data, mask = values._data, values._mask
        if not cnp.PyArray_CheckExact(mask):
            return None
    data = unpacked_array(
        data, None if scale == NULL else <object> scale, None if offset == NULL else <object> offset,
        None if unsigned == NULL else <object> unsigned,
    )
    if data is None or mask is None:
        return data
    return masked_array(data, mask, _fill_value(values, <cnp.dtype> data.dtype))


def unpack_usual(dataset not None, dict meta not None):
    """Unpack variables of a dataset whose metadata say that they are packed, and have floats as scale and offset.

    Parameters
    ----------
    dataset : dict
        Key → values; changed.
    meta : dict
        Key → metadata of each variable; changed.

    Returns
    -------
    bool
        Whether nothing is left to the caller.
    """
    cdef PyObject* found
    cdef PyObject* values
    cdef dict entry
    cdef bint is_complete = True
    cdef list packed = []
    if not isinstance(dataset, dict):
        raise TypeError("dataset: expected a dict")
    for key, one in meta.items():
        if type(one) is not dict or key == ".":
            continue
        entry = one
        if not UNUSUAL.isdisjoint(entry):
            return False
        found = PyDict_GetItem(entry, RECORD)
        if found == NULL or type(<object> found) is not dict or (<dict> <object> found).get("packed") is not True:
            continue
        packed.append(key)
    for key in packed:
        values = PyDict_GetItem(<dict> <PyObject*> dataset, key)
        if values == NULL:
            continue
        entry = <dict> meta[key]
        array = None if <object> values is None else _array(<object> values, entry)
        if array is None:
            is_complete = False
            continue
        PyDict_SetItem(<dict> <PyObject*> dataset, key, array)
        _change(entry, TYPES[array.dtype])
    return is_complete


cdef int _change(dict entry, str type_name) except -1:
    """Make metadata those of unpacked values."""
    cdef dict settings = {name: value for name, value in entry.pop(RECORD).items() if name not in SETTINGS_OF_PACKED}
    for name in OF_PACKED:
        if PyDict_GetItem(entry, name) != NULL:
            PyDict_DelItem(entry, name)
    if settings:
        entry[RECORD] = settings
    entry[".type"] = type_name
    return 0
