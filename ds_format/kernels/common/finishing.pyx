"""Values as a NetCDF or HDF5 file has them → as they are returned: masked, unpacked, characters joined.

Unusual cases are left to the caller: booleans that several numbers mark as missing, or that are neither 0 nor 1, text
that is not UTF-8.
"""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from .filling cimport empty
from .masked cimport masked_array, unpacked_array

cnp.import_array()

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #define DS_MARK(name, type, is_equal)                                                                  \
        static Py_ssize_t ds_mark_##name(const void *values, Py_ssize_t n, const void *of, uint8_t *flags) { \
            const type *p = (const type *)values;                                                          \
            type x;                                                                                        \
            Py_ssize_t count = 0;                                                                          \
            memcpy(&x, of, sizeof x);                                                                      \
            for (Py_ssize_t i = 0; i < n; i++) {                                                           \
                int is = is_equal;                                                                         \
                flags[i] |= (uint8_t)is;                                                                   \
                count += is;                                                                               \
            }                                                                                              \
            return count;                                                                                  \
        }
    DS_MARK(u1, uint8_t, p[i] == x)
    DS_MARK(u2, uint16_t, p[i] == x)
    DS_MARK(u4, uint32_t, p[i] == x)
    DS_MARK(u8, uint64_t, p[i] == x)
    DS_MARK(f4, float, (p[i] == x || (x != x && p[i] != p[i])))
    DS_MARK(f8, double, (p[i] == x || (x != x && p[i] != p[i])))
    static Py_ssize_t ds_mark(
        const void *values, Py_ssize_t n, const void *of, int size, int is_float, uint8_t *flags) {
        if (is_float) return size == 4 ? ds_mark_f4(values, n, of, flags) : ds_mark_f8(values, n, of, flags);
        return size == 1 ? ds_mark_u1(values, n, of, flags) : size == 2 ? ds_mark_u2(values, n, of, flags)
            : size == 4 ? ds_mark_u4(values, n, of, flags) : ds_mark_u8(values, n, of, flags);
    }
    """
    Py_ssize_t mark_equal "ds_mark"(
        const void* values, Py_ssize_t n, const void* of, int size, bint is_float, uint8_t* flags
    ) noexcept nogil

cdef cnp.dtype _bool = cnp.PyArray_DescrFromType(cnp.NPY_BOOL)
cdef cnp.dtype _object = cnp.PyArray_DescrFromType(cnp.NPY_OBJECT)


cdef object _flags_like(cnp.ndarray array, int ndim):
    """Return an array of False in the shape of the first axes."""
    made = empty(_bool, ndim, cnp.PyArray_DIMS(array))
    memset(cnp.PyArray_DATA(made), 0, cnp.PyArray_SIZE(made))
    return made


@cython.final
cdef class Finisher:
    """How the values of a variable are returned.

    Parameters
    ----------
    kind : {"number", "bool", "char", "string"}
        Numbers; int8 that are booleans; characters, an array of S1; objects of `bytes` or `str`.
    sought : (N,) ndarray or None
        Numbers that mean "missing", in the dtype of the file. The first one is the fill value.
    mark : bytes, str or None
        String that means "missing".
    is_text : bool
        Whether characters are UTF-8 and become `str`; otherwise `bytes`.
    is_joined : bool
        Whether characters along the last axis are one string.
    packing : (scale, offset, unsigned) or None
        Attributes by which numbers are unpacked, each may be None; None: they are not.
    """

    def __init__(self, str kind not None, cnp.ndarray sought, mark, bint is_text, bint is_joined, tuple packing):
        self.arguments = kind, sought, mark, is_text, is_joined, packing
        self.kind = {"number": NUMBERS, "bool": FLAGS, "char": CHARACTERS, "string": STRINGS}[kind]
        self.sought, self.mark, self.is_text, self.is_joined = sought, mark, is_text, is_joined
        self.is_packed = packing is not None
        if sought is not None and not cnp.PyArray_ISCARRAY_RO(sought):
            raise ValueError("sought: expected a C-contiguous array")
        if packing is not None:
            self.scale, self.offset, self.unsigned = packing

    def __reduce__(self):
        return Finisher, self.arguments

    def apply(self, cnp.ndarray array not None, bint found, bint masked):
        """Return the values of an array.

        Parameters
        ----------
        array : ndarray
            C-contiguous, in native byte order. It may be a part of the result.
        found : bool
            Whether a number that means "missing" may be among them.
        masked : bool
            Whether numbers are masked arrays always, and scalars are returned without an array.

        Returns
        -------
        ndarray, MaskedArray, scalar, `str` or `bytes`; or None
            None: it is left to the caller.
        """
        if not cnp.PyArray_ISCARRAY_RO(array):
            return None
        return self.finish(array, found, masked)

    cdef object finish(self, cnp.ndarray array, bint found, bint masked):
        if self.kind == CHARACTERS:
            return _shown(_joined(array, self.is_joined, self.is_text), self.mark, masked)
        if self.kind == STRINGS:
            return _shown(array, self.mark, masked) if cnp.PyArray_TYPE(array) == cnp.NPY_OBJECT else None
        return _numbers(self, array, found and self.sought is not None, masked)


cdef object _numbers(Finisher f, cnp.ndarray array, bint found, bint masked):
    cdef Py_ssize_t n = cnp.PyArray_SIZE(array), i, count, missing = 0
    cdef int size = <int> cnp.PyArray_ITEMSIZE(array)
    cdef cnp.ndarray mask = None, fill = None, sought = f.sought
    cdef cnp.ndarray data = array
    cdef bint is_float = (<cnp.dtype> cnp.PyArray_DESCR(array)).kind == c"f"
    cdef const uint8_t* sentinels
    if found:
        if cnp.PyArray_TYPE(sought) != cnp.PyArray_TYPE(array) or size > 8 or (is_float and size < 4):
            return None
        sentinels = <const uint8_t*> cnp.PyArray_DATA(sought)
        mask = _flags_like(array, cnp.PyArray_NDIM(array))
        for i in range(cnp.PyArray_SIZE(sought)):
            count = mark_equal(
                cnp.PyArray_DATA(array), n, sentinels + i * size, size, is_float, <uint8_t*> cnp.PyArray_DATA(mask)
            )
            if count and missing and f.kind == FLAGS:
                return None  # the caller warns that a mask does not tell them apart
            missing += count
        if not missing:
            mask = None
    if f.kind == FLAGS:
        data = _booleans(array, mask)
        if data is None:
            return None
    elif f.is_packed:
        unpacked = unpacked_array(array, f.scale, f.offset, f.unsigned)
        if unpacked is None:
            return None
        data = unpacked
    if mask is not None:
        if f.kind != FLAGS:
            fill = empty(<cnp.dtype> cnp.PyArray_DESCR(data), 0, NULL)
            if f.is_packed:
                (<object> fill)[()] = sought[0]
            else:
                memcpy(cnp.PyArray_DATA(fill), cnp.PyArray_DATA(sought), size)
        return masked_array(data, mask, fill)
    if not masked:
        return data
    return (<object> data)[()] if cnp.PyArray_NDIM(data) == 0 else masked_array(data, None, None)


cdef cnp.ndarray _booleans(cnp.ndarray array, cnp.ndarray mask):
    """Return numbers as booleans, False where they are missing; None if one is neither 0 nor 1."""
    cdef const uint8_t* values = <const uint8_t*> cnp.PyArray_DATA(array)
    cdef const uint8_t* flags = NULL if mask is None else <const uint8_t*> cnp.PyArray_DATA(mask)
    cdef uint8_t* target
    cdef uint8_t value
    cdef Py_ssize_t i
    if cnp.PyArray_ITEMSIZE(array) != 1:
        return None
    made = empty(_bool, cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array))
    target = <uint8_t*> cnp.PyArray_DATA(made)
    for i in range(cnp.PyArray_SIZE(array)):
        value = 0 if flags != NULL and flags[i] else values[i]
        if value > 1:
            return None
        target[i] = value
    return made


cdef cnp.ndarray _joined(cnp.ndarray array, bint is_joined, bint is_text):
    """Return characters as objects, without NULs at their ends; None if one is not UTF-8."""
    cdef int ndim = cnp.PyArray_NDIM(array) - is_joined
    cdef Py_ssize_t length = 1, i, size
    cdef const char* source = <const char*> cnp.PyArray_DATA(array)
    cdef PyObject** target
    if cnp.PyArray_ITEMSIZE(array) != 1 or ndim < 0:
        return None
    if is_joined:
        length = cnp.PyArray_DIM(array, ndim)
    made = empty(_object, ndim, cnp.PyArray_DIMS(array))
    target = <PyObject**> cnp.PyArray_DATA(made)
    for i in range(cnp.PyArray_SIZE(made)):
        size = length
        while size and source[size - 1] == 0:
            size -= 1
        if is_text:
            try:
                one = PyUnicode_DecodeUTF8(source, size, NULL)
            except UnicodeDecodeError:
                return None
        else:
            one = PyBytes_FromStringAndSize(source, size)
        Py_INCREF(one)
        target[i] = <PyObject*> one
        source += length
    return made


cdef object _shown(cnp.ndarray array, object mark, bint masked):
    """Return strings, masked where they are the mark."""
    cdef PyObject** objects
    cdef Py_ssize_t i
    cdef uint8_t* flags = NULL
    cdef cnp.ndarray mask = None
    if array is None:
        return None
    if mark is not None:
        objects = <PyObject**> cnp.PyArray_DATA(array)
        for i in range(cnp.PyArray_SIZE(array)):
            if <object> objects[i] == mark:
                if mask is None:
                    mask = _flags_like(array, cnp.PyArray_NDIM(array))
                    flags = <uint8_t*> cnp.PyArray_DATA(mask)
                flags[i] = 1
    if mask is not None:
        return masked_array(array, mask, None)
    return (<object> array)[()] if masked and cnp.PyArray_NDIM(array) == 0 else array
