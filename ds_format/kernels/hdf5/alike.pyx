"""Whether two HDF5 files say the same, wherever their objects are. Then what was made of one holds for the other."""

from cpython.object cimport Py_EQ

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
    cdef Py_ssize_t i
    cdef tuple one, other
    for i in range(len(datasets)):
        one, other = <tuple> datasets[i], <tuple> known[i]
        if not is_equal(one[ADDRESS], other[ADDRESS], Py_EQ) or not is_equal(one[HIDDEN], other[HIDDEN], Py_EQ):
            break
    else:
        return True
    found = _numbered(datasets)
    return found is not None and is_equal(found, _numbered(known), Py_EQ)


cdef list _numbered(list datasets):
    """Return hidden attributes, with numbers of datasets for addresses in DIMENSION_LIST; None if one is of none."""
    cdef dict numbers = {(<tuple> each)[ADDRESS]: i for i, each in enumerate(datasets)}
    cdef dict hidden
    cdef list every = []
    for each in datasets:
        hidden = <dict> (<tuple> each)[HIDDEN]
        lists = hidden.get("DIMENSION_LIST")
        if type(lists) is tuple:
            try:
                lists = [[numbers[address] for address in axis] for axis in <tuple> lists]
            except KeyError:
                return None
            hidden = {**hidden, "DIMENSION_LIST": lists}
        every.append(hidden)
    return every
