"""Arrays → masked arrays and, in one pass for each variable, packed numbers → the numbers that they represent.

The Python code of `numpy.ma` takes longer than reading a variable. Unusual variables are left to `model.packing`, which
says what the attributes mean.
"""

import sys

import numpy as np

cimport numpy as cnp
from cpython.dict cimport PyDict_Copy, PyDict_DelItem, PyDict_GetItem, PyDict_SetItem
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t

from .filling cimport empty

cnp.import_array()

cdef extern from "Python.h":
    int PyObject_GenericSetDict(object owner, object value, void* context) except -1

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        PyTypeObject* kind, cnp.dtype dtype, int ndim, const cnp.npy_intp* sizes, const cnp.npy_intp* strides,
        void* data, int flags, PyObject* obj
    )

cdef object _kind = None  # MaskedArray
cdef object _no_mask
cdef object _bare = None  # a class of the same layout, with nothing to run for each array; None: it cannot be used
cdef dict _fields, _fields_with_mask  # what each masked array has
cdef list _dicts  # names of those fields that are one new dict in each


cdef dict _known(object array):
    return {name: value for name, value in vars(array).items() if name != "_mask"}


cdef int _prepare() except -1:
    global _kind, _no_mask, _bare, _fields, _fields_with_mask, _dicts
    from numpy.ma import MaskedArray, nomask  # takes a tenth of the time of `ds ls` to load

    class Bare(MaskedArray):
        __array_finalize__ = np.ndarray.__array_finalize__  # does nothing

    without, zeros = np.zeros(1).view(MaskedArray), np.zeros(1, np.bool_)
    with_mask = MaskedArray(np.zeros(1), zeros, copy=False)
    _kind, _no_mask = MaskedArray, nomask
    _fields, _fields_with_mask = _known(without), _known(with_mask)
    _dicts = [name for name, value in _fields.items() if isinstance(value, dict)]
    # without the GIL, an object that gets another class stops all threads, which takes longer
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0
    _bare = Bare
    try:
        is_same = vars(masked_array(np.zeros(1), None, None)) == vars(without)
        is_same = is_same and _known(masked_array(np.zeros(1), zeros, None)) == _fields_with_mask
    except (AttributeError, TypeError):
        is_same = False
    if not is_same:
        _bare = None
    return 0


cdef object masked_array(cnp.ndarray data, cnp.ndarray mask, object fill_value):
    """Return an array as a MaskedArray: a view.

    Parameters
    ----------
    data : ndarray
        Not of a subclass.
    mask : ndarray of bool, or None
        It has the same shape; None: nothing is missing.
    fill_value : ndarray or None
        Without dimensions, of the dtype of the data, for this array only; None: that of NumPy.
    """
    cdef dict own, shared
    cdef cnp.dtype dtype = <cnp.dtype> cnp.PyArray_DESCR(data)
    if _kind is None:
        _prepare()
    if _bare is None:
        if mask is None:
            return data.view(_kind)
        return _kind(data, mask, fill_value=fill_value, copy=False)
    Py_INCREF(dtype)
    made = PyArray_NewFromDescr(
        <PyTypeObject*> _bare, dtype, cnp.PyArray_NDIM(data), cnp.PyArray_DIMS(data), cnp.PyArray_STRIDES(data),
        cnp.PyArray_DATA(data), cnp.PyArray_FLAGS(data) & cnp.NPY_ARRAY_WRITEABLE, NULL
    )
    cnp.set_array_base(made, data)
    own = <dict> PyDict_Copy(_fields if mask is None else _fields_with_mask)
    shared = {}
    for name in _dicts:
        PyDict_SetItem(own, name, shared)
    PyDict_SetItem(own, "_mask", _no_mask if mask is None else mask)
    if fill_value is not None:
        PyDict_SetItem(own, "_fill_value", fill_value)
    PyObject_GenericSetDict(made, own, NULL)
    made.__class__ = _kind
    return made


def masked_view(cnp.ndarray array not None, cnp.ndarray mask=None):
    """Return an array as a MaskedArray: a view.

    Parameters
    ----------
    array : ndarray
        Not of a subclass.
    mask : ndarray of bool, optional
        It has the same shape, and is not copied. By default, nothing is missing.
    """
    if mask is not None and (mask.dtype.kind != "b" or (<object> mask).shape != (<object> array).shape):
        raise ValueError(f"mask: found {mask.dtype} {(<object> mask).shape}, expected bool {(<object> array).shape}")
    return masked_array(array, mask, None)


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
