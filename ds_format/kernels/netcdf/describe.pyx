"""One pass over an ordinary dataset: its variables as a NetCDF file has them, and their values as they are stored."""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcmp, memcpy

from ..common.filling cimport empty, has

cnp.import_array()

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept
    const uint8_t* PyUnicode_1BYTE_DATA(object text) noexcept

cdef extern from "numpy/arrayobject.h":
    """
    static PyObject *ds_viewed(PyArrayObject *array, PyArray_Descr *dtype) {
        Py_XINCREF(dtype);
        return PyArray_View(array, dtype, &PyArray_Type);
    }
    """
    object as_plain "ds_viewed"(cnp.ndarray array, void* dtype)
    object as_type "ds_viewed"(cnp.ndarray array, cnp.dtype dtype)
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)
    void PyArray_ScalarAsCtype(object scalar, void* target)

cdef enum:
    MAX_NAME_SIZE = 255  # bytes, see `drivers.netcdf.format`
    MAX_RANK = 32        # axes (H5S_MAX_RANK)
    STRING_SIZE = 16     # bytes of a reference to a string
    SMALL = 2            # bytes of numbers all of whose values may well occur


class NotOrdinary(Exception):
    """Something that is left to a Sink. It never reaches a user."""


cdef bint _is_name(object name) noexcept:
    """Return whether NetCDF can hold a name of ASCII characters, without looking at groups, escapes and reserved names.

    It is `drivers.netcdf.format.POSSIBLE`.
    """
    cdef Py_ssize_t i, n
    cdef const uint8_t* text
    if type(name) is not str or not PyUnicode_IS_ASCII(name):
        return False
    n, text = PyUnicode_GET_LENGTH(name), PyUnicode_1BYTE_DATA(name)
    if not 0 < n <= MAX_NAME_SIZE or text[n - 1] == c" ":
        return False
    for i in range(n):
        if text[i] < 0x20 or text[i] == c"/" or text[i] == 0x7F:
            return False
    return c"a" <= text[0] | 0x20 <= c"z" or c"0" <= text[0] <= c"9" or text[0] == c"_"


cdef inline bint _equals(const uint8_t* value, const uint8_t* other, int size, bint is_float) noexcept nogil:
    """Return whether two numbers are equal; two NaN are."""
    return memcmp(value, other, size) == 0 or (is_float and has(value, 1, other, size, True))


cdef cnp.ndarray _marked(cnp.ndarray values, const uint8_t* flags, const uint8_t* fill, bint is_float):
    """Return a copy of values with missing ones marked, of which there may be none (`flags` is NULL).

    Raises
    ------
    NotOrdinary
        If another value equals the fill value.
    """
    cdef int size = <int> cnp.PyArray_ITEMSIZE(values)
    cdef cnp.ndarray out = values
    cdef uint8_t* target
    cdef Py_ssize_t i
    if flags == NULL:
        if has(cnp.PyArray_DATA(values), cnp.PyArray_SIZE(values), fill, size, is_float):
            raise NotOrdinary
        return values
    out = cnp.PyArray_NewCopy(values, cnp.NPY_CORDER)
    target = <uint8_t*> cnp.PyArray_DATA(out)
    for i in range(cnp.PyArray_SIZE(out)):
        if flags[i]:
            memcpy(target, fill, size)
        elif _equals(target, fill, size, is_float):
            raise NotOrdinary
        target += size
    return out


cdef const uint8_t* _flags(cnp.ndarray array) except? NULL:
    """Return the mask of an array; NULL if no value is missing."""
    cdef const uint8_t* flags
    cdef object mask
    if cnp.PyArray_CheckExact(array):
        return NULL
    mask = getattr(array, "_mask", None)
    if mask is None or not cnp.PyArray_CheckExact(mask):  # numpy.ma.nomask
        return NULL
    found = <cnp.ndarray> mask
    if cnp.PyArray_TYPE(found) != cnp.NPY_BOOL or not cnp.PyArray_IS_C_CONTIGUOUS(found):
        raise NotOrdinary
    if cnp.PyArray_SIZE(found) != cnp.PyArray_SIZE(array):
        raise NotOrdinary
    flags = <const uint8_t*> cnp.PyArray_DATA(found)  # the array owns it
    return flags if memchr(flags, 1, cnp.PyArray_SIZE(found)) != NULL else NULL


@cython.final
cdef class _Found:
    """Values, and the sizes of dimensions and of those of characters, so far."""

    cdef dict values, sizes, texts


@cython.final
cdef class Describer:
    """Describes ordinary datasets for one format of files.

    Parameters
    ----------
    types : dict
        Dtype in memory → native dtype in the file, for numbers and booleans that the format has.
    fills : dict
        Dtype in the file → the default fill value, as a scalar.
    properties, unusual, typed : frozenset of str
        Names of properties that need nothing, names of attributes that mean something for how a variable is stored, and
        names of those that have the type of their variable.
    make, record : type
        Subclasses of tuple: (form, value, note) of an attribute, and (name, type, names of dimensions, attributes,
        None, options) of a variable, whose type is a dtype, "char" or "string".
    encode : callable
        Takes name, value and the dtype of the variable, or None; returns an attribute that is neither text nor simple.
    options : callable
        Takes the record of a variable, its shape, and which of its dimensions are unlimited; returns options.
    is_boolean, of_text : dict
        Attributes of booleans, and of characters that are text.
    is_classic : bool
        Whether the format has neither strings nor filters, and the default fill values mean missing.
    most : int
        Bytes of all values, at most.
    """

    cdef dict types, fills, is_boolean, of_text
    cdef frozenset properties, unusual, typed
    cdef object make, record, encode, options
    cdef bint is_classic
    cdef Py_ssize_t most
    cdef cnp.dtype float64, character

    def __init__(
        self,
        dict types not None,
        dict fills not None,
        frozenset properties not None,
        frozenset unusual not None,
        frozenset typed not None,
        type make not None,
        type record not None,
        encode,
        options,
        dict is_boolean not None,
        dict of_text not None,
        bint is_classic,
        Py_ssize_t most,
    ):
        if not issubclass(make, tuple) or not issubclass(record, tuple):
            raise TypeError("make, record: expected subclasses of tuple")
        self.types, self.fills, self.is_boolean, self.of_text = types, fills, is_boolean, of_text
        self.properties, self.unusual, self.typed = properties, unusual, typed
        self.make, self.record, self.encode, self.options = make, record, encode, options
        self.is_classic, self.most = is_classic, most
        self.float64, self.character = cnp.PyArray_DescrFromType(cnp.NPY_DOUBLE), cnp.dtype("S1")

    cdef object _new(self, str form, object value):
        return tuple.__new__(self.make, (form, value, ""))

    cdef object _attribute(self, str name, object value, cnp.dtype dtype):
        """Return an attribute that is not text."""
        cdef double number
        if isinstance(value, cnp.generic):
            if value.dtype in self.types and value.dtype.kind != "b":
                return self._new("number", value)
        elif type(value) is float and (dtype is None or name not in self.typed):
            number = value
            return self._new("number", PyArray_Scalar(&number, self.float64, None))
        return self.encode(name, value, dtype)

    def attributes(self, dict entry not None, cnp.dtype dtype):
        """Return the attributes of a variable of numbers, or of anything else.

        Parameters
        ----------
        entry : dict
        dtype : dtype, optional
            That of numbers in the file.

        Returns
        -------
        dict
            Name → attribute.

        Raises
        ------
        NotOrdinary
            If there is more than properties and usual attributes.
        """
        cdef dict found = {}
        cdef object name, value
        cdef bytes raw
        for name, value in entry.items():
            if not _is_name(name):
                if name not in self.properties:
                    raise NotOrdinary
                continue
            if name in self.unusual:
                raise NotOrdinary
            if type(value) is str:
                try:
                    raw = (<str> value).encode()
                except UnicodeEncodeError:
                    raise NotOrdinary from None
                if raw and PyBytes_AS_STRING(raw)[PyBytes_GET_SIZE(raw) - 1] == 0:
                    raise NotOrdinary
                found[name] = self._new("text", raw)
            else:
                found[name] = self._attribute(name, value, dtype)
        return found

    cdef tuple _numbers(self, cnp.ndarray array, cnp.dtype stored, dict entry, dict options):
        """Return the type, attributes and values of a variable of numbers or booleans; complete its options."""
        cdef const uint8_t* flags = _flags(array)
        cdef dict attributes = self.attributes(entry, stored)
        cdef object fill = attributes.get("_FillValue"), given
        cdef cnp.ndarray values = array
        cdef uint8_t[16] raw
        cdef bint is_float = stored.kind == c"f"
        if not cnp.PyArray_CheckExact(array):
            values = as_plain(array, NULL)
        if not cnp.PyArray_ISCARRAY_RO(values):
            values = cnp.PyArray_NewCopy(values, cnp.NPY_CORDER)
        if cnp.PyArray_TYPE(values) == cnp.NPY_BOOL:
            if fill is not None or flags != NULL:
                raise NotOrdinary
            attributes.update(self.is_boolean)
            values = as_type(values, stored)
        elif fill is not None or flags != NULL:
            if fill is None:
                if stored.itemsize <= SMALL:
                    raise NotOrdinary
                given = self.fills[stored]
                attributes = {"_FillValue": self._new("number", given), **attributes}
            else:
                given = entry["_FillValue"]
                if not isinstance(given, cnp.generic) or given.dtype != stored or given != given:
                    raise NotOrdinary  # another type, several values, or NaN
            PyArray_ScalarAsCtype(given, raw)
            values = _marked(values, flags, raw, is_float)
            fill = given
        if fill is None:
            # in a classic file, this value means missing to readers
            if self.is_classic:
                PyArray_ScalarAsCtype(self.fills[stored], raw)
                if has(cnp.PyArray_DATA(values), cnp.PyArray_SIZE(values), raw, stored.itemsize, is_float):
                    raise NotOrdinary
            options["fill_value"] = False
        return stored.newbyteorder(">") if "endian" in options else stored, attributes, values

    cdef cnp.ndarray _characters(self, cnp.ndarray array, list texts, Py_ssize_t size):
        """Return texts as characters, along an axis of the longest one."""
        cdef cnp.npy_intp[MAX_RANK + 1] shape
        cdef int rank = cnp.PyArray_NDIM(array), i
        cdef cnp.ndarray out
        cdef uint8_t* target
        cdef bytes each
        for i in range(rank):
            shape[i] = cnp.PyArray_DIM(array, i)
        shape[rank] = size
        out = cnp.PyArray_ZEROS(rank + 1, shape, cnp.NPY_UBYTE, 0)
        target = <uint8_t*> cnp.PyArray_DATA(out)
        for each in texts:
            memcpy(target, PyBytes_AS_STRING(each), PyBytes_GET_SIZE(each))
            target += size
        return as_type(out, self.character)

    cdef tuple _text(self, cnp.ndarray array, dict entry, tuple dims):
        """Return the type, dimensions, attributes and values of a variable of text."""
        cdef dict attributes = self.attributes(entry, None)
        cdef PyObject** objects
        cdef list texts = []
        cdef Py_ssize_t i, size = 1, n
        cdef bint is_text
        cdef bytes raw
        cdef const char* nul
        if cnp.PyArray_TYPE(array) != cnp.NPY_OBJECT or "_FillValue" in attributes or _flags(array) != NULL:
            raise NotOrdinary
        array = cnp.PyArray_GETCONTIGUOUS(as_plain(array, NULL))
        objects = <PyObject**> cnp.PyArray_DATA(array)
        is_text = objects[0] != NULL and type(<object> objects[0]) is str
        for i in range(cnp.PyArray_SIZE(array)):
            if objects[i] == NULL:
                raise NotOrdinary
            each = <object> objects[i]
            if type(each) is str and is_text:
                try:
                    raw = (<str> each).encode()
                except UnicodeEncodeError:
                    raise NotOrdinary from None
            elif type(each) is bytes and not is_text:
                raw = each
            else:
                raise NotOrdinary
            n = PyBytes_GET_SIZE(raw)
            nul = <const char*> memchr(PyBytes_AS_STRING(raw), 0, n)
            if nul != NULL and (is_text or PyBytes_AS_STRING(raw)[n - 1] == 0):
                raise NotOrdinary
            size = max(size, n)
            texts.append(raw)
        if is_text and not self.is_classic:
            out = empty(<cnp.dtype> cnp.PyArray_DESCR(array), cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array))
            out.reshape(-1)[:] = texts
            return "string", dims, attributes, out
        if size * cnp.PyArray_SIZE(array) > self.most:
            raise NotOrdinary
        if is_text:
            attributes.update(self.of_text)
        return "char", (*dims, f"string{size}"), attributes, self._characters(array, texts, size)

    cdef tuple _dims(self, str name, cnp.ndarray array, dict entry, set unlimited, dict sizes):
        """Return the names of dimensions, and note their sizes."""
        cdef object dims = entry.get(".dims"), each, size
        cdef int rank = cnp.PyArray_NDIM(array), i
        if not dims:
            dims = [f"{name}_{i + 1}" for i in range(rank)]
        if (type(dims) is not list and type(dims) is not tuple) or len(dims) != rank or rank >= MAX_RANK:
            raise NotOrdinary
        for i in range(rank):
            each = dims[i]
            size = sizes.get(each) if type(each) is str else None
            if size is None:
                if not _is_name(each) or each in self.unusual:
                    raise NotOrdinary
                sizes[each] = cnp.PyArray_DIM(array, i)
            elif <Py_ssize_t> size != cnp.PyArray_DIM(array, i):
                raise NotOrdinary
            if i and self.is_classic and each in unlimited:
                raise NotOrdinary
        return tuple(dims)

    cdef object _variable(self, str name, cnp.ndarray array, dict entry, set unlimited, _Found found):
        """Return the record of a variable; add its values and dimensions to what was found."""
        cdef tuple dims = self._dims(name, array, entry, unlimited, found.sizes)
        cdef object stored = self.types.get(<object> cnp.PyArray_DESCR(array)), record = entry.get(".netcdf")
        cdef dict options = {}
        if stored is None:
            if record is not None:
                raise NotOrdinary
            type_, dims, attributes, values = self._text(array, entry, dims)
            if type_ == "char":
                found.texts[dims[len(dims) - 1]] = cnp.PyArray_DIM(values, cnp.PyArray_NDIM(values) - 1)
        else:
            if record is not None:
                options = self.options(record, (<object> array).shape, tuple([each in unlimited for each in dims]))
            type_, attributes, values = self._numbers(array, stored, entry, options)
        found.values[name] = values
        return tuple.__new__(self.record, (name, type_, dims, attributes, None, options))

    def describe(self, dict arrays not None, meta not None, set unlimited not None):
        """Describe the variables of a dataset.

        Parameters
        ----------
        arrays : dict
            Key → ndarray or MaskedArray.
        meta : dict
            Key → attributes and properties.
        unlimited : set of str
            Names of dimensions.

        Returns
        -------
        variables : dict
            Name → record.
        values : dict
            Name → values in the native dtype.
        sizes, texts : dict
            Names of dimensions, and of those of characters → sizes.

        Raises
        ------
        NotOrdinary
            If something is not ordinary.
        """
        cdef dict variables = {}
        cdef _Found found = _Found.__new__(_Found)
        found.values, found.sizes, found.texts = {}, {}, {}
        cdef object name, array, entry
        cdef Py_ssize_t total = 0
        for name, array in arrays.items():
            entry = meta.get(name)
            if entry is None:
                entry = {}
            if not _is_name(name) or name in self.unusual or type(entry) is not dict:
                raise NotOrdinary
            if not cnp.PyArray_Check(array) or not cnp.PyArray_SIZE(array):
                raise NotOrdinary
            if cnp.PyArray_TYPE(array) == cnp.NPY_OBJECT:
                total += cnp.PyArray_SIZE(array) * STRING_SIZE
            else:
                total += cnp.PyArray_NBYTES(array)
            if total > self.most:
                raise NotOrdinary
            variables[name] = self._variable(name, array, entry, unlimited, found)
        return variables, found.values, found.sizes, found.texts
