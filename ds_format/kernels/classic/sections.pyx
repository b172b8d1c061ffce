"""Variables in headers, up to where they lie: names, dimensions, attributes with their values, types."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Copy, PyDict_SetItem, PyDict_Size
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from .filling cimport MAX_RANK, empty
from .items cimport Items, count, listed, name, number, padded, type_number
from .order cimport native

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)

cnp.import_array()

cdef enum:
    NC_CHAR = 2
    NC_ATTRIBUTE = 12


@cython.final
cdef class Section:
    """A variable in a header, from its name to its type: in the next file it often is the same."""

    cdef bint follows(self, Items* c) noexcept:
        """Return whether it is what comes next, and step over it if so."""
        cdef Py_ssize_t size = len(self.raw)
        if size > c.end - c.p or memcmp(c.p, <const char*> self.raw, size):
            return False
        c.p += size
        return True


@cython.final
cdef class Values:
    """Reads what has types.

    Parameters
    ----------
    codes : tuple of str
        NumPy kind and bytes of a value, by the number of the type.
    """

    def __init__(self, tuple codes not None):
        self.dtypes = tuple([cnp.dtype(code or "S1") for code in codes])
        for i, dtype in enumerate(self.dtypes):
            self.sizes[i] = dtype.itemsize

    cdef dict attributes(self, Items* c):
        cdef uint64_t n = listed(c, NC_ATTRIBUTE, 2 * c.width + 4), _
        cdef dict found = {}
        cdef str title
        for _ in range(n):
            title = name(c)
            PyDict_SetItem(found, title, self._value(c))
        if <uint64_t> PyDict_Size(found) != n:
            raise EOFError
        return found

    cdef object _value(self, Items* c):
        """Read type, count and values of an attribute."""
        cdef uint32_t type_ = type_number(c)
        cdef int size = self.sizes[type_]
        cdef uint64_t n = count(c, size), one
        cdef const uint8_t* raw = padded(c, n * size)
        cdef cnp.npy_intp length
        cdef cnp.dtype dtype
        if type_ == NC_CHAR:
            while n and raw[n - 1] == 0:
                n -= 1
            return PyUnicode_DecodeUTF8(<const char*> raw, <Py_ssize_t> n, b"surrogateescape")
        dtype = <cnp.dtype> self.dtypes[type_]
        if n == 1:
            native(raw, <uint8_t*> &one, 1, size)
            return PyArray_Scalar(&one, dtype, None)
        length = <cnp.npy_intp> n
        array = empty(dtype, 1, &length)
        native(raw, <uint8_t*> cnp.PyArray_DATA(array), <Py_ssize_t> n, size)
        return array

    cdef Section section(self, Items* c, Section known, int width):
        """Read a variable up to its type, or recall it."""
        cdef const uint8_t* start = c.p
        cdef Section section
        cdef uint64_t rank, i
        cdef object one
        if known is not None and known.follows(c):
            return known
        section = Section.__new__(Section)
        section.title = name(c)
        rank = count(c, width)
        if rank > MAX_RANK:
            raise EOFError
        section.dims = PyTuple_New(<Py_ssize_t> rank)
        for i in range(rank):
            one = number(c, width)
            Py_INCREF(one)
            PyTuple_SET_ITEM(section.dims, i, one)
        section.attributes = self.attributes(c)
        section.type = type_number(c)
        section.raw = PyBytes_FromStringAndSize(<const char*> start, c.p - start)
        return section


cdef dict copied(dict attributes):
    """Return attributes of which nobody else knows."""
    cdef dict found = PyDict_Copy(attributes)
    for title, value in attributes.items():
        if isinstance(value, cnp.ndarray):
            found[title] = value.copy()
    return found
