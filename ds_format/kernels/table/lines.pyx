"""Values of columns → lines of a table of text.

Cells are quoted where RFC 4180 requires it, and where a reader could see a comment or a damaged file. Numbers have the
fewest digits that restore them.
"""

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from libc.math cimport isinf, isnan
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memset

from ..common.decimals cimport put_by_python, put_digits, put_integer, put_number
from ..common.output cimport Output, grow, put_byte, put_bytes

cnp.import_array()

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum:
    NUMBER = 64  # maximum bytes of a number


def put_lines(
    list values not None, list masks not None, Py_ssize_t n, uint8_t delimiter, bytes quoted not None=b"",
    uint8_t point=c".",
):
    """Return lines, which end with CR LF.

    Parameters
    ----------
    values : list of ndarray
        The values of each column: (n,) of int64, uint64, float64, float32, bool or `object` for `str`, C-contiguous.
    masks : list of (ndarray or None)
        Which of them are empty cells: (n,) bool.
    n : int
        Lines.
    delimiter : int
        The byte between two cells.
    quoted : bytes
        Other bytes because of which a cell is quoted.
    point : int
        The byte before decimals.

    Raises
    ------
    UnicodeEncodeError
        If a text has surrogates.
    """
    cdef Output out
    cdef Py_ssize_t i, k, columns = len(values), begin
    cdef uint8_t[256] special
    memset(&out, 0, sizeof(Output))
    memset(special, 0, 256)
    for byte in quoted + b'"\r\n\0':
        special[<uint8_t> byte] = 1
    special[delimiter] = 1
    if len(masks) != columns:
        raise ValueError(f"{columns} columns and {len(masks)} masks")
    for k in range(columns):
        _check(values[k], n)
        if masks[k] is not None:
            _check(masks[k], n)
    try:
        for i in range(n):
            begin = out.size
            for k in range(columns):
                if k:
                    put_byte(&out, delimiter)
                if masks[k] is None or not (<uint8_t*> cnp.PyArray_DATA(masks[k]))[i]:
                    _put(&out, <cnp.ndarray> values[k], i, special, point, k == 0)
            if out.size == begin and columns == 1:
                put_bytes(&out, '""', 2)  # an empty line could be none
            put_bytes(&out, "\r\n", 2)
        return PyBytes_FromStringAndSize(<const char*> out.data, out.size)
    finally:
        PyMem_RawFree(out.data)


cdef int _check(cnp.ndarray array, Py_ssize_t n) except -1:
    if not cnp.PyArray_IS_C_CONTIGUOUS(array) or cnp.PyArray_SIZE(array) != n or array.dtype.byteorder == ">":
        raise ValueError(f"expected a C-contiguous native array of {n} values")
    return 0


cdef int _put(
    Output* out, cnp.ndarray values, Py_ssize_t i, const uint8_t* special, uint8_t point, bint is_first
) except -1:
    """Append a cell."""
    cdef int type = cnp.PyArray_TYPE(values)
    cdef const void* data = cnp.PyArray_DATA(values)
    cdef uint64_t large
    cdef Py_ssize_t begin = out.size
    cdef uint8_t* found
    if type == cnp.NPY_OBJECT:
        return _put_text(out, <object> (<PyObject**> data)[i], special, is_first)
    grow(out, NUMBER)
    if type == cnp.NPY_FLOAT64 or type == cnp.NPY_FLOAT32:
        if type == cnp.NPY_FLOAT64:
            _put_real(out, (<const double*> data)[i], False)
        else:
            _put_real(out, (<const float*> data)[i], True)
        if point != c".":
            found = <uint8_t*> memchr(out.data + begin, c".", out.size - begin)
            if found != NULL:
                found[0] = point
        return 0
    if type == cnp.NPY_BOOL:
        return put_bytes(out, "True", 4) if (<const uint8_t*> data)[i] else put_bytes(out, "False", 5)
    if type != cnp.NPY_INT64 and type != cnp.NPY_UINT64:
        raise ValueError(f"values of dtype {values.dtype}")
    large = (<const uint64_t*> data)[i]
    if type == cnp.NPY_INT64 or not large >> 63:
        out.size = put_integer(out.data + out.size, <int64_t> large) - out.data
    else:
        out.size = put_integer(out.data + out.size, <int64_t> (large // 10)) - out.data
        put_byte(out, <uint8_t> (48 + large % 10))
    return 0


cdef int _put_real(Output* out, double value, bint is_single) except -1:
    """Append a number with the fewest digits, as Python spells it. There is room for one."""
    cdef uint8_t* end
    if isnan(value):
        return put_bytes(out, "nan", 3)
    if isinf(value):
        return put_bytes(out, "inf", 3) if value > 0 else put_bytes(out, "-inf", 4)
    end = put_number(out.data + out.size, value, is_single)
    if end == NULL and is_single:
        import numpy
        text, _, power = numpy.format_float_scientific(numpy.float32(abs(value))).partition("e")
        text = text.replace(".", "")
        if value < 0:
            put_byte(out, c"-")
        end = put_digits(out.data + out.size, int(text), int(power) + 1 - len(text))
    if end != NULL:
        out.size = end - out.data
        return 0
    return put_by_python(out, value)


cdef int _put_text(Output* out, object text, const uint8_t* special, bint is_first) except -1:
    """Append a text, quoted if it has a special byte, or would make a line a comment."""
    cdef Py_ssize_t size = 0, i, quotes = 0
    cdef const uint8_t* p = <const uint8_t*> PyUnicode_AsUTF8AndSize(text, &size)
    cdef bint is_quoted = is_first and size and p[0] == c"#"
    cdef uint8_t* to
    for i in range(size):
        quotes += p[i] == c'"'
        is_quoted |= special[p[i]]
    if not is_quoted:
        return put_bytes(out, p, size)
    grow(out, size + quotes + 2)
    to = out.data + out.size
    to[0] = c'"'
    to += 1
    for i in range(size):
        if p[i] == c'"':
            to[0] = c'"'
            to += 1
        to[0] = p[i]
        to += 1
    to[0] = c'"'
    out.size = to + 1 - out.data
    return 0
