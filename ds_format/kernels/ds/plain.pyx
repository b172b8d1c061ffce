"""Whether a dataset is of plain arrays that its metadata fit, as most are.

This is `dataset.metadata_of`, `arrays_of` and `check_dims` for these; whatever is wrong or unusual is left to them.
"""

cimport numpy as cnp
from cpython.dict cimport PyDict_Copy, PyDict_DelItem, PyDict_SetItem
from cpython.object cimport PyObject

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cnp.import_array()


cdef bint _is_plain(object data) noexcept:
    """Return whether data are an array that stays as it is; `np.ma.masked`, which does not, has no dimensions."""
    if not cnp.PyArray_Check(data) or cnp.PyArray_TYPE(data) == cnp.NPY_OBJECT:
        return False
    return cnp.PyArray_CheckExact(data) or cnp.PyArray_NDIM(data) > 0


cdef bint _is_property(object key) except -1:
    """Whether a key begins with a dot, or is no text at all."""
    return type(key) is not str or (len(<str> key) and PyUnicode_READ_CHAR(key, 0) == c".")


cdef bint _fits(object names, cnp.ndarray array, dict sizes) except -1:
    """Return whether the names of dimensions are as many as an array has, and none has another size elsewhere."""
    cdef object name, found
    cdef Py_ssize_t i, n
    if type(names) is not list or len(<list> names) != cnp.PyArray_NDIM(array):
        return False
    for i in range(cnp.PyArray_NDIM(array)):
        name, n = (<list> names)[i], cnp.PyArray_DIM(array, i)
        if type(name) is not str:
            return False
        found = sizes.get(name)
        if found is None:
            PyDict_SetItem(sizes, name, n)
        elif <Py_ssize_t> found != n:
            return False
    return True


def plain_arrays(dataset not None):
    """Return the data of a dataset, if nothing is to be done to them and its metadata fit them.

    Parameters
    ----------
    dataset : dict
        Or of a subclass that adds nothing to what a dict does.

    Returns
    -------
    dict or None
        Key → array, of any kind but object arrays. None: something has to be looked at.
    """
    cdef dict arrays, entries, sizes = {}
    cdef object key, array, entry, names
    if not isinstance(dataset, dict):
        raise TypeError("dataset: expected a dict")
    arrays = PyDict_Copy(<dict> <PyObject*> dataset)
    meta = arrays.get(".")
    if type(meta) is not dict:
        return None
    entries = <dict> meta
    for key, entry in entries.items():
        if type(entry) is not dict or (_is_property(key) and key != "."):
            return None
    PyDict_DelItem(arrays, ".")
    for key, array in arrays.items():
        if not _is_plain(array) or _is_property(key):
            return None
        entry = entries.get(key)
        names = None if entry is None else (<dict> entry).get(".dims")
        if names is not None and not _fits(names, array, sizes):
            return None
    return arrays
