"""Arrays and metadata → the bytes of a ds-1.0 file, in one pass.

The header has the same bytes as that of `codec.line.build`, from `codec.attributes.to_json` and
`codec.header.properties`. Wrong and unusual metadata are left to these functions.
"""

import numpy

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_GetItemWithError
from cpython.mem cimport PyMem_RawFree
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from ..common.output cimport Output, grow, put_byte, put_bytes
from ..json.scan cimport MAX_DEPTH
from ..json.values cimport put_int64, put_items, put_name, put_text, put_value
from .strings cimport bytes_of, copy_strings
from .values cimport gather_values, pack_flags

from ..json.decode import Unusual

cnp.import_array()

cdef extern from "Python.h":
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t i) noexcept

cdef enum:
    AROUND = MAX_DEPTH - 100  # depth at which attributes begin, so that they have at most `codec.header.DEPTH` levels


cdef inline bint _is_numpy(object value) noexcept:
    if type(value) is str or type(value) is list or type(value) is float:
        return False
    return isinstance(value, cnp.generic) or cnp.PyArray_CheckExact(value)


cdef inline cnp.dtype _dtype_of(object value):
    return <cnp.dtype> cnp.PyArray_DESCR(value) if cnp.PyArray_CheckExact(value) else value.dtype


cdef inline bint _is_left_out(object key, frozenset without) except -1:
    if type(key) is not str:
        raise Unusual
    return PyUnicode_GET_LENGTH(key) and PyUnicode_READ_CHAR(key, 0) == "." and key in without


cdef int _put_dtype(Output* output, cnp.dtype dtype) except -1:
    """Append the name of a dtype of numbers, booleans or strings."""
    cdef Py_UCS4 kind = dtype.kind
    if kind == "U":
        return put_bytes(output, b'"str"', 5)
    if kind == "b":
        return put_bytes(output, b'"bool"', 6)
    if kind == "f" and dtype.itemsize <= 8:
        put_bytes(output, b'"float', 6)
    elif kind == "i":
        put_bytes(output, b'"int', 4)
    elif kind == "u":
        put_bytes(output, b'"uint', 5)
    else:
        raise Unusual
    put_int64(output, 8 * dtype.itemsize)
    return put_byte(output, c'"')


cdef int _put_dtypes(Output* output, dict attributes, frozenset without) except -1:
    """Append the dtypes of all NumPy values: names for scalars, lists of name and shape for arrays."""
    cdef object key, value
    cdef bint is_first = True
    cdef int i
    put_bytes(output, b'".dtypes": {', 12)
    for key, value in attributes.items():
        if not _is_numpy(value) or _is_left_out(key, without):
            continue
        put_name(output, key, is_first)
        is_first = False
        if not cnp.PyArray_CheckExact(value) or cnp.PyArray_NDIM(value) == 0:
            _put_dtype(output, _dtype_of(value))
            continue
        put_byte(output, c"[")
        _put_dtype(output, _dtype_of(value))
        for i in range(cnp.PyArray_NDIM(value)):
            put_bytes(output, b", ", 2)
            put_int64(output, cnp.PyArray_DIM(value, i))
        put_byte(output, c"]")
    return put_byte(output, c"}")


cdef object _as_python(object value):
    """Convert a NumPy value to Python values."""
    cdef char kind = _dtype_of(value).kind
    if kind != c"f" and kind != c"i" and kind != c"u" and kind != c"b" and kind != c"U":
        raise Unusual
    return value.tolist()


def _inner_as_python(value):
    """Do the same for a value within a list or dict."""
    if not _is_numpy(value):
        raise Unusual
    return _as_python(value)


cdef int _put_attributes(Output* output, object attributes, frozenset without) except -1:
    """Append attributes, except those in `without`, and `.dtypes` if any has a NumPy type, as items of an object.

    Return whether there are any.
    """
    cdef object key, value
    cdef bint is_first = True, is_numpy, has_numpy = False
    if type(attributes) is not dict:
        raise Unusual
    output.fallback = <PyObject*> _inner_as_python
    try:
        for key, value in (<dict> attributes).items():
            if _is_left_out(key, without):
                continue
            put_name(output, key, is_first)
            is_first = False
            is_numpy = _is_numpy(value)
            has_numpy |= is_numpy
            put_value(output, _as_python(value) if is_numpy else value, AROUND)
        if has_numpy:
            put_bytes(output, b", ", 2)
            _put_dtypes(output, <dict> attributes, without)
    except (TypeError, ValueError):
        raise Unusual from None
    return not is_first


cdef enum:
    ALIGNMENT = 64     # bytes, see `codec.header`
    LARGE_SIZE = 4096  # bytes, see `codec.header`; smaller arrays are copied
    NEAR_SIZE = 16384  # bytes, see `codec.header`
    FIRST_CAPACITY = 4096

cdef object NO_MASK = numpy.False_  # numpy.ma.nomask, without loading numpy.ma


cdef struct Region:
    Output body  # bytes after those in finished buffers
    int64_t end  # where the region ends so far, in bytes from the start of the body


cdef struct Draft:
    Output text  # the header
    Region near  # variables of less than NEAR_SIZE bytes, right after the header
    Region far  # all others


cdef inline int _fill(Output* output, uint8_t byte, Py_ssize_t n) except -1:
    grow(output, n)
    memset(output.data + output.size, byte, n)
    output.size += n
    return 0


cdef int _flush(Output* body, list buffers) except -1:
    if body.size:
        buffers.append(PyBytes_FromStringAndSize(<const char*> body.data, body.size))
        body.size = 0
    return 0


cdef int _put_array(Region* region, list buffers, cnp.ndarray array, int64_t offset) except -1:
    """Append the bytes of an array to a region, after zeros up to `offset`."""
    cdef Py_ssize_t size = cnp.PyArray_NBYTES(array)
    _fill(&region.body, 0, offset - region.end)
    region.end = offset + size
    if size < LARGE_SIZE:
        return put_bytes(&region.body, cnp.PyArray_DATA(array), size)
    _flush(&region.body, buffers)
    buffers.append(array)
    return 0


cdef inline int64_t _aligned(int64_t offset, Py_ssize_t size, Py_ssize_t item_size) noexcept:
    """Return the first offset from `offset` on at which a variable may begin."""
    cdef Py_ssize_t step = ALIGNMENT if size >= LARGE_SIZE else item_size if size else 1
    return (offset + step - 1) // step * step


@cython.final
@cython.freelist(64)
cdef class Piece:
    """A variable that is written."""

    cdef str name  # of its type; None: its bytes are in `encoded`
    cdef cnp.ndarray data  # C-contiguous
    cdef const uint8_t* flags  # its mask, if values are missing; else NULL
    cdef object mask  # owns these
    cdef Py_ssize_t present  # values that are not missing
    cdef Py_ssize_t size  # bytes of all
    cdef Py_ssize_t item_size  # bytes of a value for alignment
    cdef tuple encoded  # the result of `encode`


cdef bint _take_mask(Piece piece) except -1:
    """Look for missing values of an array; return False if the mask has an unusual form."""
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(piece.data)
    cdef const uint8_t* flags
    piece.flags, piece.present = NULL, n
    if cnp.PyArray_CheckExact(piece.data):
        return True
    piece.mask = getattr(piece.data, "_mask", NO_MASK)
    if piece.mask is NO_MASK:
        return True
    if not cnp.PyArray_CheckExact(piece.mask):
        return False
    mask = <cnp.ndarray> piece.mask
    if cnp.PyArray_TYPE(mask) != cnp.NPY_BOOL or not cnp.PyArray_IS_C_CONTIGUOUS(mask) or cnp.PyArray_SIZE(mask) != n:
        return False
    flags = <const uint8_t*> cnp.PyArray_DATA(mask)
    for i in range(n):
        piece.present -= flags[i] != 0
    if piece.present < n:
        piece.flags = flags
    return True


cdef Py_ssize_t _strings_size(Piece piece, bint* text) except -2:
    """Return the bytes of the present strings, without their lengths; -1 if there are none, or not all of one type."""
    cdef PyObject** objects = <PyObject**> cnp.PyArray_DATA(piece.data)
    cdef Py_ssize_t i, length = 0, total = 0
    cdef bint is_first = True
    for i in range(cnp.PyArray_SIZE(piece.data)):
        if piece.flags != NULL and piece.flags[i]:
            continue
        if objects[i] == NULL or (type(<object> objects[i]) is not str and type(<object> objects[i]) is not bytes):
            return -1
        if is_first:
            text[0] = type(<object> objects[i]) is str
            is_first = False
        elif text[0] != (type(<object> objects[i]) is str):
            return -1
        bytes_of(<object> objects[i], text[0], &length, i)
        total += length
    return -1 if is_first else total


cdef Piece _measured(str key, object array, object entry, dict types, object encode):
    """Return a variable and its size: in a form that is written directly if it is small or plain, else encoded."""
    cdef Piece piece = Piece.__new__(Piece)
    cdef PyObject* name
    cdef Py_ssize_t n, size
    cdef bint text = False
    if cnp.PyArray_Check(array) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray> array):
        piece.data = <cnp.ndarray> array
        n = cnp.PyArray_SIZE(piece.data)
        if _take_mask(piece):
            name = PyDict_GetItemWithError(types, <object> cnp.PyArray_DESCR(piece.data))
            if name != NULL:
                piece.item_size = cnp.PyArray_ITEMSIZE(piece.data)
                piece.name, size = <str> name, piece.present * piece.item_size
            elif cnp.PyArray_TYPE(piece.data) == cnp.NPY_BOOL:
                piece.name, piece.item_size, size = "bool", 1, (piece.present + 7) // 8
            elif cnp.PyArray_TYPE(piece.data) == cnp.NPY_OBJECT and piece.present <= NEAR_SIZE:
                try:
                    size = _strings_size(piece, &text)
                except UnicodeEncodeError:
                    size = -1
                piece.item_size = 8
                if size >= 0:
                    piece.name, size = "unicode" if text else "str", size + 8 * piece.present
            if piece.name is not None:
                piece.size = size + ((n + 7) // 8 if piece.flags != NULL else 0)
                # several threads encode larger ones
                if piece.size < NEAR_SIZE or (name != NULL and piece.flags == NULL):
                    return piece
    piece.name = None
    piece.encoded = encode(key, array, entry)
    piece.size, piece.item_size = piece.encoded[2], piece.encoded[3]
    return piece


cdef int _put_properties(Output* text, Piece piece, int64_t offset) except -1:
    """Append the properties of a variable."""
    cdef int i
    put_bytes(text, b'".size": [', 10)
    for i in range(cnp.PyArray_NDIM(piece.data)):
        if i:
            put_bytes(text, b", ", 2)
        put_int64(text, cnp.PyArray_DIM(piece.data, i))
    put_bytes(text, b'], ".offset": ', 14)
    put_int64(text, offset)
    put_bytes(text, b', ".len": ', 10)
    put_int64(text, piece.size)
    put_bytes(text, b', ".type": ', 11)
    put_text(text, piece.name)
    if piece.flags == NULL:
        put_bytes(text, b', ".missing": false, ".endian": ', 32)
    else:
        put_bytes(text, b', ".missing": true, ".endian": ', 31)
    return put_bytes(text, b'"b"}' if piece.item_size == 1 else b'"l"}', 4)


cdef int _put_values(Region* region, Piece piece, int64_t offset) except -1:
    """Append the mask, and the present values, bits, or lengths and strings, after zeros up to `offset`."""
    cdef Output* body = &region.body
    cdef Py_ssize_t n = cnp.PyArray_SIZE(piece.data), size = piece.size
    cdef const uint8_t* values = <const uint8_t*> cnp.PyArray_DATA(piece.data)
    cdef uint8_t* target
    _fill(body, 0, offset - region.end)
    region.end = offset + size
    grow(body, size + n)
    target = body.data + body.size
    body.size += size
    if piece.flags != NULL:
        if n - pack_flags(piece.flags, n, target, 0) != piece.present:
            raise Unusual  # another thread has changed the mask since it was measured
        target += (n + 7) // 8
        size -= (n + 7) // 8
    if piece.name == "bool":
        if piece.flags != NULL:  # present values are in the bytes that were allocated in addition
            gather_values(piece.flags, n, values, target + size, piece.present, 1, False)
            values = target + size
        pack_flags(values, piece.present, target, 0)
    elif cnp.PyArray_TYPE(piece.data) != cnp.NPY_OBJECT:
        gather_values(piece.flags, n, values, target, piece.present, <int> piece.item_size, False)
    elif not copy_strings(
        <PyObject**> values, piece.flags, n, piece.name == "unicode", target, target + 8 * piece.present, size
    ):
        raise Unusual  # another thread has changed the strings since they were measured
    return 0


cdef int _put_encoded(Output* text, Region* region, list buffers, tuple encoded, int64_t offset) except -1:
    """Append properties and bytes of a variable that `encode` has encoded."""
    cdef dict properties = encoded[0]
    properties[".offset"] = offset
    put_items(text, properties, 0, False)
    for part in <list> encoded[1]:
        _put_array(region, buffers, part, offset)
        offset = region.end
    return 0


cdef int _put_variable(
    Draft* draft, list near, list far, str key, object entry, Piece piece, frozenset without, bint is_first
) except -1:
    """Append the entry and the bytes of a variable."""
    cdef Region* region = &draft.near if piece.size < NEAR_SIZE else &draft.far
    cdef list buffers = near if piece.size < NEAR_SIZE else far
    cdef int64_t offset = _aligned(region.end, piece.size, piece.item_size)
    put_name(&draft.text, key, is_first)
    put_byte(&draft.text, c"{")
    if _put_attributes(&draft.text, entry, without):
        put_bytes(&draft.text, b", ", 2)
    if piece.encoded is not None:
        return _put_encoded(&draft.text, region, buffers, piece.encoded, offset)
    _put_properties(&draft.text, piece, offset)
    if piece.flags == NULL and piece.name != "bool" and cnp.PyArray_TYPE(piece.data) != cnp.NPY_OBJECT:
        return _put_array(region, buffers, piece.data, offset)
    return _put_values(region, piece, offset)


def compose(dict arrays not None, dict meta not None, dict types not None, frozenset without not None, encode not None):
    """Compose a file.

    Parameters
    ----------
    arrays : dict
        Key → array, or None for a variable without data.
    meta : dict
        Key → attributes and properties of the variable; `"."` → attributes of the dataset.
    types : dict
        Dtype → name of the type, for numbers that have the same bytes in memory and in a file.
    without : frozenset of str
        Properties to leave out, since they are generated.
    encode : callable
        Takes the key, array and metadata of any other variable. Returns its properties except for `.offset`, a list of
        C-contiguous arrays with its bytes, the number of these, and the size of a value in bytes, at least 1. For a
        variable without data, the list is empty.

    Returns
    -------
    (list of buffers, int) or None
        The file, and the size of its body in bytes. None if metadata are wrong or unusual, or if `encode` or another
        thread has changed strings or a mask.
    """
    cdef Draft draft
    cdef list near = [None], far = [], every = []
    cdef object key, array
    cdef Piece piece
    cdef dict none = {}
    cdef bint is_first = True
    draft.text = Output(NULL, 0, 0, NULL, True)
    draft.near = draft.far = Region(Output(NULL, 0, 0, NULL, False), 0)
    try:
        grow(&draft.text, FIRST_CAPACITY)
        grow(&draft.near.body, FIRST_CAPACITY)
        put_bytes(&draft.text, b"ds-1.0\n{", 8)
        for key, array in arrays.items():
            if type(key) is not str:
                return None
            piece = _measured(key, array, meta.get(key, none), types, encode)
            if piece.size < NEAR_SIZE:
                draft.near.end = _aligned(draft.near.end, piece.size, piece.item_size) + piece.size
            every.append(piece)
        draft.far.end, draft.near.end = draft.near.end, 0
        for key, piece in zip(arrays, every):
            _put_variable(&draft, near, far, key, meta.get(key, none), piece, without, is_first)
            is_first = False
        put_name(&draft.text, ".", is_first)
        put_byte(&draft.text, c"{")
        _put_attributes(&draft.text, meta.get(".", none), without)
        put_bytes(&draft.text, b"}}", 2)
        _fill(&draft.text, c" ", ALIGNMENT - 1 - draft.text.size % ALIGNMENT)
        put_byte(&draft.text, c"\n")
        near[0] = PyBytes_FromStringAndSize(<const char*> draft.text.data, draft.text.size)
        _flush(&draft.near.body, near)
        _flush(&draft.far.body, far)
        return near + far, draft.far.end
    except Unusual:
        return None
    finally:
        PyMem_RawFree(draft.text.data)
        PyMem_RawFree(draft.near.body.data)
        PyMem_RawFree(draft.far.body.data)
