"""Arrays → masked arrays, without the Python code of `numpy.ma`, which takes longer than reading a variable."""

import sys

import numpy as np

cimport numpy as cnp
from cpython.dict cimport PyDict_Copy, PyDict_SetItem
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF

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
