"""JSON text of a dataset → its variables: arrays where their lists are usual, else Python's values.

Usual lists have one shape, and numbers, booleans or strings with or without null. Whether an array can be of another
type is decided by the caller.
"""

cimport numpy as cnp
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..common.output cimport Output, put_byte, put_bytes
from .decode cimport Names, Text, borrow_names, expect, follows, give_back, next_byte, take_key, take_string, take_value
from .numbers cimport Number, take_number

from .decode import Unusual

cnp.import_array()

cdef enum Kind:
    NONE  # no value yet, except null
    BOOLEAN
    INTEGER
    REAL
    STRING

cdef enum:
    MAX_NDIM = 32  # dimensions in all versions of NumPy


cdef class _Values:
    """The values of one variable at a time."""

    cdef Output words  # 8 bytes for each value: an integer, a float or a boolean
    cdef Output missing  # 1 byte for each value: whether it is null
    cdef list strings  # if they are strings
    cdef Py_ssize_t n, n_missing
    cdef Kind kind
    cdef int64_t least, most  # of the integers, also among floats, and 0
    cdef int ndim  # -1: not known yet
    cdef cnp.npy_intp[MAX_NDIM] shape  # -1: not known yet

    def __dealloc__(self):
        PyMem_RawFree(self.words.data)
        PyMem_RawFree(self.missing.data)

    cdef bint take(self, Text* t, Names names) except -1:
        """Take nested lists. Return False if they are unusual."""
        cdef cnp.npy_intp[MAX_NDIM] counts
        cdef int depth = 0
        cdef uint8_t c
        self.words.size = self.missing.size = self.n = self.n_missing = self.least = self.most = 0
        self.strings, self.kind, self.ndim = None, NONE, -1
        memset(self.shape, -1, sizeof(self.shape))
        while True:
            c = next_byte(t)
            if c == b"[":
                if depth == MAX_NDIM:
                    return False
                counts[depth] = 0
                depth += 1
                t.p += 1
                continue
            if self.ndim < 0:
                self.ndim = depth
            if depth != self.ndim or not self._take_item(t, c, names):
                return False
            while True:
                counts[depth - 1] += 1
                c = next_byte(t)
                if c != b"," and c != b"]":
                    return False
                t.p += 1
                if c == b",":
                    break
                depth -= 1
                if self.shape[depth] < 0:
                    self.shape[depth] = counts[depth]
                if self.shape[depth] != counts[depth]:
                    return False
                if depth == 0:
                    return True

    cdef bint _take_item(self, Text* t, uint8_t c, Names names) except -1:
        """Take a value, whose first byte is `c`. Return False if it is not of the kind of those before."""
        cdef Number number
        cdef Kind kind
        number.integer = 0
        if c == b'"':
            kind = STRING
        elif c == b"n" and follows(t, b"null", 4):
            kind = NONE
        elif c == b"f" and follows(t, b"false", 5):
            kind = BOOLEAN
        elif c == b"t" and follows(t, b"true", 4):
            kind, number.integer = BOOLEAN, 1
        elif take_number(t, &number):
            kind = REAL if number.is_real else INTEGER
        else:
            return False
        if kind == INTEGER:
            self.least, self.most = min(self.least, number.integer), max(self.most, number.integer)
            if self.kind == REAL:
                kind, number.real = REAL, <double> number.integer
        if kind != self.kind and kind != NONE:
            if self.kind == INTEGER and kind == REAL:
                self._become_real()
            elif self.kind != NONE:
                return False
            elif kind == STRING:
                self.strings = [None] * self.n
            self.kind = kind
        if self.strings is not None:
            self.strings.append(take_string(t, names) if kind == STRING else None)
        elif kind == REAL:
            put_bytes(&self.words, &number.real, 8)
        else:
            put_bytes(&self.words, &number.integer, 8)
        put_byte(&self.missing, kind == NONE)
        self.n_missing += kind == NONE
        self.n += 1
        return True

    cdef void _become_real(self) noexcept:
        cdef int64_t* integers = <int64_t*> self.words.data
        cdef double* reals = <double*> self.words.data
        cdef Py_ssize_t i
        for i in range(self.n):
            reals[i] = <double> integers[i]

    cdef tuple arrays(self):
        """Return the values and the mask, or None if the type of the values is not clear."""
        cdef int64_t exact = <int64_t> 1 << 53  # integers that floats hold
        cdef int number
        cdef Py_ssize_t i
        cdef cnp.ndarray values, mask = None
        cdef PyObject** objects
        if self.kind == NONE or self.kind == REAL and (self.most > exact or self.least < -exact):
            return None
        if self.n_missing:
            mask = cnp.PyArray_SimpleNew(self.ndim, self.shape, cnp.NPY_BOOL)
            memcpy(cnp.PyArray_DATA(mask), self.missing.data, self.n)
        number = cnp.NPY_OBJECT if self.kind == STRING else cnp.NPY_BOOL if self.kind == BOOLEAN else (
            cnp.NPY_INT64 if self.kind == INTEGER else cnp.NPY_DOUBLE
        )
        values = cnp.PyArray_SimpleNew(self.ndim, self.shape, number)
        if self.kind == STRING:
            objects = <PyObject**> cnp.PyArray_DATA(values)
            for i in range(self.n):
                string = self.strings[i]
                Py_INCREF(string)
                objects[i] = <PyObject*> string
        elif self.kind == BOOLEAN:
            for i in range(self.n):
                (<uint8_t*> cnp.PyArray_DATA(values))[i] = (<int64_t*> self.words.data)[i] != 0
        else:
            memcpy(cnp.PyArray_DATA(values), self.words.data, 8 * self.n)
        return values, mask


def decode_variables(const uint8_t[::1] text not None):
    """Return the members of the object: variables, and the metadata as Python's values.

    Parameters
    ----------
    text : C-contiguous buffer of uint8
        JSON in UTF-8.

    Returns
    -------
    dict
        Python's values as of `json.loads`, but for usual lists a tuple: the values, an array of int64, float64, bool or
        str objects; the mask, bool of the same shape, or None if there is no null; the minimum and maximum of 0 and all
        integers; where the text of the lists begins and ends. Values of null are 0, False or None.

    Raises
    ------
    Unusual, UnicodeDecodeError
        If `json.loads` has to decode it, or name the fault.
    """
    cdef const uint8_t* start = &text[0] if text.shape[0] else NULL
    cdef Text t = Text(start, start + text.shape[0], 1)
    cdef Names names = borrow_names()
    cdef _Values values = _Values()
    cdef dict members = {}
    try:
        expect(&t, b"{")
        while next_byte(&t) != b"}" or members:
            name = take_key(&t, names)
            if name in members:
                raise Unusual
            members[name] = take_value(&t, names) if name == "." else _take_variable(&t, start, values, names)
            if next_byte(&t) != b",":
                break
            t.p += 1
        expect(&t, b"}")
        if next_byte(&t) or t.p < t.end:
            raise Unusual
        return members
    finally:
        give_back(names)


cdef object _take_variable(Text* t, const uint8_t* start, _Values values, Names names):
    cdef const uint8_t* first
    cdef tuple arrays
    if next_byte(t) == b"[":
        first = t.p
        if values.take(t, names):
            arrays = values.arrays()
            if arrays is not None:
                return *arrays, values.least, values.most, first - start, t.p - start
        t.p = first
    return take_value(t, names)
