"""Datatypes of HDF5 files → records, and what reading values of them needs."""

cimport cython
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memchr

from ..common.numbers cimport dtype_of, integer_of, is_numpy_array, made_numbers, numpy_numbers
from ..common.words cimport LITTLE_HOST
from .known cimport Known, check, u16, u32, unusual

cdef enum:
    MAX_TEXT = 0x7FFFFFFF  # bytes of a text that NumPy has
    # classes of types
    FIXED_POINT = 0
    FLOATING_POINT = 1
    TIME = 2
    CHARACTERS = 3
    BIT_FIELD = 4
    OPAQUE = 5
    COMPOUND = 6
    REFERENCE = 7
    ENUM = 8
    VARIABLE = 9
    ARRAY = 10
    COMPLEX = 11
    UTF8 = 1  # a character set

cdef tuple PADDINGS = ("NUL ends", "NULs", "spaces")


@cython.final
cdef class Type:
    """A datatype."""


cdef object integer_at(const uint8_t* p, Type type_):
    """Read an integer of a type."""
    return integer_of(p, <int> type_.size, type_.is_signed, type_.is_swapped)


cdef bint is_array(object value):
    """Return whether a value is an array of `numbers_of`."""
    return is_numpy_array(value)


cdef object numbers_of(Type type_, const uint8_t* p, Py_ssize_t n, bint is_one, make):
    """Read numbers of a type: as an array or a scalar of NumPy, or as what `make` makes; see `objects.Parser`."""
    if make is not None:
        return made_numbers(p, n, is_one, type_.code, type_.is_swapped, make)
    if type_.dtype is None:
        type_.dtype = dtype_of(type_.code)
    return numpy_numbers(p, n, is_one, type_.dtype, <int> type_.size, type_.is_swapped)


cdef Type parse_type(Known* k, const uint8_t* p, uint64_t size, uint64_t address, type record):
    """Read a datatype."""
    cdef Type found = Type.__new__(Type)
    cdef uint8_t version, class_, bits
    cdef str code = None
    cdef tuple members = None
    check(k, size >= 8, b"datatype", address, b"it is too short")
    version, class_, bits, found.size, found.kind = p[0] >> 4, p[0] & 15, p[1], u32(p + 4), OTHER
    if not 1 <= version <= 5 or class_ > COMPLEX:
        unusual(k, b"a datatype of an unknown version or class", address)
    check(k, found.size > 0, b"datatype", address, b"its values have no bytes")
    kind = "unusual number"
    if class_ == FIXED_POINT:
        code = _integers(k, p, size, address)
    elif class_ == FLOATING_POINT:
        kind, code = "unusual float", _floats(k, p, size, address)
    elif class_ == TIME:
        kind = "time"
    elif class_ == CHARACTERS:
        if found.size > MAX_TEXT:
            unusual(k, b"text of 2 GiB", address)
        kind, code, found.kind, found.padding = "text", f"|S{found.size}", TEXT, bits & 15
        if found.padding > SPACES:
            unusual(k, b"text of an unknown padding", address)
    elif class_ == BIT_FIELD:
        kind = "bitfield"
    elif class_ == OPAQUE:
        kind = "opaque"
    elif class_ == COMPOUND:
        kind = "compound"
    elif class_ == REFERENCE:
        if bits & 15 or found.size != 8:
            unusual(k, b"references to regions, or of a new form", address)
        kind = "reference"
    elif class_ == ENUM:
        code, members = _enum(k, p, size, address, found.size)
        if members is not None:
            kind = "enum"
    elif class_ == VARIABLE:
        check(k, size >= 16 and found.size == 16, b"datatype", address, b"a wrong size")
        kind = "string" if bits & 15 == 1 else "sequence"
        if kind == "string":
            found.kind = STRING
        elif p[8] & 15 == REFERENCE and p[9] & 15 == 0 and u32(p + 12) == 8:
            found.kind = REFERENCES
    elif class_ == ARRAY:
        kind = "array"
    if class_ <= FLOATING_POINT and code is not None:
        kind, found.kind = "number", NUMBER
        found.code = code[1:]
        found.is_integer, found.is_signed = class_ == FIXED_POINT, bits & 8 != 0
        found.is_swapped = found.size > 1 and <bint> (bits & 1) == LITTLE_HOST
    found.record = record(kind, code, found.size, members)
    if found.kind == TEXT:
        found.record = found.record._replace(padding=PADDINGS[found.padding], is_utf8=bits >> 4 == UTF8)
    return found


cdef str _integers(Known* k, const uint8_t* p, uint64_t size, uint64_t address):
    """Return the code of usual integers; None: they are not."""
    cdef uint32_t width = u32(p + 4)
    check(k, size >= 12, b"datatype", address, b"it is too short")
    if width not in (1, 2, 4, 8) or u16(p + 8) or u16(p + 10) != 8 * width:
        return None
    return f"{'|' if width == 1 else '>' if p[1] & 1 else '<'}{'i' if p[1] & 8 else 'u'}{width}"


cdef str _floats(Known* k, const uint8_t* p, uint64_t size, uint64_t address):
    """Return the code of IEEE numbers; None: they are not."""
    cdef uint32_t width = u32(p + 4), exponent, mantissa
    check(k, size >= 20, b"datatype", address, b"it is too short")
    if width not in (2, 4, 8):
        return None
    exponent = 5 if width == 2 else 8 if width == 4 else 11
    mantissa = 8 * width - 1 - exponent
    if p[1] & ~0x0F != 0x20 or p[2] != 8 * width - 1 or u16(p + 8) or u16(p + 10) != 8 * width \
            or p[12] != mantissa or p[13] != exponent or p[14] or p[15] != mantissa \
            or u32(p + 16) != (<uint32_t> 1 << (exponent - 1)) - 1:
        return None
    return f"{'>' if p[1] & 1 else '<'}f{width}"


cdef tuple _enum(Known* k, const uint8_t* p, uint64_t size, uint64_t address, uint32_t width):
    """Return the code of an enum, and its members; both None: it is of no usual integers."""
    cdef uint32_t n = u16(p + 1), _
    cdef uint64_t at = 20, length
    cdef const uint8_t* end
    cdef str code
    cdef list names = []
    check(k, size >= 20, b"datatype", address, b"it is too short")
    if p[8] & 15 != FIXED_POINT or u32(p + 12) != width:
        return None, None
    code = _integers(k, p + 8, size - 8, address + 8)
    if code is None:
        return None, None
    for _ in range(n):
        end = <const uint8_t*> memchr(p + at, 0, size - at)
        check(k, end != NULL, b"datatype", address, b"the name of a member has no end")
        length = end - (p + at)
        try:
            names.append(PyUnicode_DecodeUTF8(<const char*> p + at, length, NULL))
        except UnicodeDecodeError:
            unusual(k, b"a name that is not UTF-8", address)
        at += length + 1 if p[0] >> 4 >= 3 else (length + 8) & ~<uint64_t> 7
        check(k, at <= size, b"datatype", address, b"it is too short")
    check(k, n * width <= size - at, b"datatype", address, b"it is too short")
    return code, tuple(zip(names, _members(p + at, n, width, code), strict=True))


cdef list _members(const uint8_t* p, uint32_t n, uint32_t width, str code):
    cdef Type type_ = Type.__new__(Type)
    cdef uint32_t i
    type_.size, type_.is_signed = width, code[1] == "i"
    type_.is_swapped = width > 1 and (code[0] == ">") == LITTLE_HOST
    return [integer_at(p + i * width, type_) for i in range(n)]
