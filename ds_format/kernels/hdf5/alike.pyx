"""Whether two HDF5 files say the same, wherever their objects are. Then what was made of one holds for the other."""

from cpython.dict cimport PyDict_GetItem
from cpython.object cimport Py_EQ, PyObject

cdef extern from "Python.h":
    bint is_equal "PyObject_RichCompareBool"(object one, object other, int operation) except -1

cdef enum:
    # items of the record of a dataset
    ADDRESS = 1
    ORDER = 2
    LAYOUT = 6
    ATTRIBUTES = 10
    HIDDEN = 12
    LAYOUT_ADDRESS = 1  # item of the record of a layout


def are_alike(list datasets not None, list known not None):
    """Return whether the datasets of two files say the same, wherever these and their values are.

    Parameters
    ----------
    datasets, known : list of HDF5Dataset
        Records of files that were parsed with `share`: attributes that are equal are one object.

    Returns
    -------
    bool
        Addresses by which dimensions are named may differ if they are those of datasets in the same places of both
        lists. False also if there are others.
    """
    cdef Py_ssize_t i, n = len(datasets)
    if len(known) != n:
        return False
    for i in range(n):
        if not _is_alike(<tuple> datasets[i], <tuple> known[i]):
            return False
    return _name_same_dimensions(datasets, known)


cdef bint _is_alike(tuple one, tuple other) except -1:
    """Compare records, except for addresses, order and hidden attributes."""
    cdef int i
    if one[ATTRIBUTES] is not other[ATTRIBUTES]:  # equal ones may have other types
        return False
    for i in range(<int> len(one)):
        if i not in (ADDRESS, ORDER, LAYOUT, HIDDEN) and not is_equal(one[i], other[i], Py_EQ):
            return False
    one, other = <tuple> one[LAYOUT], <tuple> other[LAYOUT]
    for i in range(<int> len(one)):
        if i != LAYOUT_ADDRESS and not is_equal(one[i], other[i], Py_EQ):
            return False
    return (one[LAYOUT_ADDRESS] is None) == (other[LAYOUT_ADDRESS] is None)


cdef bint _name_same_dimensions(list datasets, list known) except -1:
    cdef Py_ssize_t i, n = len(datasets)
    cdef dict numbers, known_numbers
    cdef tuple one, other
    for i in range(n):
        one, other = <tuple> datasets[i], <tuple> known[i]
        if not is_equal(one[ADDRESS], other[ADDRESS], Py_EQ) or not is_equal(one[HIDDEN], other[HIDDEN], Py_EQ):
            break
    else:
        return True
    numbers = {(<tuple> datasets[i])[ADDRESS]: i for i in range(n)}
    known_numbers = {(<tuple> known[i])[ADDRESS]: i for i in range(n)}
    for i in range(n):
        one, other = <tuple> datasets[i], <tuple> known[i]
        if not _are_same_hidden(<dict> one[HIDDEN], <dict> other[HIDDEN], numbers, known_numbers):
            return False
    return True


cdef bint _are_same_hidden(dict hidden, dict known, dict numbers, dict known_numbers) except -1:
    """Compare hidden attributes, with numbers of datasets for the addresses in DIMENSION_LIST."""
    cdef PyObject* other
    if len(hidden) != len(known):
        return False
    for name, value in hidden.items():
        other = PyDict_GetItem(known, name)
        if other == NULL:
            return False
        if name == "DIMENSION_LIST" and type(value) is tuple and type(<object> other) is tuple:
            if not _are_same_lists(<tuple> value, <tuple> other, numbers, known_numbers):
                return False
        elif not is_equal(value, <object> other, Py_EQ):
            return False
    return True


cdef bint _are_same_lists(tuple lists, tuple known, dict numbers, dict known_numbers) except -1:
    cdef PyObject* one
    cdef PyObject* other
    cdef tuple axis, known_axis
    cdef Py_ssize_t i, j
    if len(lists) != len(known):
        return False
    for i in range(len(lists)):
        axis, known_axis = <tuple> lists[i], <tuple> known[i]
        if len(axis) != len(known_axis):
            return False
        for j in range(len(axis)):
            one, other = PyDict_GetItem(numbers, axis[j]), PyDict_GetItem(known_numbers, known_axis[j])
            if one == NULL or other == NULL or not is_equal(<object> one, <object> other, Py_EQ):
                return False
    return True
