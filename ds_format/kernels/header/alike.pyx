"""Metadata of files in a row: whether they are alike where it matters, and those of all as one."""

from cpython.dict cimport PyDict_Next, PyDict_SetItem
from cpython.object cimport PyObject
from libc.string cimport memcmp

cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object items, object key) except? NULL

cdef str DTYPES = ".dtypes"


cdef bint _same(object left, object right) except -1:
    """Whether two JSON values are the same, types of numbers and signs of zeros included."""
    cdef double first, second
    cdef Py_ssize_t i
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if type(left) is float:
        first, second = left, right
        return not memcmp(&first, &second, sizeof(double))
    if type(left) is list:
        if len(left) != len(right):
            return False
        for i in range(len(left)):
            if not _same((<list> left)[i], (<list> right)[i]):
                return False
        return True
    if type(left) is dict:
        if len(left) != len(right):
            return False
        for name, one in (<dict> left).items():
            if name not in right or not _same(one, right[name]):
                return False
        return True
    return left == right


cdef bint same_member(dict left, dict right, str name) except -1:
    """Whether a member of some name is the same, or absent from both."""
    cdef PyObject* one = PyDict_GetItemWithError(left, name)
    cdef PyObject* other = PyDict_GetItemWithError(right, name)
    return one == other or (one != NULL and other != NULL and _same(<object> one, <object> other))


cdef bint _same_members(dict left, dict right, frozenset names) except -1:
    """Whether members of some names are the same, or absent from both."""
    cdef PyObject* name
    cdef PyObject* value
    cdef PyObject* other_name
    cdef PyObject* other
    cdef Py_ssize_t i = 0, k = 0
    cdef bint goes_on = True
    while goes_on:  # as long as both have the same names in the same order, none is looked up
        goes_on = PyDict_Next(left, &i, &name, &value)
        if PyDict_Next(right, &k, &other_name, &other) != goes_on or (goes_on and name != other_name):
            break
        if goes_on and value != other and <str> name in names and not _same(<object> value, <object> other):
            return False
    else:
        return True
    for one in names:
        if not same_member(left, right, one):
            return False
    return True


def are_alike(dict left not None, dict right not None, frozenset names not None):
    """Return whether in the metadata of two files some members of each variable are the same, or absent from both.

    Of the attributes of the dataset this is asked of `.dtypes` only.
    """
    if len(left) != len(right):
        return False
    for key, entry in left.items():
        other = right.get(key)
        if other is None:
            return False
        if not (same_member(entry, other, DTYPES) if key == "." else _same_members(entry, other, names)):
            return False
    return True


cdef int _merge(dict left, dict right) except -1:
    cdef PyObject* name
    cdef PyObject* value
    cdef PyObject* other_name
    cdef PyObject* other
    cdef Py_ssize_t i = 0, k = 0
    cdef bint has_same_order = True
    while PyDict_Next(right, &k, &other_name, &other):
        if has_same_order:
            has_same_order = PyDict_Next(left, &i, &name, &value) and name == other_name
        if not has_same_order or value != other:
            PyDict_SetItem(left, <object> other_name, <object> other)
    return 0


def merge_entries(dict left not None, dict right not None):
    """Put the members of each entry of one metadata into those of another, which has the same keys."""
    for key, entry in left.items():
        _merge(entry, right[key])
