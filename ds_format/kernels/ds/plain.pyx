"""Numbers and plain arrays of small datasets, without a call of NumPy from Python for each of them.

A small file of numbers is read into a dataset by one call. Numbers in attributes are converted to their NumPy types. A
dataset is checked before writing for arrays that need no conversion. Wrong and unusual data are left to the caller.
"""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer, Py_buffer
from cpython.dict cimport PyDict_Copy, PyDict_DelItem, PyDict_SetItem
from cpython.object cimport PyObject, PyObject_SetItem, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.math cimport isinf
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from ..common.words cimport LITTLE_HOST
from ..header.header cimport DOUBTFUL, Header, Variable
from ..header.parser cimport Parser

cnp.import_array()

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(
        PyTypeObject* kind, cnp.dtype dtype, int ndim, const cnp.npy_intp* sizes, const cnp.npy_intp* strides,
        void* data, int flags, PyObject* obj
    )
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)


cpdef list put_numbers(Header header, list dtypes, data, Py_ssize_t body, bint share, out, keys):
    """Put variables into a dataset: numbers in native byte order without a mask.

    Parameters
    ----------
    header : Header
    dtypes : list of dtype or None
        Dtype by the number of the type; None: not a number.
    data : buffer
        The whole file, or its last part.
    body : int
        Start of the body in `data`, in bytes.
    share : bool
        Whether arrays may be views of `data`, which are read-only if it is. It must not be resized then.
    out : dict
        Output: all variables in their order. Variables without data, and those that are returned, are None.
    keys : collection of str or None
        The requested variables; None: all.

    Returns
    -------
    list of str
        The keys of variables that the caller decodes: they have other types or byte orders, a mask or no values, or are
        not within the file.
    """
    cdef list remaining = []
    cdef Py_buffer view
    cdef Variable* var
    cdef Py_ssize_t i
    cdef object key, array
    if not isinstance(out, dict):
        raise TypeError("out: expected a dict")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        for i in range(len(header.keys)):
            key = header.keys[i]
            if keys is not None and key not in keys:
                continue
            var = &header.variables[i]
            array = _array(header, var, dtypes, data, &view, body, share) if var.ndim >= 0 else None
            PyDict_SetItem(<dict> <PyObject*> out, key, array)
            if array is None and var.ndim >= 0:
                remaining.append(key)
    finally:
        PyBuffer_Release(&view)
    return remaining


cdef object _array(
    Header header, Variable* var, list dtypes, object data, Py_buffer* view, Py_ssize_t body, bint share
):
    """Return the array or scalar of a variable, or None if the caller has to decode it."""
    cdef cnp.dtype dtype
    cdef Py_ssize_t size, available = view.len - body - var.offset
    cdef char* first
    kind = dtypes[var.type]
    if kind is None or var.missing or var.n == 0:
        return None
    dtype = <cnp.dtype> kind
    size = dtype.itemsize
    if (var.big == LITTLE_HOST and size > 1) or available < 0 or var.n > available // size:
        return None
    first = <char*> view.buf + body + var.offset
    if var.ndim == 0:
        return PyArray_Scalar(first, dtype, None)
    Py_INCREF(dtype)
    if not share or <size_t> first % <size_t> size:
        array = PyArray_NewFromDescr(
            <PyTypeObject*> cnp.ndarray, dtype, var.ndim, <cnp.npy_intp*> &header.sizes[var.first], NULL, NULL, 0, NULL
        )
        memcpy(cnp.PyArray_DATA(array), first, var.n * size)
        return array
    array = PyArray_NewFromDescr(
        <PyTypeObject*> cnp.ndarray, dtype, var.ndim, <cnp.npy_intp*> &header.sizes[var.first], NULL, first,
        0 if view.readonly else cnp.NPY_ARRAY_WRITEABLE, NULL
    )
    cnp.set_array_base(array, data)
    return array


cdef class Reader:
    """Reads small files.

    Parameters
    ----------
    parser : Parser
    typed : callable
        See `Parser.parse`.
    dtypes : list of dtype or None
        Dtype by the number of the type; None: not a number.
    read_or_open : callable
        The function `kernels.files.files.read_or_open`.
    limit : int
        Maximum bytes of a file that is read completely.
    first : int
        Bytes to read from the start of a larger file.
    """

    cdef Parser parser
    cdef object typed
    cdef list dtypes
    cdef object read_or_open
    cdef object limit
    cdef object first

    def __init__(self, Parser parser not None, typed, list dtypes not None, read_or_open, limit, first):
        self.parser = parser
        self.typed = typed
        self.dtypes = dtypes
        self.read_or_open = read_or_open
        self.limit = limit
        self.first = first

    def read(self, path, out, keys, bint full):
        """Read a small file into a dataset, or open a larger one.

        Parameters and result are those of `fill`; arrays are views if all variables are requested. For a larger file,
        the result is (None, opened, None), in which `opened` is the result of `read_or_open`.

        Raises
        ------
        OSError
            From the operating system.
        """
        data = self.read_or_open(path, self.limit, self.first)
        return self.fill(data, out, keys, full, keys is None) if type(data) is bytearray else (None, data, None)

    cpdef tuple fill(self, data, out, keys, bint full, bint share):
        """Put the variables of a file into a dataset.

        Parameters
        ----------
        data : bytearray or memoryview of bytes
            The whole file.
        out : dict
            Output.
        keys : collection of str or None
            The requested variables; None: all.
        full : bool
            Whether the metadata of other variables are requested, too.
        share : bool
            See `put_numbers`.

        Returns
        -------
        None, or (buffer, (Header, dict) or None, list of str or None)
            None: the dataset is complete. Otherwise, the caller completes it with the bytes, the result of
            `Parser.parse`, and the variables that remain to be decoded (None: all), and adds the metadata.
        """
        cdef tuple parsed = self.parser.parse(data, None if full else keys, self.typed)
        cdef Header header
        cdef Py_ssize_t body
        if parsed is None:
            return data, None, None
        header = <Header> parsed[0]
        if header.flags & DOUBTFUL:
            return data, parsed, None
        body, block = header.body, data
        if share and body > len(data) - body:
            body, block = 0, data[body:]  # views keep the whole buffer in memory, so a large header is cut off
        remaining = put_numbers(header, self.dtypes, block, body, share, out, keys)
        if header.flags or remaining:
            return data, parsed, remaining
        PyObject_SetItem(out, ".", parsed[1])
        return None


def put_types(dict attributes not None, dict specs not None, dict dtypes not None):
    """Convert numbers, and lists of numbers, to their NumPy types, in place.

    Parameters
    ----------
    attributes : dict
    specs : dict
        Key of an attribute → the name of its dtype, or [name, count] of an array.
    dtypes : dict
        Name of each dtype → dtype.

    Returns
    -------
    list of str
        Keys of attributes that the caller converts: they have other types or more dimensions, or do not fit.
    """
    cdef list remaining = []
    for key, spec in specs.items():
        if key not in attributes:
            continue
        typed = _typed(attributes[key], spec, dtypes)
        if typed is None:
            remaining.append(key)
        else:
            PyDict_SetItem(attributes, key, typed)
    return remaining


cdef object _typed(object value, object spec, dict dtypes):
    """Return a number as a scalar, or a list as a 1-d array; None if the caller has to convert it."""
    cdef uint8_t number[8]
    if type(spec) is str:
        dtype = dtypes.get(spec)
        if dtype is None or not _put_number(value, dtype, number):
            return None
        return PyArray_Scalar(number, dtype, None)
    if type(spec) is not list or len(<list> spec) != 2 or type(value) is not list:
        return None
    name, n = <list> spec
    if type(name) is not str or type(n) is not int or n != len(<list> value):
        return None
    dtype = dtypes.get(name)
    return None if dtype is None else _typed_array(<list> value, dtype)


cdef object _typed_array(list values, cnp.dtype dtype):
    cdef cnp.npy_intp n = len(values)
    cdef cnp.ndarray array
    cdef uint8_t* target
    if dtype.kind == b"U":
        return None
    array = cnp.PyArray_SimpleNew(1, &n, dtype.num)
    target = <uint8_t*> cnp.PyArray_DATA(array)
    for value in values:
        if not _put_number(value, dtype, target):
            return None
        target += cnp.PyArray_ITEMSIZE(array)
    return array


cdef bint _put_number(object value, cnp.dtype dtype, uint8_t* target) except -1:
    """Write a number in a dtype. Return False if it is not an integer or float like the dtype, or does not fit."""
    cdef double number
    cdef float narrow
    cdef int size = dtype.itemsize
    cdef int64_t integer
    cdef int overflow = 0
    if dtype.kind == b"f":
        if type(value) is not float or size < 4:
            return False
        number = value
        narrow = <float> number
        if size == 4:
            memcpy(target, &narrow, 4)
            return isinf(number) or not isinf(narrow)
        memcpy(target, &number, 8)
        return True
    if (dtype.kind != b"i" and dtype.kind != b"u") or type(value) is not int:
        return False
    integer = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return False
    if dtype.kind == b"u":
        return integer >= 0 and (size == 8 or integer >> (8 * size) == 0) and _put_bits(integer, size, target)
    return (size == 8 or -1 <= integer >> (8 * size - 1) <= 0) and _put_bits(integer, size, target)


cdef bint _put_bits(int64_t integer, int size, uint8_t* target) noexcept:
    cdef uint8_t bits8 = <uint8_t> integer
    cdef uint16_t bits16 = <uint16_t> integer
    cdef uint32_t bits32 = <uint32_t> integer
    if size == 1:
        target[0] = bits8
    elif size == 2:
        memcpy(target, &bits16, 2)
    elif size == 4:
        memcpy(target, &bits32, 4)
    else:
        memcpy(target, &integer, 8)
    return True


cdef bint _is_plain(object data) noexcept:
    """Return whether data are an array that needs no conversion. `np.ma.masked` is excluded: it has no dimensions."""
    if not cnp.PyArray_Check(data) or cnp.PyArray_TYPE(data) in (cnp.NPY_OBJECT, cnp.NPY_DATETIME, cnp.NPY_TIMEDELTA):
        return False
    return cnp.PyArray_CheckExact(data) or cnp.PyArray_NDIM(data) > 0


cdef bint _is_property(object key) except -1:
    """Return whether a key begins with a dot, or is not a str."""
    return type(key) is not str or (len(<str> key) and PyUnicode_READ_CHAR(key, 0) == c".")


cdef bint _fits(object names, cnp.ndarray array, dict sizes) except -1:
    """Return whether names of dimensions match an array: in their number, and in their sizes in other arrays."""
    cdef object name, size
    cdef Py_ssize_t i, n
    if type(names) is not list or len(<list> names) != cnp.PyArray_NDIM(array):
        return False
    for i in range(cnp.PyArray_NDIM(array)):
        name, n = (<list> names)[i], cnp.PyArray_DIM(array, i)
        if type(name) is not str:
            return False
        size = sizes.get(name)
        if size is None:
            PyDict_SetItem(sizes, name, n)
        elif <Py_ssize_t> size != n:
            return False
    return True


def plain_arrays(dataset not None):
    """Return the arrays of a dataset if they need no conversion, and its metadata match them.

    Parameters
    ----------
    dataset : dict
        Or an instance of a subclass that behaves like a dict.

    Returns
    -------
    dict or None
        Key → array, without arrays of objects and times. None if the caller has to convert or check data.
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
